"""Additive shares of which all but one are sent as 32 bytes.

A seed stands for the vector that it expands to: the AES-256 keystream in counter mode (key = seed,
counter from 0), read as little-endian words and turned into field elements as `PrimeField` says.
Senders draw a seed for all helpers but one; the last gets the rest. Without the seeds the rest
looks uniform to anyone who cannot tell AES from random.

A seed is fresh for every vector: two vectors under one seed would differ by their secrets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import checked_count
from ..errors import ParameterError, ShareError
from ..keystream import first_bytes
from ..randomness import Source, source_of
from .field import Elements, PrimeField

SEED_BYTES = 32
_SPARE = 16  # words beyond those needed if all were kept, at the first attempt
_BLOCK = 1 << 12  # senders expanded together

Seeds = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class SeededShares:
    """What the helpers get: seeds for all but the last, and the rest for the last."""

    seeds: Seeds  # (helpers − 1, senders, 32)
    rest: Elements  # (senders, length)


def share(
    field: PrimeField, secret: ArrayLike, helpers: int, *, source: Source | None = None
) -> SeededShares:
    """The senders' side: one row of `secret` per sender.

    Examples
    --------
    >>> field = PrimeField.covering(0, 100)
    >>> shares = share(field, field.encode([[5, 0, 100], [1, 2, 3]]), 3)
    >>> total = field.add_rows(shares.rest)
    >>> for seeds in shares.seeds:
    ...     total = add_expanded(field, seeds, 3, total)
    >>> field.decode(total).tolist()[:2]
    [6, 2]
    """
    helpers = checked_count(helpers, "helpers", 2)
    rows = field.check(secret)
    if rows.ndim != 2:
        raise ParameterError(f"secret has {rows.ndim} dimensions; give one row per sender")
    seeds = np.empty((helpers - 1, rows.shape[0], SEED_BYTES), np.uint8)
    source_of(source).fill(seeds)
    rest = rows.copy()
    for start in range(0, rows.shape[0], _BLOCK):
        part = rest[start : start + _BLOCK]
        for of_helper in seeds:
            mask = expand(field, of_helper[start : start + _BLOCK], rows.shape[1])
            # x − m mod q without leaving the unsigned range
            part += np.where(part < mask, field.word, np.uint64(0)) - mask
    return SeededShares(seeds, rest)


def expand(field: PrimeField, seeds: Seeds, length: int) -> Elements:
    """A helper's side: the vectors that seeds stand for, one row per seed."""
    seeds = _check(seeds)
    out = np.empty((seeds.shape[0], length), np.uint64)
    words = length + _SPARE
    streams = first_bytes(seeds, words * field.element_bytes)
    counts = field.elements(streams.view(f"<u{field.element_bytes}"), out)
    for i in np.flatnonzero(counts < length):
        more = words
        while counts[i] < length:  # the same keystream, read further
            more *= 2
            stream = first_bytes(seeds[i : i + 1], more * field.element_bytes)
            counts[i] = field.elements(stream.view(f"<u{field.element_bytes}"), out[i : i + 1])[0]
    return out


def add_expanded(
    field: PrimeField, seeds: Seeds, length: int, total: Elements | None = None
) -> Elements:
    """A helper's side: the sum of the vectors that seeds stand for, onto `total`."""
    seeds = _check(seeds)
    result = np.zeros(length, np.uint64) if total is None else total
    for start in range(0, seeds.shape[0], _BLOCK):
        field.add_rows(expand(field, seeds[start : start + _BLOCK], length), result)
    return result


def _check(seeds: Any) -> Seeds:
    array = np.ascontiguousarray(seeds)
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != SEED_BYTES:
        raise ShareError(
            f"seeds are of type {array.dtype} and shape {array.shape}; they are rows of "
            f"{SEED_BYTES} bytes"
        )
    return array
