"""The short run of the paper on sampling nodes agrees with its recorded results."""

import sys
from dataclasses import replace

import pytest

from sottovoce.reproduce import papers
from sottovoce.reproduce.compare import compare

from .reproduction import assert_as_recorded, reproduced, short_run

pytestmark = pytest.mark.slow
PAPER = "node-sampling"


@pytest.mark.parametrize("figure", papers.load(PAPER).figures, ids=lambda figure: figure.name)
def test_the_short_run_agrees(figure, tmp_path):
    assert_as_recorded(reproduced(PAPER, figure, tmp_path))


def test_a_wrong_estimator_is_noticed(tmp_path, monkeypatch):
    """c in the place of g, at one rate only."""
    figure = papers.load(PAPER).figure("figure-3a")
    module = sys.modules[figure.measure.__module__]
    one = replace(figure, jobs=tuple(job for job in figure.jobs if job.x == 0.5))
    entry = papers.expected(PAPER)["figure-3a"]
    assert compare(one, short_run(PAPER, one, tmp_path / "right"), entry).agrees
    monkeypatch.setitem(module.METHODS, "g", "wang-c")
    outcome = compare(one, short_run(PAPER, one, tmp_path / "wrong"), entry)
    assert len(outcome.differing) == 4
    assert all(", g: " in line for line in outcome.differing)
