"""Paper 002 again, in the short mode; and its shortcut past the messages against real runs."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import ks_2samp

from sottovoce import testing
from sottovoce.reproduce import papers

from .reproduction import assert_as_recorded, reproduced

pytestmark = pytest.mark.slow

PAPER = papers.load("party-marginals")
opened = sys.modules["sottovoce_papers.party_marginals.opened"]
BUDGETS = (Fraction("0.1"), Fraction("0.5"), Fraction(1))


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
def test_short_run_is_as_expected(figure, tmp_path):
    assert_as_recorded(reproduced(PAPER.name, figure, tmp_path))


def test_doubled_noise_is_noticed(tmp_path, monkeypatch):
    honest = opened.noise_of
    monkeypatch.setattr(opened, "noise_of", lambda release, rng: 2 * honest(release, rng))
    figure = PAPER.figure("figure-1")
    only = tuple(job for job in figure.jobs if job.fast and not job.needs)
    wrong = reproduced(PAPER.name, replace(figure, jobs=only), tmp_path)
    assert not wrong.comparison.agrees


def real_noise(study, frames, exact) -> np.ndarray:
    """The noise in the only sum that a real run opens."""
    with testing.seeded(7) as source:
        run = study.simulate(frames, source=source, views=False)
    (aggregate,) = run.aggregates
    (sums,) = aggregate.tables.values()
    return np.ravel(sums) - exact


def drawn_noise(study, people, factor=1) -> np.ndarray:
    (releases,) = study.releases(dict.fromkeys(study.parties, people))
    return factor * opened.noise_of(releases[0], np.random.default_rng(8))


def test_real_runs_open_sums_with_the_same_noise():
    """Kolmogorov–Smirnov at 1e-8, over 4,096 cells; noise of twice the scale must be noticed."""
    shape = (16, 16, 16)
    rng = np.random.default_rng(9)
    codes = rng.integers(0, 16, (3, 500, 3))
    everyone = np.concatenate(codes)
    exact = np.bincount(np.ravel_multi_index(tuple(everyone.T), shape), minlength=4096)
    study = opened.rows_study(shape, BUDGETS, "mh", 2)
    frames = opened.by_party({f"A{a}": table[:, a] for a in range(3)} for table in codes)
    real = real_noise(study, frames, exact)
    assert ks_2samp(real, drawn_noise(study, 500)).pvalue > 1e-8
    assert ks_2samp(real, drawn_noise(study, 500, 2)).pvalue < 1e-8

    columns = opened.columns_study(shape, BUDGETS, "mv", 2)
    held = opened.by_party(
        {"person_id": np.arange(1500), f"A{a}": everyone[:, a]} for a in range(3)
    )
    real = real_noise(columns, held, exact)
    assert ks_2samp(real, drawn_noise(columns, 1500)).pvalue > 1e-8
