"""The experiments of the fair-frequency paper, run again in their short form."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from sottovoce import accounting, secure, testing
from sottovoce.reproduce import Data, papers
from sottovoce.reproduce.compare import compare
from sottovoce.reproduce.run import run

from .reproduction import assert_as_recorded, reproduced

pytestmark = pytest.mark.slow

PAPER = papers.load("fair-frequency")
EXPECTED = papers.expected("fair-frequency")
NAMES = [figure.name for figure in PAPER.figures]


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
def test_the_short_run_agrees(figure, tmp_path):
    assert_as_recorded(reproduced(PAPER.name, figure, tmp_path))


def test_every_claim_was_judged():
    outcomes = [claim["outcome"] for entry in EXPECTED.values() for claim in entry["claims"]]
    assert len(outcomes) >= 25
    assert "cannot be checked" not in outcomes


def test_a_wrong_sampling_rate_is_noticed(monkeypatch, tmp_path):
    """A quarter of ε in the sampling rate, so about four times the error, must not agree."""
    figure = PAPER.figure("figure-2")
    monkeypatch.setitem(figure.measure.__globals__, "rate_of", lambda e: -math.expm1(-e / 4))
    one = tuple(job for job in figure.jobs if job.panel == "Synthetic" and job.x == 1000)
    results = run(PAPER.name, replace(figure, jobs=one), fast=True, data=Data(None), store=tmp_path)
    assert len(compare(figure, results, EXPECTED["figure-2"]).differing) == len(results) == 5


def test_printed_costs_are_the_formulas_of_table_1():
    stated = {(e["panel"], e["x"], e["series"]): e["value"]
              for e in EXPECTED["table-1"]["published"]}  # fmt: skip
    assert stated["DPDS", 100.0, "user: field elements sent"] == 2 * 100 * 30 + 30
    own = 0.4 * math.e / (0.4 * math.e + 0.6)
    sent = stated["TSS, AS", 1000.0, "user: field elements sent"]
    assert sent == pytest.approx(0.4 * 30 * (1 + own * 1000), abs=0.01)


def test_the_published_gaussian_has_the_published_variance():
    """DPDG is asked for the δ that σ = √(2 ln(1.25/δ))/ε keeps; so its noise is the paper's."""
    epsilon, delta, n = 0.5, 1e-7, 1000
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    kept = accounting.delta_gaussian(epsilon, sigma)
    protocol = secure.DPDG(30, epsilon=epsilon, delta=kept, helpers=2)
    with testing.seeded(3) as source:
        run_once = protocol.simulate(np.arange(n) % 30, source=source)
    variance = run_once.aggregate.route.noise.variance
    assert variance == pytest.approx(2 * sigma**2, rel=3e-3)


def test_expected_rows_have_their_published_numbers():
    """Every published number stands beside a row of ours."""
    for name in NAMES:
        ours = {tuple(row[:3]) for row in EXPECTED[name]["ours"]["rows"]}
        for stated in EXPECTED[name]["published"]:
            assert (stated["panel"], stated["x"], stated["series"]) in ours, (name, stated)


def test_the_readme_shows_what_was_recorded():
    readme = (papers.home() / "fair-frequency" / "README.md").read_text("utf-8")
    claims = [claim for entry in EXPECTED.values() for claim in entry["claims"]]
    assert all(claim["because"].replace("|", "\\|") in readme for claim in claims)
    assert json.dumps(EXPECTED)  # plain JSON values only
