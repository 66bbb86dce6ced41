"""The page of benchmarks is what the command writes today, figures aside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.__main__ import HEADER, PAGE, page
from benchmarks.machine import QUICK


def outline(text: str) -> list[str]:
    """Headings, heads of tables and the first cells of their rows, less the sizes of a run."""
    kept = [
        line.split("|")[1] if line.startswith("|") else line
        for line in text.splitlines()
        if line.startswith(("#", "|"))
    ]
    plain = [re.sub(r"d=[\d,]+|at n = [\d,]+", "", line).strip() for line in kept]
    return [line for line in plain if line]


def test_the_page_has_the_command_s_header():
    assert PAGE.read_text().startswith(HEADER)


def test_the_page_says_nothing_fell_short_or_names_it():
    text = PAGE.read_text()
    assert ("Every target is met." in text) != ("Slower than the target: " in text)


@pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")
def test_the_command_still_writes_this_page(
    pure, multi, opendp, diffprivlib, tmp_path, monkeypatch
):
    for module in (multi.GRR, multi.LH, multi.SS, multi.UE):  # compiling takes longer
        for name in ("GRR_Client", "SS_Client", "UE_Client"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name).py_func)
    picture = Path(tmp_path, "img", "bench.png")
    written = page(QUICK, picture)
    assert picture.stat().st_size > 10_000
    assert len(peers.installed()) == 4
    assert outline(written) == outline(PAGE.read_text())
