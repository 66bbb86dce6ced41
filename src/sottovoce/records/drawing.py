"""The participants' side of records: each attribute's bits at its own epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..domain import tables
from ..randomness import Draws, Source
from .allocation import in_steps, thresholds
from .allocation_blocks import allocations_of

if TYPE_CHECKING:
    from .records import Records

_BLOCK = 1 << 14


def draw_records(
    records: Records, table: Any, source: Source, allocation: Any, reported: Any, first_row: int
) -> Columns:
    """The columns of everyone's reports."""
    columns = tables.columns_of(table, records.names)
    people = len(columns[0])
    allocations = allocations_of(
        records.schema,
        columns,
        allocation,
        reported,
        average=records.epsilon_average,
        floor=records.floor,
        source=source,
        first=first_row,
    )
    packed = {c.name: np.zeros(c.shape(people), c.dtype) for c in records.layout}
    draws = source.draws()
    # In blocks, so that only the reports themselves are in memory for everyone.
    for start in range(0, people, _BLOCK):
        part = slice(start, min(start + _BLOCK, people))
        some = [tables.rows_of(column, part) for column in columns]
        target = {k: c[part] for k, c in packed.items()}
        _draw_block(records, draws, some, allocations(part), target, first_row + start)
    return packed


def _draw_block(
    records: Records,
    draws: Draws,
    columns: list[Any],
    allocations: NDArray[np.float64],
    packed: dict[str, NDArray[Any]],
    first: int,
) -> None:
    """The reports of a block of people, into `made`."""
    sent = ~np.isnan(allocations)
    codes = tables.codes_of(records.schema, columns, sent, first)
    steps, bits, table = (
        in_steps(allocations, records.epsilon_average),
        packed["bits"],
        thresholds(),
    )

    def step(words: Any, part: slice, extra: Any, used: int) -> Any:
        some = (codes[part], steps[part], records.sizes, records.starts, table, bits[part])
        return kernels.draw.record_bits(words, *some, extra, used)

    draws.rows(len(allocations), int(records.starts[-1]), step)
    packed["reported"][:] = np.packbits(sent, axis=1, bitorder="little")
    if records.public:
        packed["steps"][:] = steps
