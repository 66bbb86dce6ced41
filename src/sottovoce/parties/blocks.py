"""Vectors of releases, one after the other, in the integers modulo 2^32 or 2^64.

Everyone computes the blocks alike from public parameters. A release takes 32 bits where its totals
fit with all noise but a probability of 2^−80, otherwise 64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..sharing import masks
from ..sharing.masks import Words
from .releases import Release

#: Probability that the noise of one cell leaves the ring; privacy does not rely on it.
_WRAP = 2.0**-80


@dataclass(frozen=True)
class Block:
    """One release within the vector that parties add up."""

    label: str  # distinguishes it from all others of the run
    cells: int  # how many numbers
    bits: int  # 32 or 64: numbers are added modulo 2^bits

    def __post_init__(self) -> None:
        masks.word_type(self.bits)

    @classmethod
    def of(cls, label: str, release: Release, rows: int | None) -> Block:
        """The block of a release of counts that add up to `rows`, or to an unknown number."""
        if rows is None:
            return cls(label, release.cells, 64)
        reach = release.shares * release.share_law.reach(_WRAP / release.shares)
        largest = rows * max(release.weights.values(), default=0) + reach
        return cls(label, release.cells, 32 if largest < 1 << 31 else 64)


def checked_vectors(blocks: Sequence[Block], vectors: Sequence[NDArray[Any]]) -> list[Words]:
    """Copies of the vectors as words of their blocks' rings."""
    if len({block.label for block in blocks}) < len(blocks):
        raise ParameterError("two blocks have the same label; one keystream is never used twice")
    if len(vectors) != len(blocks):
        raise ParameterError(f"there are {len(vectors)} vectors for {len(blocks)} blocks")
    words: list[Words] = []
    for block, vector in zip(blocks, vectors, strict=True):
        if vector.shape != (block.cells,) or not np.issubdtype(vector.dtype, np.integer):
            raise ParameterError(
                f"the vector of {block.label!r} has the shape {vector.shape} and type "
                f"{vector.dtype}; {block.cells} integers are expected"
            )
        ring: Words = vector.astype(np.uint64).astype(masks.word_type(block.bits))
        words.append(ring)
    return words


def add_up(blocks: Sequence[Block], rows: Iterable[Mapping[str, NDArray[Any]]]) -> list[Words]:
    """The sum of masked vectors, one for each block."""
    total: dict[str, Words] = {}
    for row in rows:
        for column, words in row.items():
            if column in total:
                total[column] += words
            else:
                total[column] = words.copy()
    ends = dict.fromkeys(total, 0)
    sums: list[Words] = []
    for block in blocks:
        column = f"words{block.bits}"
        start = ends[column]
        ends[column] = start + block.cells
        sums.append(total[column][start : ends[column]])
    return sums


def signed(words: Words) -> NDArray[np.int64]:
    """Words as the integers around 0 that they stand for."""
    kind = np.int32 if words.dtype.itemsize == 4 else np.int64
    return words.view(kind).astype(np.int64)


def columns(blocks: Sequence[Block], words: Sequence[Words]) -> dict[str, NDArray[Any]]:
    """One column for each ring, the blocks one after the other."""
    joined = {}
    for bits in sorted({block.bits for block in blocks}):
        parts = [w for block, w in zip(blocks, words, strict=True) if block.bits == bits]
        joined[f"words{bits}"] = np.concatenate(parts)[None]
    return joined


def form_of(blocks: Sequence[Block]) -> dict[str, tuple[type[Any], tuple[int, ...]]]:
    """Type and length of the columns that `columns` gives."""
    sizes: dict[int, int] = {}
    for block in blocks:
        sizes[block.bits] = sizes.get(block.bits, 0) + block.cells
    return {f"words{bits}": (masks.word_type(bits), (size,)) for bits, size in sizes.items()}
