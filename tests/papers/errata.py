"""Entries of the errata page: a claim, and a counterexample whose numbers are computed.

The text of a counterexample has no digits of its own. It has fields such as ``{delta:.1e}``, which
are filled with what the entry's function returns, so that the page cannot show a number that was
not computed. ``python -m tests.papers`` writes the page.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"

Numbers = Mapping[str, float]
_NO_BREAK = "\N{NO-BREAK SPACE}"

#: What a verdict means, in the order of the page.
VERDICTS = {
    "wrong": "the statement is false as printed, and the counterexample contradicts it",
    "gap": "the statement holds only under a condition that the paper does not state",
    "misprint": "a formula or number is printed wrongly; what was meant is clear",
}

_FIELD = re.compile(r"\{[^}]*\}")
_NAMES = re.compile(  # of methods, links, servers, entries, settings and places in a paper
    r"`[^`]*`|\]\([^)]*\)|\b[SFNPLRs]\d+\b|\((?:2|14|15)\)"
    r"|\b(?:Theorem|Lemma|Section|Definition|Example|Table|Algorithm|line) \d+(?:\.\d+)*"
)


@dataclass(frozen=True, eq=False)
class Entry:
    """One row of the page."""

    key: str
    claim: str
    verdict: str
    example: str
    instead: str
    compute: Callable[[], Numbers]

    @cached_property
    def numbers(self) -> Numbers:
        """Computed once."""
        return self.compute()

    @property
    def row(self) -> str:
        """The row of the table, with the computed numbers."""
        cells = (self.key, self.claim, self.verdict, self.filled, self.instead)
        return "| " + " | ".join(cells) + " |"

    @property
    def filled(self) -> str:
        """The counterexample in words and numbers; equations are not broken at the sign."""
        text = Words().format(self.example, **self.numbers)
        return text.replace(" = ", f"{_NO_BREAK}={_NO_BREAK}").replace(
            " × ", f"{_NO_BREAK}×{_NO_BREAK}"
        )

    @property
    def bare_digits(self) -> list[str]:
        """Numbers of the counterexample that no computation produced, formulas' 0, 1, 2 apart."""
        plain = _NAMES.sub("", _FIELD.sub("", self.example))
        return [number for number in re.findall(r"[\d.,]*\d", plain) if number not in "012"]


class Words(string.Formatter):
    """Numbers as people write them: 1.2 × 10⁻²² instead of 1.2e-22."""

    def format_field(self, value: object, format_spec: str) -> str:
        """One number."""
        text = str(super().format_field(value, format_spec)).replace("-", "−")
        mantissa, e, power = text.partition("e")
        if not e:
            return text
        raised = str(int(power.replace("−", "-"))).translate(_RAISED)
        return f"10{raised}" if mantissa == "1" else f"{mantissa} × 10{raised}"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, eq=False)
class Paper:
    """One section of the page."""

    number: str
    title: str
    about: str
    entries: dict[str, Entry] = field(default_factory=dict)

    def entry(
        self, key: str, *, claim: str, verdict: str, example: str, instead: str
    ) -> Callable[[Callable[[], Numbers]], Callable[[], Numbers]]:
        """Register the function that computes a counterexample."""

        def register(compute: Callable[[], Numbers]) -> Callable[[], Numbers]:
            if key in self.entries or verdict not in VERDICTS:
                raise ValueError(f"{key}: two entries of this name, or no such verdict")
            self.entries[key] = Entry(
                key, _line(claim), verdict, _line(example), _line(instead), compute
            )
            return compute

        return register

    def numbers(self, key: str) -> Numbers:
        """What an entry computes."""
        return self.entries[key].numbers

    @property
    def section(self) -> str:
        """The section, with its table."""
        head = "| | claim | verdict | counterexample | what Sottovoce does |\n|---|---|---|---|---|"
        rows = "\n".join(entry.row for entry in self.entries.values())
        table = f":::{{table}}\n:class: errata\n\n{head}\n{rows}\n:::\n"
        return f"## {self.title}\n\n{self.about}\n\n{table}"


def _line(text: str) -> str:
    return " ".join(text.split())
