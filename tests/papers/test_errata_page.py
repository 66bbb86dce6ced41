"""docs/errata.md shows exactly what the computations give, and no other numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from .errata import PAGE, VERDICTS, Entry, Words
from .page import PAPERS, page

ENTRIES = [entry for paper in PAPERS for entry in paper.entries.values()]
every = pytest.mark.parametrize("entry", ENTRIES, ids=[entry.key for entry in ENTRIES])


@every
def test_the_row_has_the_computed_numbers(entry: Entry) -> None:
    assert f"\n{entry.row}\n" in PAGE.read_text(encoding="utf-8"), "run: python -m tests.papers"


def test_the_page_has_nothing_else() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.papers"


@every
def test_no_number_of_a_counterexample_is_typed(entry: Entry) -> None:
    assert not entry.bare_digits
    assert re.search(r"\d", entry.filled), "a counterexample has numbers"


@every
def test_a_row_is_one_row(entry: Entry) -> None:
    assert "\n" not in entry.row
    assert len(re.findall(r"(?<!\\)\|", entry.row)) == 6
    assert entry.verdict in VERDICTS


def test_keys_are_unique_and_in_order() -> None:
    assert len({entry.key for entry in ENTRIES}) == len(ENTRIES)
    for paper in PAPERS:
        numbers = [int(key[1:]) for key in paper.entries]
        assert numbers == list(range(1, len(numbers) + 1))


def test_a_wrong_number_would_be_noticed() -> None:
    entry = PAPERS[0].entries["F1"]
    fault = replace(entry, compute=lambda: {**entry.numbers, "true": 0.161})
    assert fault.row != entry.row
    assert fault.row not in PAGE.read_text(encoding="utf-8")
    typed = replace(entry, example=entry.example + " At most 0.5.")
    assert typed.bare_digits == ["0.5"]


def test_numbers_as_people_write_them() -> None:
    def words(spec: str, x: float) -> str:
        return Words().format(f"{{x:{spec}}}", x=x)

    assert words(".1e", 1.23e-22) == "1.2 × 10⁻²²"
    assert words(".0e", 1e-7) == "10⁻⁷"
    assert words(".2f", -0.359) == "−0.36"
    assert words(",.0f", 219_605.2) == "219,605"
