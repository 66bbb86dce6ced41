"""What a collector and an analyst run: counts of reports, sums and transforms of counts.

Every call goes through `kernel`, the one place where another engine can step in: a mapping from
names in `COMPILED` to functions with the same arguments and results as the compiled ones. A name
that an engine leaves out stays with numba; participants' draws have no engine. The functions here
make room for the result and turn a position out of range into an error, or only pass arguments on;
all work is done by the kernel of the same name.
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

Engine = Mapping[str, Callable[..., Any]]

#: The kernels of each module here.
_MODULES = {
    "histograms": ("histogram", "histogram_by"),
    "bits": ("column_counts",),
    "grouped_bits": ("column_counts_by",),
    "hashes": ("hash_support", "hash_support_pairs"),
    "transforms": ("walsh_hadamard", "hadamard_values", "block_noise"),
    "parities": ("odd_parities",),
    "projective": ("projective_sums",),
    "sums": ("row_sums", "weighted_sum", "stratified", "strata_variance", "expected_weights"),
    "cells": ("expected_cells",),
}
COMPILED = MappingProxyType({name: key for key, names in _MODULES.items() for name in names})

__all__ = list(COMPILED)

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


def replaced(*names: str) -> bool:
    """Whether another engine counts under one of these names; it divides its work itself."""
    return not _engine.get().keys().isdisjoint(names)


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


def column_counts_by(rows: NDArray[np.uint8], group: NDArray[Any], groups: int) -> Counts:
    """One row of counts of set bits per group; a group out of range is refused."""
    _same_length(group, rows)
    width = rows.shape[1]
    counts = np.zeros((groups, (width + 7) // 8 * 64), np.int64)  # the kernel adds whole words
    bad = kernel("column_counts_by")(rows, group, counts)
    if bad >= 0:
        raise _outside("a report is of group", group[bad], groups)
    return counts[:, : 8 * width]


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


def _pass_on(name: str) -> Callable[..., Any]:
    """A function that hands its arguments to the kernel of this name, which is documented there."""

    def run(*arguments: Any) -> Any:
        return kernel(name)(*arguments)

    return run


column_counts: Callable[[NDArray[np.uint8]], Counts] = _pass_on("column_counts")
hash_support: Callable[..., None] = _pass_on("hash_support")
hash_support_pairs: Callable[..., None] = _pass_on("hash_support_pairs")
walsh_hadamard: Callable[[NDArray[Any]], None] = _pass_on("walsh_hadamard")
odd_parities: Callable[..., None] = _pass_on("odd_parities")
row_sums: Callable[[Counts], Counts] = _pass_on("row_sums")
weighted_sum: Callable[[Counts, Floats], Floats] = _pass_on("weighted_sum")
stratified: Callable[..., tuple[Floats, Floats]] = _pass_on("stratified")
strata_variance: Callable[..., Floats] = _pass_on("strata_variance")
expected_weights: Callable[..., None] = _pass_on("expected_weights")
expected_cells: Callable[..., None] = _pass_on("expected_cells")


def _outside(subject: str, value: Any, size: int) -> WireError:
    return WireError(f"{subject} {int(value)}; allowed are 0 to {size - 1}")


def _same_length(group: NDArray[Any], items: NDArray[Any]) -> None:
    if len(group) != len(items):
        raise WireError(f"there are {len(items)} reports and {len(group)} groups of them")
