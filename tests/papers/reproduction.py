"""What every reproduced paper has to pass: the short run agrees with what was recorded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sottovoce.reproduce import Data, Figure, Results, folder_from, papers
from sottovoce.reproduce.run import run
from sottovoce.reproduce.write import Reproduced


def short_run(paper: str, figure: Figure, folder: Path) -> Results:
    """The short run, with the data sets where SOTTOVOCE_DATA names them."""
    data = Data(folder_from(None) if os.environ.get("SOTTOVOCE_DATA") else None)
    return run(paper, figure, fast=True, data=data, store=folder)


def reproduced(paper: str, figure: Figure, folder: Path) -> Reproduced:
    """A figure of the short run, compared and judged."""
    return Reproduced.of(papers.load(paper), figure, short_run(paper, figure, folder))


def assert_as_recorded(item: Reproduced) -> None:
    """Every number agrees up to chance; every claim that can be checked has the same outcome."""
    if not len(item.results):
        pytest.skip("; ".join(sorted(set(item.results.skipped.values()))))
    if not item.figure.timing:
        assert item.comparison.compared == len(item.results), "a row is not in expected.json"
    assert item.comparison.agrees, "\n".join(item.comparison.differing)
    claims = item.expected["claims"]
    assert [claim["text"] for claim in claims] == [claim.text for claim in item.figure.claims]
    if item.results.skipped:
        return  # without their data sets, verdicts stand on too few points
    for claim, verdict in zip(claims, item.verdicts, strict=True):
        if "cannot be checked" not in (verdict.outcome, claim["outcome"]):
            assert verdict.outcome == claim["outcome"], f"{claim['text']}: {verdict.because}"
