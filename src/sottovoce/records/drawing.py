"""The participants' side of records: each attribute's bits at its own epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..domain import tables
from ..domain.values import parts_of
from ..parallel import cores
from ..participation.rates import coin
from ..randomness import Draws, Source
from .allocation import UNREPORTED, in_steps, thresholds
from .allocation_blocks import allocations_of
from .levels import level_codes

if TYPE_CHECKING:
    from .records import Records

_BLOCK = 1 << 14
_LEAST_BLOCK = 1 << 11
_STEPS = 40  # of a bit, as `over_ranges` counts them: about two nanoseconds


def draw_records(
    records: Records,
    table: Any,
    source: Source,
    allocation: Any,
    reported: Any,
    first_row: int,
    level: Any,
) -> Columns:
    """The columns of everyone's reports."""
    columns = tables.columns_of(table, records.names)
    people = len(columns[0])
    levels = level_codes(records, people, level)
    averages = records.averages[levels]
    allocations = allocations_of(
        records.schema,
        columns,
        allocation,
        reported,
        averages=averages,
        floor=records.floor,
        source=source,
        first=first_row,
    )
    packed = {c.name: np.zeros(c.shape(people), c.dtype) for c in records.layout}
    if "level" in packed:
        packed["level"][:] = levels
    # Several threads have smaller blocks, and a seeded source the same whatever their number.
    threads = 1 if source.seeded else cores()
    block = _BLOCK if threads == 1 else max(_LEAST_BLOCK, _BLOCK // (2 * threads))

    def some(draws: Draws, people: slice) -> None:
        # In blocks, so that only the reports themselves are in memory for everyone.
        for part in parts_of(people, block):
            _draw_block(
                records,
                draws,
                [tables.rows_of(column, part) for column in columns],
                allocations(part),
                averages[part],
                {name: column[part] for name, column in packed.items()},
                first_row + part.start,
            )
        if records.sampled:
            _silence({name: c[people] for name, c in packed.items()}, draws, records.rate)

    source.over_ranges(some, people, work=_STEPS * people * int(records.starts[-1]))
    return packed


def _silence(packed: dict[str, NDArray[Any]], draws: Draws, rate: float) -> None:
    """Remove the reports of people who stay silent, by one exact coin flip each."""
    people = len(packed["bits"])
    coins = np.unpackbits(draws.coins(coin(rate), people), count=people, bitorder="little")
    silent = coins == 0
    for name in ("reported", "bits"):
        packed[name][silent] = 0
    if "steps" in packed:
        packed["steps"][silent] = UNREPORTED


def _draw_block(
    records: Records,
    draws: Draws,
    columns: list[Any],
    allocations: NDArray[np.float64],
    averages: NDArray[np.float64],
    packed: dict[str, NDArray[Any]],
    first: int,
) -> None:
    """The reports of a block of people, into `packed`."""
    sent = ~np.isnan(allocations)
    codes = tables.codes_of(records.schema, columns, sent, first)
    steps, bits, table = in_steps(allocations, averages), packed["bits"], thresholds()

    def step(words: Any, part: slice, extra: Any, used: int) -> Any:
        some = (codes[part], steps[part], records.sizes, records.starts, table, bits[part])
        return kernels.draw.record_bits(words, *some, extra, used)

    draws.each(len(allocations), np.uint16, step, width=int(records.starts[-1]))
    packed["reported"][:] = np.packbits(sent, axis=1, bitorder="little")
    if records.public:
        packed["steps"][:] = steps
