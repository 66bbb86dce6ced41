"""Holding a run against what was published, and against our own earlier results.

Also what claims need to compare series of a figure, with standard errors in mind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .figure import Figure, Verdict
from .results import Results, Row

#: How often a run that is right disagrees with the earlier results, over all rows of a figure.
FALSE_ALARM = 1e-4
_SAME = 1e-9  # exact numbers, up to rounding on another machine
#: Standard errors of a difference that count as a difference.
APART = 3.0


@dataclass(frozen=True)
class Comparison:
    """A figure's results beside the earlier ones."""

    compared: int
    differing: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether no row differs by more than chance explains."""
        return not self.differing


def compare(figure: Figure, results: Results, expected: Mapping[str, Any]) -> Comparison:
    """Welch's t test of every row against `expected.json`, at a joint level of FALSE_ALARM."""
    from scipy.stats import t

    if figure.timing:
        return Comparison(0, ())
    earlier = {row.key: row for row in recorded(expected)}
    pairs = [(row, earlier[row.key]) for row in results if row.key in earlier]
    differing = []
    for row, old in pairs:
        variance = row.std_error**2 + old.std_error**2
        apart = abs(row.value - old.value)
        if variance == 0 or math.isnan(variance):
            allowed = _SAME * max(1.0, abs(old.value))
        else:
            terms = [(r.std_error**4, r.repeats - 1) for r in (row, old) if r.repeats > 1]
            freedom = variance**2 / sum(term / degrees for term, degrees in terms)
            level = FALSE_ALARM / len(pairs)
            allowed = float(t.isf(level / 2, freedom)) * math.sqrt(variance)
        if apart > allowed:
            differing.append(
                f"{row.panel}, {row.x}, {row.series}: {row.value:.6g} instead of {old.value:.6g}"
                f" (at most {allowed:.2g} apart by chance)"
            )
    return Comparison(len(pairs), tuple(differing))


def recorded(expected: Mapping[str, Any]) -> list[Row]:
    """Our own rows in an entry of `expected.json`."""
    return [Row(*row) for row in expected.get("ours", {}).get("rows", [])]


def judged(figure: Figure, results: Results) -> list[Verdict]:
    """A verdict for each claim; without the data it needs a claim cannot be checked."""
    verdicts = []
    for claim in figure.claims:
        if not len(results):
            reason = next(iter(results.skipped.values()), "nothing was measured")
            verdicts.append(Verdict("cannot be checked", reason))
        else:
            verdicts.append(claim.judge(results))
    return verdicts


def apart(one: Row, other: Row) -> float:
    """By how many standard errors `one` lies above `other`; 0 where one repeat tells no error."""
    error = math.hypot(*(math.inf if math.isnan(row.std_error) else row.std_error
                         for row in (one, other)))  # fmt: skip
    difference = one.value - other.value
    return difference / error if error > 0 else math.copysign(math.inf, difference)


def below(one: Row, other: Row) -> bool:
    """Whether `one` is clearly smaller."""
    return apart(other, one) > APART and one.value < other.value


def points(results: Results) -> list[tuple[str, float | str]]:
    """Every panel and x that was measured."""
    return list(dict.fromkeys((row.panel, row.x) for row in results))


def rows_at(results: Results, point: tuple[str, float | str], names: Iterable[str]) -> list[Row]:
    """The rows of some series at one point."""
    rows = (results.get(*point, name) for name in names)
    return [row for row in rows if row is not None]


def least(rows: Iterable[Row]) -> Row:
    """The most accurate of some rows."""
    return min(rows, key=lambda row: row.value)


def ratios(pairs: Iterable[tuple[Row, Row]]) -> tuple[float, float]:
    """The smallest and largest ratio of two series."""
    every = [one.value / other.value for one, other in pairs]
    return min(every), max(every)
