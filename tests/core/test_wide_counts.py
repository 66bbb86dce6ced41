"""Kernels that count and transform in wide vectors: the same integers as the plain sums."""

import numpy as np
import pytest
from scipy.linalg import hadamard

import sottovoce as sv
from sottovoce import kernels
from sottovoce.errors import WireError

# Rows that fill a vector, a word or neither, that are cut into strips, and too few for a vector.
SHAPES = [
    (0, 3), (1, 1), (17, 1), (5_000, 1), (66_000, 2), (9_000, 3), (2_100, 9), (4_200, 16),
    (700, 24), (1_000, 125), (3_000, 129), (300, 1_025), (40, 2_048),
]  # fmt: skip


def rows_of(n, width):
    words = np.random.default_rng(n * width).integers(0, 1 << 64, n * width // 8 + 1, np.uint64)
    return words.view(np.uint8)[: n * width].reshape(n, width)


@pytest.mark.parametrize(("n", "width"), SHAPES)
def test_column_counts_are_sums_of_bits(n, width):
    rows = rows_of(n, width)
    sums = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    assert np.array_equal(kernels.count.column_counts(rows), sums)


@pytest.mark.parametrize("words", range(8))
@pytest.mark.parametrize(("n", "width"), [(3, 8), (9, 8), (600, 16), (100, 64), (50, 128), (2, 64)])
def test_rows_may_begin_anywhere_in_a_line_of_the_cache(n, width, words):
    every = rows_of(1, 8 * 8 + n * width + 64)[0]
    start = -every.ctypes.data % 64 + 8 * words
    rows = every[start : start + n * width].reshape(n, width)
    sums = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    assert np.array_equal(kernels.count.column_counts(rows), sums)


def test_planes_do_not_overflow_where_every_bit_is_set():
    n = 2 * 16 * 256 * 4 + 5  # more than two full sets of planes of four rows side by side
    rows = np.full((n, 16), 255, np.uint8)
    assert (kernels.count.column_counts(rows) == n).all()


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64, 512, 4_096, 8_192])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_the_transform_is_the_product_with_the_matrix(size, kind):
    table = np.random.default_rng(size).integers(0, 1_000, (3, size)).astype(kind)
    left = 1 << (size.bit_length() // 2)  # the matrix is a Kronecker product of smaller ones
    parts = table.reshape(3, left, size // left) if size > 1 else table[:, None]
    outer, inner = (hadamard(side).astype(kind) for side in parts.shape[1:])
    expected = (outer @ parts @ inner).reshape(3, size)
    kernels.count.walsh_hadamard(table)
    assert np.array_equal(table, expected)


@pytest.mark.parametrize(
    ("d", "epsilon"),
    # One block, two, four and more, with all columns, half of them or some without a value.
    [(2, 1.0), (4, 6.0), (5, 1.0), (1_000, 2.0), (1_023, 4.0), (1_024, 4.0), (3_000, 0.5)]
    + [(d, epsilon) for d in (63, 64, 65, 66, 127, 129) for epsilon in (0.5, 1.0, 2.0, 3.0, 10.0)],
)
def test_many_groups_of_hadamard_response_are_estimated_like_each(d, epsilon):
    mechanism = sv.HadamardResponse(d, epsilon=epsilon)
    generator = np.random.default_rng(d)
    counts = generator.integers(0, 50, (4, mechanism.cells))
    n = counts.sum(axis=1)
    rows = mechanism.debias_rows(counts, n)
    each = [mechanism.debias(row, int(many)) for row, many in zip(counts, n, strict=True)]
    assert np.allclose(rows, each, rtol=1e-12, atol=0)
    noise = mechanism.variance_rows(rows)
    assert np.allclose(noise, _noise(mechanism, rows), rtol=1e-12)


def _noise(mechanism, rows):
    """The same noise, block by block: κ² P(block of v) − f_v, with f made a distribution."""
    own, other = mechanism._in_block
    block = np.arange(rows.shape[1]) % mechanism.blocks
    sums = np.stack([rows[:, block == k].sum(axis=1) for k in range(mechanism.blocks)], axis=1)
    positive = np.maximum(sums, 0)
    positive += ~positive.any(axis=1, keepdims=True)  # all alike where none is above 0
    part = positive / positive.sum(axis=1, keepdims=True)
    part = part[:, block]
    square = (part * own + (1 - part) * other) / float(mechanism._gap) ** 2
    return square - np.clip(rows, 0, part)


def test_large_tables_are_counted_exactly_and_a_value_beyond_them_is_found():
    size = 70_000
    values = np.random.default_rng(1).integers(0, size, 200_000).astype(np.uint32)
    assert np.array_equal(
        kernels.count.histogram(values, size), np.bincount(values, minlength=size)
    )
    values[150_001] = size
    with pytest.raises(WireError, match=f"{size}"):
        kernels.count.histogram(values, size)
