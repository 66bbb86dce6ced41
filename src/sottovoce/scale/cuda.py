"""Counting on a GPU: the kernels of `kernels.count` that gain from one, by CuPy.

Counts are the same integers as on the CPU. Each function takes and gives host arrays, as the
compiled kernels do; those whose copy to the device costs more than the count itself are left out
and stay on the CPU. Reports go to the device in pieces, so that it need not hold them all; a table
that does not fit there is counted on the CPU.

Hash support    every thread keeps 16 values' codes and counters in registers and walks over
                reports in shared memory, which all threads of a warp read at once
Column counts   every thread adds one word column in bytes, eight counters at a time, and widens
                them after 255 rows
Hadamard        one pass over the table for each factor
Cells           a thread per pattern for densities; sums over patterns within a warp for cells
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cache, reduce, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import MissingExtraError, ParameterError
from ..parallel import over_ranges
from .cuda_source import SOURCE

_THREADS = 256
_VALUES = 16  # of one thread, as in the source
_CHUNK = 1 << 16  # reports of one block
_PIECE = 1 << 28  # bytes of reports that are on the device at a time
_MOST_CELLS = 4096  # of a table
_MOST_VALUES = 64  # of an attribute: its bits are one word
_MOST_AXES = 4


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise MissingExtraError.of("cupy", "gpu", "counting on a GPU") from error
    return cupy


def present() -> bool:
    """Whether CuPy is installed and sees a GPU."""
    try:
        return bool(_cupy().cuda.runtime.getDeviceCount())
    except Exception:
        return False


def engine() -> dict[str, Any]:
    """The kernels for `kernels.use`; an error says what is missing.

    Examples
    --------
    >>> from sottovoce import kernels
    >>> from sottovoce.scale import cuda
    >>> if cuda.present():
    ...     with kernels.use(cuda.engine()):
    ...         pass  # everything that is counted here is counted on the GPU
    """
    cupy = _cupy()
    if not present():
        raise ParameterError(
            "CuPy is installed but sees no GPU; check the driver with nvidia-smi, or leave the "
            "engine out to count on the CPU"
        )
    _module(cupy.cuda.Device().id)
    functions = hash_support, column_counts, walsh_hadamard, expected_cells
    return {function.__name__: _where_it_fits(function) for function in functions}


def _where_it_fits(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or the compiled kernel of its name where the device has too little memory.

    Results are only written once they are complete, so that nothing is counted twice.
    """

    @wraps(function)
    def count(*arrays: Any) -> Any:
        try:
            return function(*arrays)
        except _cupy().cuda.memory.OutOfMemoryError:
            with kernels.use({}):
                return kernels.count.kernel(function.__name__)(*arrays)

    return count


@cache
def _module(device: int) -> Any:
    """The kernels, compiled once for each device."""
    return _cupy().RawModule(code=SOURCE, options=("--std=c++14",))


def _kernel(name: str) -> Any:
    return _module(_cupy().cuda.Device().id).get_function(name)


