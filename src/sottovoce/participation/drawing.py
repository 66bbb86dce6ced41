"""The participants' side: who reports, and what they send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contract.collection import Columns
from ..domain.columns import Coded
from ..randomness import Draws, Source
from .rates import coin
from .rows import blank_columns, put_rows

if TYPE_CHECKING:
    from .participation import Participation

_MOST_SILENT = (1 << 16) - 1


def draw_ways(table: Participation, coded: Coded, ways: NDArray[Any], source: Source) -> Columns:
    """Reports of everyone who answered, given the positions of their ways."""
    quiet = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if table.sampled:
        everyone = len(table.ways())
        asked = np.bincount(ways, minlength=everyone)
        flips = source.over_ranges(
            lambda draws, people: _coins(table, ways[people], draws),
            ways.size,
            work=100 * ways.size,
        )
        speakers = np.flatnonzero(np.concatenate(flips))
        coded, ways = coded.take(speakers), ways[speakers]
        quiet = silent_rows(asked - np.bincount(ways, minlength=everyone))
    many = len(coded)
    columns = blank_columns(table.layout, many + quiet[0].size)
    if "silent" in columns:
        columns["silent"][many:] = quiet[1]
    if "way" in columns:
        columns["way"][:many] = ways
        columns["way"][many:] = quiet[0]

    def some(_: Draws, people: slice) -> None:
        for mechanism, own in zip(table.bound, table.level_ways, strict=True):
            rows: Any = people  # where there is one level: everyone, without a copy
            if len(table.levels) > 1:
                chosen = (ways[people] >= own.start) & (ways[people] < own.stop)
                rows = people.start + np.flatnonzero(chosen)
            put_rows(columns, rows, mechanism.draw(coded.take(rows), source))

    source.over_ranges(some, many, work=20 * sum(column.nbytes for column in columns.values()))
    return columns


def _coins(table: Participation, ways: NDArray[Any], draws: Draws) -> NDArray[np.bool_]:
    """Who reports, by one exact coin flip each."""
    order: Any = np.argsort(ways, kind="stable") if len(table.ways()) > 1 else slice(None)
    asked = np.bincount(ways, minlength=len(table.ways()))
    in_order = np.zeros(ways.size, bool)
    start = 0
    for way, n in zip(table.ways(), asked.tolist(), strict=True):
        if way.rate == 1:
            in_order[start : start + n] = True
        elif way.rate > 0 and n:
            bits = np.unpackbits(draws.coins(coin(way.rate), n), count=n, bitorder="little")
            in_order[start : start + n] = bits
        start += n
    coins = np.zeros(ways.size, bool)
    coins[order] = in_order
    return coins


def silent_rows(quiet: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(ways, numbers of people) of the rows that stand for so many silent people of each way."""
    ways, numbers = [], []
    for way, n in enumerate(quiet.tolist()):
        full, rest = divmod(n, _MOST_SILENT)
        numbers += [_MOST_SILENT] * full + [rest] * (rest > 0)
        ways += [way] * (full + (rest > 0))
    return np.array(ways, np.int64), np.array(numbers, np.int64)
