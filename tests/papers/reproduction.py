"""What every reproduced paper has to pass: the short run agrees with what was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from sottovoce.reproduce import Data, Figure, Results, folder_from, papers
from sottovoce.reproduce.run import run
from sottovoce.reproduce.write import Reproduced


def names(paper: str) -> list[str]:
    """The figures of a paper."""
    return [figure.name for figure in papers.load(paper).figures]


def short_run(paper: str, figure: Figure, folder: Path) -> Results:
    """The short run, with the data sets that SOTTOVOCE_DATA names."""
    return run(paper, figure, fast=True, data=Data(folder_from(None)), store=folder)


def reproduced(paper: str, name: str, folder: Path) -> Reproduced:
    """A figure of the short run, compared and judged."""
    loaded = papers.load(paper)
    figure = loaded.figure(name)
    return Reproduced.of(loaded, figure, short_run(paper, figure, folder))


def assert_as_recorded(paper: str, item: Reproduced) -> None:
    """Every number agrees up to chance; every claim that can be checked has the same outcome."""
    if not len(item.results):
        pytest.skip("; ".join(sorted(set(item.results.skipped.values()))))
    assert item.comparison.compared == len(item.results)
    assert item.comparison.differing == ()
    recorded = papers.expected(paper)[item.figure.name]["claims"]
    for claim, verdict, earlier in zip(item.figure.claims, item.verdicts, recorded, strict=True):
        assert claim.text == earlier["text"]
        if "cannot be checked" not in (verdict.outcome, earlier["outcome"]):
            assert (verdict.outcome, claim.text) == (earlier["outcome"], claim.text), (
                verdict.because
            )
