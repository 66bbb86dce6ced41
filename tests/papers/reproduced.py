"""Running a paper again in the short mode, against its `expected.json`."""

from __future__ import annotations

import os
from pathlib import Path

from sottovoce.reproduce import Data, Figure, folder_from, papers
from sottovoce.reproduce.run import run
from sottovoce.reproduce.write import Reproduced


def run_again(name: str, figure: Figure, store: Path) -> Reproduced:
    """The short run of a figure, with the data sets where SOTTOVOCE_DATA names them."""
    data = Data(folder_from(None) if os.environ.get("SOTTOVOCE_DATA") else None)
    results = run(name, figure, fast=True, data=data, store=store)
    return Reproduced.of(papers.load(name), figure, results)


def check(item: Reproduced) -> None:
    """Every row is as expected, and every verdict that can be given is the recorded one."""
    compared = item.comparison
    if not item.figure.timing:
        assert compared.compared == len(item.results), "a row is not in expected.json"
    assert compared.agrees, "\n".join(compared.differing)
    claims = item.expected["claims"]
    assert [claim["text"] for claim in claims] == [claim.text for claim in item.figure.claims]
    if item.results.skipped:
        return  # without their data sets, verdicts stand on too few points
    for claim, verdict in zip(claims, item.verdicts, strict=True):
        if verdict.outcome != "cannot be checked":
            assert verdict.outcome == claim["outcome"], f"{claim['text']}: {verdict.because}"
