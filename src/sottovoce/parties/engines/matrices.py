"""Large matrices as messages: rows in parts, so that no message outgrows what a relay carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...errors import ShareError, WireError
from ...sharing.triples import Words
from ...transport import Batch, Role

_PART_BYTES = 1 << 22

#: Parts by their first row.
Parts = Mapping[int, Words]


def matrix_batches(
    kind: str, number: int, sent_by: tuple[Role, int], to: int, product: int, matrix: Words
) -> Iterator[Batch]:
    """The messages in which one member sends a matrix to a party."""
    height = max(1, _PART_BYTES // max(1, matrix.shape[1] * matrix.itemsize))
    whole = matrix.shape[0] // height * height
    parts = matrix[:whole].reshape(-1, height, matrix.shape[1]), matrix[whole:][None]
    for first, words in zip((0, whole), parts, strict=True):
        rows = first + height * np.arange(len(words), dtype=np.int64)
        if words.size:
            sender, receiver = np.full_like(rows, sent_by[1]), np.full_like(rows, to)
            payload = {"product": np.full_like(rows, product), "row": rows, "words": words}
            order = rows * 2**16 + product
            yield Batch(kind, number, sent_by[0], Role.PARTY, sender, receiver, payload, order)


def check_part(
    batch: Batch, products: int, shape: tuple[int, int], words: np.dtype[np.generic]
) -> None:
    """Refuse parts that cannot belong to a matrix of this shape."""
    if set(batch.payload) != {"product", "row", "words"}:
        raise WireError(f"{batch.kind!r} has the columns {sorted(batch.payload)}")
    product, row, part = (batch.payload[name] for name in ("product", "row", "words"))
    if product.dtype != np.int64 or row.dtype != np.int64 or product.ndim != 1 or row.ndim != 1:
        raise WireError(f"{batch.kind!r} does not say which part of a matrix it is")
    if part.dtype != words or part.ndim != 3 or part.shape[2] != shape[1]:
        raise WireError(
            f"{batch.kind!r} has words of type {part.dtype} and shape {part.shape[1:]}; rows of "
            f"{shape[1]} of type {words} are expected"
        )
    if ((product < 0) | (product >= products)).any():
        raise WireError(f"{batch.kind!r} is of a product that there is not")
    if ((row < 0) | (row + part.shape[1] > shape[0])).any():
        raise WireError(f"{batch.kind!r} has more rows than a matrix of {shape[0]:,}")


def add_part(parts: Parts, row: int, words: Words) -> Parts:
    """The parts with one more, which must be new."""
    if row in parts:
        raise ShareError(f"the part of a matrix from row {row} on arrived twice; refused")
    return {**parts, row: words}


def whole_matrix(parts: Parts, shape: tuple[int, int], what: str) -> Words:
    """The matrix, or an error where parts are missing or overlap."""
    reached = 0
    for row, words in sorted(parts.items()):
        if row != reached:
            break
        reached += len(words)
    if reached != shape[0] or not parts:
        raise ShareError(f"{what} is missing, or not complete; nothing was released")
    ordered = [words for _, words in sorted(parts.items())]
    return ordered[0] if len(ordered) == 1 else np.concatenate(ordered)
