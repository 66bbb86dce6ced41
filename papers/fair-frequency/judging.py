"""What the claims' judges share: comparing two rows, and words for the outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sottovoce.reproduce import Row, Verdict
from sottovoce.reproduce.compare import APART, below

__all__ = ["APART", "below", "lower_everywhere", "near", "ratios", "shown", "unchecked", "where"]


def _error(row: Row) -> float:
    return row.std_error if math.isfinite(row.std_error) else math.inf


def shown(row: Row, digits: int = 2) -> str:
    """A value with its standard error."""
    if row.repeats == 0:
        return f"{row.value:.{digits}g}"
    return f"{row.value:.{digits}g} ± {row.std_error:.1g}"


def where(row: Row) -> str:
    """The panel and the place of a row."""
    return f"{row.panel}, {row.x}"


def unchecked(reason: str) -> Verdict:
    """For the short run, or without a data set."""
    return Verdict("cannot be checked", reason)


def lower_everywhere(
    pairs: Iterable[tuple[Row, Row]], because: str, *, otherwise: str = ""
) -> Verdict:
    """Whether the first row is below the second in all pairs, in some, or in none.

    Parameters
    ----------
    pairs : iterable of (Row, Row)
        What is compared.
    because : str
        Said where the claim holds; {lower}, {higher} and {all} are numbers of points.
    otherwise : str
        Added where it does not hold.
    """
    rows = list(pairs)
    lower = sum(below(one, other) for one, other in rows)
    higher = sum(below(other, one) for one, other in rows)
    text = because.format(lower=lower, higher=higher, all=len(rows))
    if not rows or lower + higher == 0:
        return unchecked("too few points or repeats")
    if lower == len(rows):
        return Verdict("holds", text)
    if higher == 0 and lower:
        # Undecided points speak neither for the claim nor against it.
        return Verdict("holds", text)
    return Verdict("holds in part" if lower else "does not hold", f"{text} {otherwise}".strip())


def near(row: Row | None, stated: float, what: str, allowed: float) -> Verdict:
    """Whether a stated number is ours, up to the error of both."""
    if row is None:
        return unchecked("the point was not measured")
    wide = APART * _error(row) + allowed
    apart = abs(row.value - stated)
    if _error(row) > 0.1 * row.value:
        return unchecked("too few repeats")
    return Verdict(
        "holds" if apart <= wide else "does not hold",
        f"{what}: {shown(row)}, and {stated:g} stated.",
    )


def ratios(pairs: list[tuple[Row, Row]]) -> str:
    """The smallest and the largest quotient of two rows."""
    values = [one.value / other.value for one, other in pairs]
    return f"{min(values):.2g} to {max(values):.2g}"
