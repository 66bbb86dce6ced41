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
from functools import cache, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import MissingExtraError, ParameterError

_THREADS = 256
_VALUES = 16  # of one thread, as in the source below
_CHUNK = 1 << 16  # reports of one block
_PIECE = 1 << 28  # bytes of reports that are on the device at a time
_MOST_CELLS = 4096  # whose probabilities fit into shared memory
_MOST_VALUES = 64  # of an attribute: its bits are one word
_MOST_AXES = 4

_SOURCE = r"""
extern "C" {

#define TILE 1024  // reports in shared memory
#define VALUES 16  // of one thread: _VALUES

__global__ void hash_support(const unsigned *a, const unsigned *b, const unsigned *codes,
                             const unsigned mask, const unsigned width, const long long reports,
                             const int chunk, const int values, unsigned long long *counts)
{
    __shared__ uint2 tile[TILE];
    const int first = blockIdx.x * blockDim.x * VALUES + threadIdx.x;
    unsigned c[VALUES], n[VALUES];
    #pragma unroll
    for (int k = 0; k < VALUES; k++) {
        const int v = first + k * blockDim.x;
        c[k] = v < values ? codes[v] : 0;
        n[k] = 0;
    }
    const long long begin = (long long)blockIdx.y * chunk;
    const long long end = begin + chunk < reports ? begin + chunk : reports;
    for (long long start = begin; start < end; start += TILE) {
        const int many = end - start < TILE ? end - start : TILE;
        __syncthreads();
        for (int i = threadIdx.x; i < many; i += blockDim.x)
            tile[i] = make_uint2(a[start + i], b[start + i]);
        __syncthreads();
        if (mask == 0xFFFFFFFFu) {
            #pragma unroll 4
            for (int i = 0; i < many; i++) {
                const uint2 r = tile[i];
                #pragma unroll
                for (int k = 0; k < VALUES; k++) n[k] += (r.x * c[k] + r.y) < width;
            }
        } else {
            #pragma unroll 4
            for (int i = 0; i < many; i++) {
                const uint2 r = tile[i];
                #pragma unroll
                for (int k = 0; k < VALUES; k++) n[k] += ((r.x * c[k] + r.y) & mask) < width;
            }
        }
    }
    #pragma unroll
    for (int k = 0; k < VALUES; k++) {
        const int v = first + k * blockDim.x;
        if (v < values && n[k]) atomicAdd(counts + v, (unsigned long long)n[k]);
    }
}

__global__ void column_counts(const unsigned *rows, const long long many, const int words,
                              const int chunk, unsigned long long *counts)
{
    const int word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= words) return;
    const long long begin = ((long long)blockIdx.y * blockDim.y + threadIdx.y) * chunk;
    const long long end = begin + chunk < many ? begin + chunk : many;
    unsigned total[32];
    #pragma unroll
    for (int j = 0; j < 32; j++) total[j] = 0;
    for (long long start = begin; start < end; start += 255) {
        const long long stop = start + 255 < end ? start + 255 : end;
        unsigned sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (long long i = start; i < stop; i++) {
            const unsigned w = rows[i * words + word];
            #pragma unroll
            for (int j = 0; j < 8; j++) sums[j] += (w >> j) & 0x01010101u;
        }
        #pragma unroll
        for (int j = 0; j < 8; j++)
            #pragma unroll
            for (int byte = 0; byte < 4; byte++)
                total[8 * byte + j] += (sums[j] >> (8 * byte)) & 0xFFu;
    }
    #pragma unroll
    for (int j = 0; j < 32; j++)
        if (total[j]) atomicAdd(counts + 32 * word + j, (unsigned long long)total[j]);
}

__global__ void butterfly(long long *table, const long long pairs, const int half)
{
    const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= pairs) return;
    const long long low = (t / half) * 2 * half + t % half;
    const long long x = table[low], y = table[low + half];
    table[low] = x + y;
    table[low + half] = x - y;
}

__device__ double likelihood(const double *laws, const int law, const int leaf, const int u)
{
    return laws[((long long)law * 2 + (u & 1)) * leaf + (u >> 1)];  // the last axis comes first
}

__global__ void cell_densities(const unsigned long long *bits, const int *law, const double *laws,
                               const int *digits, const double *p, const double *counts,
                               const long long patterns, const int axes, const int cells,
                               const int many, const int leaf, double *densities, double *weights)
{
    extern __shared__ double shared[];
    int *place = (int *)(shared + cells);
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long own[4];
    double likely[16];
    if (i < patterns) {
        for (int a = 0; a < axes; a++) own[a] = bits[i * axes + a];
        for (int u = 0; u < 1 << axes; u++) likely[u] = likelihood(laws, law[i], leaf, u);
    }
    for (int c = threadIdx.x; c < cells * axes; c += blockDim.x) place[c] = digits[c];
    for (int f = 0; f < many; f++) {
        __syncthreads();
        for (int c = threadIdx.x; c < cells; c += blockDim.x)
            shared[c] = p[(long long)f * cells + c];
        __syncthreads();
        if (i >= patterns) continue;
        double density = 0;
        for (int c = 0; c < cells; c++) {
            int u = 0;
            for (int a = 0; a < axes; a++) u = 2 * u + (int)((own[a] >> place[c * axes + a]) & 1);
            density += likely[u] * shared[c];
        }
        density = fmax(density, 1e-300);
        densities[f * patterns + i] = density;
        weights[f * patterns + i] = counts[f * patterns + i] / density;
    }
}

__global__ void cell_sums(const unsigned long long *bits, const int *law, const double *laws,
                          const int *digits, const double *weights, const long long patterns,
                          const int axes, const int cells, const int many, const int leaf,
                          const int f, double *back)
{
    extern __shared__ double sums[];
    int *place = (int *)(sums + cells);
    for (int c = threadIdx.x; c < cells; c += blockDim.x) sums[c] = 0;
    for (int c = threadIdx.x; c < cells * axes; c += blockDim.x) place[c] = digits[c];
    __syncthreads();
    const long long stride = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long rounds = (patterns + stride - 1) / stride;
    for (long long r = 0; r < rounds; r++) {
        const long long i = first + r * stride;
        unsigned long long own[4] = {0, 0, 0, 0};
        double owed[16];
        for (int u = 0; u < 16; u++) owed[u] = 0;
        if (i < patterns) {
            const double weight = weights[f * patterns + i];
            for (int a = 0; a < axes; a++) own[a] = bits[i * axes + a];
            for (int u = 0; u < 1 << axes; u++)
                owed[u] = likelihood(laws, law[i], leaf, u) * weight;
        }
        for (int c = 0; c < cells; c++) {
            int u = 0;
            for (int a = 0; a < axes; a++) u = 2 * u + (int)((own[a] >> place[c * axes + a]) & 1);
            double sum = owed[u];
            for (int offset = 16; offset; offset >>= 1)
                sum += __shfl_down_sync(0xFFFFFFFFu, sum, offset);
            if ((threadIdx.x & 31) == 0) atomicAdd(sums + c, sum);
        }
    }
    __syncthreads();
    for (int c = threadIdx.x; c < cells; c += blockDim.x)
        atomicAdd(back + (long long)f * cells + c, sums[c]);
}

}
"""


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
    return _cupy().RawModule(code=_SOURCE, options=("--std=c++14",))


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
    small = cells <= _MOST_CELLS and axes <= _MOST_AXES and int(sizes.max()) <= _MOST_VALUES
    if not small or not len(law) or (begin, end) != (0, len(law)):
        from ..kernels.count.cells import expected_cells as on_the_cpu

        arrays = codes, change, law, laws, sizes, p, counts, back, densities
        on_the_cpu(*arrays, begin, end)
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
    memory = 8 * cells + 4 * cells * axes
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
