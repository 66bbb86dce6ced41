"""Records grouped by which requested attributes they report, equal ones counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...contract.sparse import Sparse, count_rows
from ...errors import EstimateError, ParameterError
from ..allocation import STEPS, UNREPORTED, flip
from ..packing import levels_of

if TYPE_CHECKING:
    from ..records import Records

Floats = NDArray[np.float64]
MOST_CELLS = 10**6


@dataclass(frozen=True, eq=False)
class Group:
    """Records that report the same subset of the requested attributes.

    Attributes
    ----------
    axes : tuple of int
        Positions of the reported attributes among the asked ones.
    reported : int
        How many attributes they report in all; with it goes the law of hidden budgets.
    bits : tuple of ndarray of bool
        For each of `axes`, patterns × values.
    counts : ndarray
        How often each pattern came.
    average : float
        epsilon_average of their level; a person's total is this times `reported`.
    flips : ndarray, optional
        With public budgets: q of each pattern and axis.
    """

    axes: tuple[int, ...]
    reported: int
    bits: tuple[NDArray[np.bool_], ...]
    counts: NDArray[np.int64]
    average: float
    flips: Floats | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(bits.shape[1] for bits in self.bits)

    @property
    def ones(self) -> NDArray[np.int64]:
        """How many bits are set, patterns × axes."""
        return np.stack([bits.sum(axis=1) for bits in self.bits], axis=1)


def positions(records: Records, attributes: Sequence[str]) -> list[int]:
    """Positions of the requested attributes in the schema."""
    if isinstance(attributes, str) or not np.iterable(attributes) or not len(attributes):
        raise ParameterError(
            f"attributes are {attributes!r}; give a list of names, such as [{records.names[0]!r}]"
        )
    found = []
    for name in attributes:
        if name not in records.names:
            raise ParameterError(f"there is no attribute {name!r}; there are {records.names}")
        found.append(records.names.index(name))
    if len(set(found)) != len(found):
        raise ParameterError(f"attributes {list(attributes)} name one twice")
    return found


def groups_of(records: Records, aggregate: Sparse, asked: Sequence[int]) -> list[Group]:
    """The groups for the requested attributes; records that report none of them are left out."""
    if aggregate.n == 0:
        raise EstimateError("there are no records, so there is nothing to estimate")
    columns = records.columns_of(aggregate.rows)
    sent = np.unpackbits(columns["reported"], axis=1, bitorder="little")[:, : len(records.schema)]
    many = sent.sum(axis=1, dtype=np.int64)
    here = sent[:, asked]
    levels = len(records.averages)
    keys = (here @ (1 << np.arange(len(asked))) * 1024 + many) * levels
    keys += levels_of(columns)
    found = []
    for key in np.unique(keys[here.any(axis=1)]).tolist():
        rows = np.flatnonzero(keys == key)
        axes = tuple(int(k) for k in np.flatnonzero(here[rows[0]]))
        average = float(records.averages[key % levels])
        reported = int(many[rows[0]])
        found.append(
            _group(records, columns, aggregate.counts, rows, axes, asked, reported, average)
        )
    for k, position in enumerate(asked):
        if not any(k in group.axes for group in found):
            raise EstimateError(f"nobody reported {records.names[position]!r}")
    return found


def _group(
    records: Records,
    columns: dict[str, NDArray[np.uint8]],
    counts: NDArray[np.int64],
    rows: NDArray[np.intp],
    axes: tuple[int, ...],
    asked: Sequence[int],
    reported: int,
    average: float,
) -> Group:
    """Equal patterns of the requested attributes merged, sorted by the last axis first."""
    starts, sizes = records.starts, records.sizes
    bits = np.unpackbits(columns["bits"][rows], axis=1, bitorder="little")
    kept = [bits[:, starts[asked[k]] : starts[asked[k]] + sizes[asked[k]]] for k in axes]
    del bits
    packed = np.packbits(np.concatenate(kept[::-1], axis=1), axis=1)
    if records.public:
        steps = columns["steps"][rows][:, [asked[k] for k in axes]]
        extra = np.ascontiguousarray(steps.astype("<u2")).view(np.uint8)
        packed = np.concatenate([packed, extra], axis=1)
    unique, numbers = count_rows(packed, counts[rows])
    width = sum(int(sizes[asked[k]]) for k in axes)
    flat = np.unpackbits(unique[:, : -(-width // 8)], axis=1)[:, :width].astype(bool)
    edges = np.cumsum([0, *(int(sizes[asked[k]]) for k in reversed(axes))])
    split = tuple(flat[:, a:b] for a, b in pairwise(edges))[::-1]
    flips = None
    if records.public:
        budget = np.ascontiguousarray(unique[:, -(-width // 8) :]).view("<u2")
        flips = flip(np.where(budget == UNREPORTED, 0, budget) / STEPS)
    return Group(axes, reported, split, numbers, average, flips)
