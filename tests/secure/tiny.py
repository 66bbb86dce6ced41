"""Runs on tiny fields with scripted randomness, so that every view can be enumerated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.randomness import Source
from sottovoce.transport import EVERYONE, Batch, Driven, Role


class Scripted(Source):
    """Field elements from a list: exactly the words that `PrimeField` turns into them.

    Bytes that are no field elements (salts) are zero; with `seeds` each seed of 32 bytes begins
    with an element of the list.
    """

    seeded = True

    def __init__(self, elements: Sequence[int], modulus: int, *, seeds: bool = False) -> None:
        self._next = iter(elements)
        self._modulus = modulus
        self._seeds = seeds

    def _fill(self, target: memoryview) -> None:
        raise AssertionError("only whole arrays are filled")

    def fill(self, array: NDArray[Any]) -> None:
        if array.dtype == np.uint32:
            flat = array.reshape(-1)
            for k in range(flat.size):
                # The word in the middle of those that stand for the element.
                flat[k] = ((2 * next(self._next) + 1) << 31) // self._modulus
            return
        array[...] = 0
        if self._seeds and array.ndim == 3:
            for row in array.reshape(-1, 32):
                row[0] = next(self._next)


def scripts(modulus: int, length: int) -> Iterator[tuple[int, ...]]:
    """All lists of that many elements, each equally likely."""
    return product(range(modulus), repeat=length)


def seen(driven: Driven, who: Sequence[tuple[Role, int]]) -> tuple[Any, ...]:
    """All that these members receive, and all that they send, as plain data."""
    lines = []
    for batch in driven.views.batches:
        for row in range(len(batch)):
            to, by = int(batch.receiver[row]), int(batch.sender[row])
            public = to == EVERYONE and any(role is batch.sent_to for role, _ in who)
            mine = (batch.sent_to, to) in who or (batch.sent_by, by) in who
            if public or mine:
                lines.append(_line(batch, row))
    return tuple(lines)


def _line(batch: Batch, row: int) -> tuple[Any, ...]:
    payload = tuple((name, column[row].tobytes()) for name, column in sorted(batch.payload.items()))
    about = (batch.kind, batch.sent_by.value, batch.sent_to.value)
    return (
        *about,
        int(batch.sender[row]),
        int(batch.receiver[row]),
        int(batch.order[row]),
        payload,
    )


def law(
    run: Callable[[tuple[int, ...]], Driven],
    modulus: int,
    draws: int,
    who: Sequence[tuple[Role, int]],
) -> Counter[tuple[Any, ...]]:
    """The exact law of a view, over all scripts."""
    return Counter(seen(run(script), who) for script in scripts(modulus, draws))


def laws(
    run: Callable[[tuple[int, ...]], Driven],
    modulus: int,
    draws: int,
    coalitions: Sequence[Sequence[tuple[Role, int]]],
) -> list[Counter[tuple[Any, ...]]]:
    """The same for several coalitions, from one run per script."""
    counters: list[Counter[tuple[Any, ...]]] = [Counter() for _ in coalitions]
    for script in scripts(modulus, draws):
        driven = run(script)
        for counter, who in zip(counters, coalitions, strict=True):
            counter[seen(driven, who)] += 1
    return counters
