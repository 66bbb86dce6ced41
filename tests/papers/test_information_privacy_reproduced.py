"""The short run of the paper on localized information privacy agrees with its recorded results."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from sottovoce import LIP
from sottovoce.published.information_privacy import flips
from sottovoce.reproduce import papers
from sottovoce.reproduce.compare import compare

from .reproduction import assert_as_recorded, reproduced, short_run

pytestmark = pytest.mark.slow
PAPER = "information-privacy"


@pytest.mark.parametrize("figure", papers.load(PAPER).figures, ids=lambda figure: figure.name)
def test_the_short_run_agrees(figure, tmp_path):
    assert_as_recorded(reproduced(PAPER, figure, tmp_path))


def test_a_wrong_channel_is_noticed(tmp_path, monkeypatch):
    """Randomised response in the place of LIP: numbers differ, and a claim falls."""
    figure = papers.load(PAPER).figure("figure-5")
    entry = papers.expected(PAPER)["figure-5"]
    module = sys.modules[figure.measure.__module__]
    jobs = tuple(job for job in figure.jobs if (job.panel, job.x) == ("P₁ = 0.5", 3.0))
    one = replace(figure, jobs=jobs)
    assert compare(one, short_run(PAPER, one, tmp_path / "right"), entry).agrees
    monkeypatch.setitem(module.MODELS, "ε-LIP, corrected", ("opt-ldp", 1.0))
    results = short_run(PAPER, one, tmp_path / "wrong")
    differing = compare(one, results, entry).differing
    assert [line.split(":")[0] for line in differing] == [
        "P₁ = 0.5, 3.0, ε-LIP, corrected",
        "P₁ = 0.5, 3.0, ε-LIP, corrected, from reports",
    ]
    assert figure.claims[1].judge(results).outcome == "does not hold"


@pytest.mark.parametrize("variant", ["optimal", "jiang-theorem2", "symmetric", "opt-ldp"])
def test_computed_errors_use_the_channel_that_is_drawn(variant):
    """Figures 6 to 8 compute with flip probabilities; they are those of the mechanism."""
    for prior in (0.01, 0.2, 0.5, 0.9):
        q0, q1 = flips(prior, 1.5, variant)
        matrix = LIP(prior=prior, epsilon=1.5, variant=variant).matrix
        np.testing.assert_allclose([[1 - q1, q1], [q0, 1 - q0]], matrix, rtol=1e-12)