def hash_support(
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    codes: NDArray[np.uint32],
    mask: np.uint32,
    width: np.uint32,
    counts: NDArray[np.int64],
) -> None:
    """counts[v] += how many i have ((a[i] codes[v] + b[i]) & mask) < width."""
    if not a.size or not codes.size:
        return
    cupy = _cupy()
    added = cupy.zeros(codes.size, cupy.uint64)
    values = cupy.asarray(np.ascontiguousarray(codes, np.uint32))
    for piece in _pieces(a.size, a.itemsize + b.itemsize):
        many = piece.stop - piece.start
        grid = (-(-codes.size // (_THREADS * _VALUES)), -(-many // _CHUNK))
        arguments = (
            *(cupy.asarray(np.ascontiguousarray(x[piece], np.uint32)) for x in (a, b)), values,
            np.uint32(mask), np.uint32(width), np.int64(many), np.int32(_CHUNK),
            np.int32(codes.size), added,
        )  # fmt: skip
        _kernel("hash_support")(grid, (_THREADS,), arguments)
    counts += added.get().astype(np.int64)


def _pieces(rows: int, width: int) -> list[slice]:
    """Rows that are copied to the device together."""
    step = max(1, _PIECE // width)
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def column_counts(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many rows have each bit set, 8 counts per column of bytes."""
    many, width = rows.shape
    if not rows.size:
        return np.zeros(8 * width, np.int64)
    cupy = _cupy()
    words = -(-width // 4)
    counts = cupy.zeros(32 * words, cupy.uint64)
    chunk, lanes = 1024, 8
    for piece in _pieces(many, width):
        device = cupy.asarray(np.ascontiguousarray(rows[piece]))
        if width % 4:
            padded = cupy.zeros((len(device), 4 * words), cupy.uint8)
            padded[:, :width] = device
            device = padded
        grid = (-(-words // 32), -(-len(device) // (chunk * lanes)))
        arguments = (device, np.int64(len(device)), np.int32(words), np.int32(chunk), counts)
        _kernel("column_counts")(grid, (32, lanes), arguments)
    return np.asarray(counts.get()[: 8 * width].astype(np.int64))


def walsh_hadamard(table: NDArray[Any]) -> None:
    """Transform every row of an int64 table in place; the row length is a power of two."""
    cupy = _cupy()
    device = cupy.asarray(np.ascontiguousarray(table, np.int64))
    pairs, half = device.size // 2, 1
    while half < table.shape[1]:
        grid = (-(-pairs // _THREADS),)
        _kernel("butterfly")(grid, (_THREADS,), (device, np.int64(pairs), np.int32(half)))
        half *= 2
    table[...] = device.get()


def expected_cells(
    codes: NDArray[np.uint8],
    change: NDArray[np.int64],
    law: NDArray[np.int32],
    laws: NDArray[np.float64],
    sizes: NDArray[np.int64],
    p: NDArray[np.float64],
    counts: NDArray[np.float64],
    back: NDArray[np.float64],
    densities: NDArray[np.float64],
    begin: int,
    end: int,
) -> None:
    """One expectation step over the cells of a table; see the compiled kernel of this name."""
    axes, (many, cells) = len(sizes), p.shape
    memory = 8 * cells + 4 * cells * axes
    small = cells <= _MOST_CELLS and axes <= _MOST_AXES and int(sizes.max()) <= _MOST_VALUES
    whole = len(law) > 0 and (begin, end) == (0, len(law))
    if not (small and whole and memory <= _shared_memory(_cupy().cuda.Device().id)):
        from ..kernels.count.cells import expected_cells as on_the_cpu

        def some(part: slice) -> NDArray[np.float64]:
            own, limits = np.zeros_like(back), (begin + part.start, begin + part.stop)
            on_the_cpu(codes, change, law, laws, sizes, p, counts, own, densities, *limits)
            return own

        back += reduce(np.add, over_ranges(some, end - begin, work=(end - begin) * p.size))
        return
    cupy = _cupy()
    packed = _keep(codes, lambda: _pack(codes, sizes))
    which = _keep(law, lambda: np.ascontiguousarray(law, np.int32))
    likely = _keep(laws, lambda: np.ascontiguousarray(laws, np.float64))
    digits = cupy.asarray(np.stack(np.unravel_index(np.arange(cells), sizes), 1).astype(np.int32))
    weight = cupy.asarray(np.ascontiguousarray(counts, np.float64))
    seen, owed = cupy.empty_like(weight), cupy.empty_like(weight)
    table = cupy.asarray(np.ascontiguousarray(p))
    lengths = axes, cells, many, laws.shape[2]
    shape = (np.int64(len(law)), *map(np.int32, lengths))
    blocks = -(-len(law) // _THREADS)
    densities_of, sums_of = _kernel("cell_densities"), _kernel("cell_sums")
    for function in (densities_of, sums_of):
        function.max_dynamic_shared_size_bytes = memory
    first = (packed, which, likely, digits, table, weight, *shape, seen, owed)
    densities_of((blocks,), (_THREADS,), first, shared_mem=memory)
    total = cupy.zeros((many, cells), cupy.float64)
    for f in range(many):
        second = (packed, which, likely, digits, owed, *shape, np.int32(f), total)
        sums_of((min(blocks, 1024),), (_THREADS,), second, shared_mem=memory)
    densities[...] = seen.get()
    back += total.get()


@cache
def _shared_memory(device: int) -> int:
    """Bytes that the threads of one block can share: 64 KiB on some devices, 227 on others."""
    return int(_cupy().cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"])


def _pack(codes: NDArray[np.uint8], sizes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The bits of each axis as one word, from codes of four bits."""
    words = np.zeros((len(codes), len(sizes)), np.uint64)
    place = 0
    for a, size in enumerate(sizes.tolist()):
        for k in range(-(-size // 4)):
            words[:, a] |= codes[:, place].astype(np.uint64) << np.uint64(4 * k)
            place += 1
    return words


_copies: dict[int, tuple[weakref.ref[Any], Any]] = {}


def _keep(array: NDArray[Any], made: Any) -> Any:
    """A copy on the device, kept as long as the array lives: patterns never change."""
    known = _copies.get(id(array))
    if known is not None and known[0]() is array:
        return known[1]
    copy = _cupy().asarray(made())
    key = id(array)
    _copies[key] = weakref.ref(array, lambda _: _copies.pop(key, None)), copy
    return copy
