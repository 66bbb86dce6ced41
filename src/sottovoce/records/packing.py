"""How a record is packed: which attributes it reports, their budgets if public, and the bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import MOST_EPSILON
from ..contract.reports import Column
from ..domain.values import code_dtype
from ..errors import WireError
from .allocation import STEPS, UNREPORTED, most_steps

_BLOCK = 1 << 14


def layout(sizes: NDArray[np.int64], public: bool, levels: int = 1) -> tuple[Column, ...]:
    """The columns of a report."""
    many = len(sizes)
    level = (Column("level", code_dtype(levels).str),) * (levels > 1)
    sent = Column("reported", "u1", width=-(-many // 8))
    steps = (Column("steps", "<u2", width=many),) * public
    return (*level, sent, *steps, Column("bits", "u1", width=int(-(-sizes.sum() // 8))))


def check(
    columns: Mapping[str, NDArray[Any]],
    sizes: NDArray[np.int64],
    averages: NDArray[np.float64],
    floor: float | None,
    *,
    silent: bool = False,
) -> None:
    """Raise WireError for reports that no participant can have sent.

    `averages` has epsilon_average of every level, `floor` is the least public budget (None where
    budgets are hidden), and `silent` people report no attribute.
    """
    level = levels_of(columns)
    if level.size and int(level.max()) >= len(averages):
        raise WireError(f"a record has the level {int(level.max())}; there are {len(averages)}")
    for start in range(0, len(columns["bits"]), _BLOCK):
        part = slice(start, start + _BLOCK)
        reported = unpacked(columns["reported"][part], len(sizes), "reported")
        if not silent and not reported.any(axis=1).all():
            raise WireError("a record reports no attribute")
        bits = unpacked(columns["bits"][part], int(sizes.sum()), "bits")
        if (bits & ~np.repeat(reported, sizes, axis=1)).any():
            raise WireError("a record has bits of an attribute that it does not report")
        if floor is not None:
            _check_steps(columns["steps"][part], reported, averages[level[part]], floor)


def _check_steps(
    steps: NDArray[np.uint16],
    reported: NDArray[np.bool_],
    average: NDArray[np.float64],
    floor: float,
) -> None:
    if ((steps == UNREPORTED) == reported).any():
        raise WireError("a record's budgets and reported attributes do not agree")
    budgets = steps[reported]
    least, most = int(floor * STEPS) - 1, int(MOST_EPSILON * STEPS)
    if budgets.size and not (least <= int(budgets.min()) and int(budgets.max()) <= most):
        raise WireError(
            f"a budget is {int(budgets.min()) / STEPS:g} or {int(budgets.max()) / STEPS:g}; "
            f"allowed is {floor:g} to {MOST_EPSILON:g}"
        )
    spent = np.where(reported, steps, 0).sum(axis=1, dtype=np.int64)
    if (spent > most_steps(reported.sum(axis=1), average)).any():
        raise WireError("a record divides more than its total budget")


def levels_of(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Everyone's level, as a position."""
    if "level" in columns:
        return columns["level"]
    return np.zeros(len(columns["bits"]), np.uint8)


def unpacked(packed: NDArray[np.uint8], size: int, what: str) -> NDArray[np.bool_]:
    """Bits, least significant first; spare ones must be zero."""
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    if bits[:, size:].any():
        raise WireError(f"a record has unused {what} set")
    return bits[:, :size].astype(bool)
