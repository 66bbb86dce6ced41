"""What a collector and an analyst run: counts of reports, sums and transforms of counts.

Every call goes through `kernel`, the one place where another engine can step in: a mapping from
names in `COMPILED` to functions with the same arguments and results as the compiled ones. A name
that an engine leaves out stays with numba; participants' draws have no engine. The functions here
make room for the result and turn a position out of range into an error; all work is done by the
kernel of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, WireError
from ..compiling import Kernel

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

__all__ = [
    "block_noise",
    "column_counts",
    "column_counts_by",
    "expected_cells",
    "expected_weights",
    "hadamard_values",
    "hash_support",
    "hash_support_pairs",
    "histogram",
    "histogram_by",
    "odd_parities",
    "projective_sums",
    "row_sums",
    "strata_variance",
    "stratified",
    "walsh_hadamard",
    "weighted_sum",
]


Engine = Mapping[str, Callable[..., Any]]

#: The module here that has the compiled function of each name.
COMPILED = MappingProxyType(
    {
        "histogram": "histograms",
        "histogram_by": "histograms",
        "column_counts": "bits",
        "column_counts_by": "grouped_bits",
        "hash_support": "hashes",
        "hash_support_pairs": "hash_pairs",
        "walsh_hadamard": "transforms",
        "odd_parities": "parities",
        "projective_sums": "projective",
        "hadamard_values": "transforms",
        "block_noise": "transforms",
        "row_sums": "sums",
        "weighted_sum": "sums",
        "stratified": "sums",
        "strata_variance": "sums",
        "expected_weights": "mixtures",
        "expected_cells": "cells",
    }
)

_engine: ContextVar[Engine] = ContextVar("engine", default=MappingProxyType({}))


@contextmanager
def use(engine: Engine) -> Iterator[None]:
    """Count with the functions of `engine` inside this block, and with no others if it is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce import kernels
    >>> def histogram(values, counts):
    ...     counts += np.bincount(values, minlength=counts.size)
    ...     return -1
    >>> with kernels.use({"histogram": histogram}):
    ...     kernels.count.histogram(np.array([0, 2, 2]), 3).tolist()
    [1, 0, 2]
    """
    unknown = sorted(set(engine) - set(COMPILED))
    if unknown:
        raise ParameterError(
            f"there are no counting kernels {', '.join(map(repr, unknown))}; an engine may replace "
            f"{', '.join(map(repr, COMPILED))}"
        )
    token = _engine.set(MappingProxyType({**_engine.get(), **engine} if engine else {}))
    try:
        yield
    finally:
        _engine.reset(token)


def kernel(name: str) -> Callable[..., Any]:
    """The function that counts under this name here and now."""
    own = _own_kernel(name)
    return _engine.get().get(name) or own.machine or own


def replaced(name: str | None = None) -> bool:
    """Whether another engine counts under this name, or at all; it divides its work itself."""
    engine = _engine.get()
    return bool(engine) if name is None else name in engine


@cache
def _own_kernel(name: str) -> Kernel:
    own: Kernel = getattr(import_module(f".{COMPILED[name]}", __name__), name)
    return own


def histogram(values: NDArray[Any], size: int) -> Counts:
    """How often each of 0..size-1 occurs; another value is refused."""
    counts = np.zeros(size, np.int64)
    if size == 2 and values.dtype == np.uint8 and not replaced("histogram"):
        from .histograms import zeros_and_ones

        if zeros_and_ones(values, counts):
            return counts
    bad = kernel("histogram")(values, counts)
    if bad >= 0:
        raise _outside("a report has", values[bad], size)
    return counts


def histogram_by(group: NDArray[Any], values: NDArray[Any], groups: int, size: int) -> Counts:
    """One row of counts per group; a value or group out of range is refused."""
    _same_length(group, values)
    counts = np.zeros((groups, size), np.int64)
    bad = kernel("histogram_by")(group, values, counts)
    if bad >= 0 and 0 <= group[bad] < groups:
        raise _outside("a report has", values[bad], size)
    if bad >= 0:
        raise _outside("a report is of group", group[bad], groups)
    return counts


def column_counts(rows: NDArray[np.uint8]) -> Counts:
    """How many rows have each bit set, 8 counts per column of bytes.

    `rows` is C-contiguous and 8-byte aligned. Bit order: `kernels.draw.bits`.
    """
    counts: Counts = kernel("column_counts")(rows)
    return counts


def column_counts_by(rows: NDArray[np.uint8], group: NDArray[Any], groups: int) -> Counts:
    """One row of such counts per group; a group out of range is refused."""
    _same_length(group, rows)
    width = rows.shape[1]
    counts = np.zeros((groups, (width + 7) // 8 * 64), np.int64)  # the kernel adds whole words
    bad = kernel("column_counts_by")(rows, group, counts)
    if bad >= 0:
        raise _outside("a report is of group", group[bad], groups)
    return counts[:, : 8 * width]


def hash_support(
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    codes: NDArray[np.uint32],
    mask: np.uint32,
    width: np.uint32,
    counts: Counts,
) -> None:
    """counts[v] += how many i have ((a[i] codes[v] + b[i]) & mask) < width."""
    kernel("hash_support")(a, b, codes, mask, width, counts)


def hash_support_pairs(
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    codes: NDArray[np.uint32],
    mask: np.uint32,
    width: np.uint32,
    counts: Counts,
) -> None:
    """The same with codes of two halves: a[0, i] codes[0, v] + a[1, i] codes[1, v] + b[i]."""
    kernel("hash_support_pairs")(a, b, codes, mask, width, counts)


def walsh_hadamard(table: NDArray[Any]) -> None:
    """Transform every row of a table in place; the row length is a power of two."""
    kernel("walsh_hadamard")(table)


def odd_parities(reports: NDArray[np.uint32], columns: NDArray[np.uint32], counts: Counts) -> None:
    """counts[v] += how many i have an odd number of bits in reports[i] & columns[v]."""
    kernel("odd_parities")(reports, columns, counts)


def projective_sums(counts: NDArray[Any], order: int, dimension: int, size: int) -> NDArray[Any]:
    """For each of the first `size` values, the sum over the outputs orthogonal to it.

    `counts` has one item or one row per output.
    """
    rows = np.ascontiguousarray(counts if counts.ndim == 2 else counts[:, None])
    if rows.dtype == np.int64 and rows.min() >= 0 and rows.sum(axis=0, dtype=float).max() < 1 << 31:
        rows = rows.astype(np.uint32)  # half as much to keep in the cache
    sums = np.zeros((size, rows.shape[1]), rows.dtype)
    kernel("projective_sums")(rows, order, dimension, sums)
    return sums.astype(counts.dtype, copy=False).reshape(size, *counts.shape[1:])


def hadamard_values(counts: Counts, blocks: int, gaps: Floats, size: int) -> Floats:
    """Fractions of `size` values from each row of counts: `transforms.hadamard_values`."""
    values = np.empty((len(counts), size))
    kernel("hadamard_values")(counts, blocks, gaps, values)
    return values


def block_noise(fractions: Floats, blocks: int, own: float, other: float, gap: float) -> Floats:
    """Noise of each value by its block: `transforms.block_noise`."""
    noise = np.empty_like(fractions)
    kernel("block_noise")(fractions, blocks, own, other, gap, noise)
    return noise


def row_sums(counts: Counts) -> Counts:
    """The sum of each row."""
    sums: Counts = kernel("row_sums")(counts)
    return sums


def weighted_sum(counts: Counts, weights: Floats) -> Floats:
    """Σ weights[g] counts[g]."""
    total: Floats = kernel("weighted_sum")(counts, weights)
    return total


def stratified(
    counts: Counts,
    laws: Floats,
    reports: NDArray[Any],
    weights: Floats,
    noise: Floats,
    drawn: Floats,
) -> tuple[Floats, Floats]:
    """Weighted means over the strata of each group and their variances: `sums.stratified`."""
    mean, variance = kernel("stratified")(counts, laws, reports, weights, noise, drawn)
    return mean, variance


def strata_variance(
    noise: Floats, second: Floats, means: Floats, noisy: Floats, drawn: Floats
) -> Floats:
    """Variance of each stratum's own estimate, a row per stratum: `sums.strata_variance`."""
    variance: Floats = kernel("strata_variance")(noise, second, means, noisy, drawn)
    return variance


def expected_weights(law: Floats, weights: Floats, counts: NDArray[Any], back: Floats) -> None:
    """back = lawᵀ(counts / max(law weights, 1e-300))."""
    kernel("expected_weights")(law, weights, counts, back)


def expected_cells(*arguments: Any) -> None:
    """One expectation step over the cells of a table: `cells.expected_cells`."""
    kernel("expected_cells")(*arguments)


def _outside(subject: str, value: Any, size: int) -> WireError:
    return WireError(f"{subject} {int(value)}; allowed are 0 to {size - 1}")


def _same_length(group: NDArray[Any], items: NDArray[Any]) -> None:
    if len(group) != len(items):
        raise WireError(f"there are {len(items)} reports and {len(group)} groups of them")
