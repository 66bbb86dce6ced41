"""Kernels interpreted and compiled, at the edges of their words: never a different bit."""

from __future__ import annotations

from pkgutil import iter_modules

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import kernels, testing
from sottovoce.domain.values import code_dtype
from sottovoce.kernels import ring
from sottovoce.kernels.count import grouped_bits, histograms, projective
from tests.samplers.crafted import ALL, Scripted, seldom

pytestmark = pytest.mark.usefixtures("both_ways")
rng = np.random.default_rng(8)
EDGES = [0, 1, ALL, ALL - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, 1 << 31, (1 << 31) - 1]


def edge_words(n: int, dtype: type = np.uint64, chance: float = 0.4) -> np.ndarray:
    """Random words, many of which wrap around in the next sum or product."""
    return seldom(rng, n, EDGES, chance).astype(dtype)


@pytest.mark.parametrize("half", [1, 7, 15, 16])
def test_codes_in_two_halves_and_their_hashes(half: int, both_ways: list[str]) -> None:
    positions = (edge_words(200) & np.uint64((1 << 2 * half) - 1)).astype(np.uint32)
    keys, codes = edge_words(4, np.uint32), np.empty((2, 200), np.uint32)
    kernels.draw.pair_codes(positions, keys, half, codes)
    assert codes.max() < 1 << half
    mask, public = np.uint32((1 << 2 * half) - 1), edge_words(256, np.uint32)
    for shift in (0, half, 2 * half - 1):
        words = [edge_words(200, np.uint32) for _ in range(3)]
        out, few = np.empty(200, np.uint32), rng.integers(0, 256, 200).astype(np.uint8)
        kernels.draw.hash_pairs(*words, codes, mask, np.uint32(shift), out)
        kernels.draw.hash_codes(*words[:2], few, public, mask, np.uint32(shift), out)
    assert set(both_ways) == {"pair_codes", "hash_pairs", "hash_codes"}


@pytest.mark.parametrize(("order", "dimension"), [(2, 2), (2, 25), (3, 9), (11, 4), (1009, 2)])
def test_projective_reports(order: int, dimension: int) -> None:
    outputs = (order**dimension - 1) // (order - 1)
    most = min(outputs, 1 << 16)
    top = 0x9E3779B97F4A7C15
    special = [*EDGES, top, top >> 32 << 32, (top >> 32 << 32) | 0xFFFFFFFF, top & 0xFFFFFFFF]
    for upper, lower in ((top, 5), (ALL, ALL), (0, 1), (1 << 63, 0)):
        words = seldom(rng, 400, special, 0.5)
        codes = rng.integers(0, most, 400).astype(np.uint16)
        codes[:2] = 0, most - 1
        for size in (40, 4000):
            extra, out = seldom(rng, size, special, 0.5), np.zeros(400, np.uint32)
            done, _ = kernels.draw.projective_response(
                words, codes, order, dimension, np.uint64(upper), np.uint64(lower), out, extra, 0
            )
            assert (out[:done] < outputs).all()


@pytest.mark.parametrize(
    ("order", "dimension"), [(2, 2), (2, 12), (3, 7), (5, 4), (11, 3), (31, 2), (499, 2)]
)
def test_projective_sums(order: int, dimension: int, both_ways: list[str]) -> None:
    outputs = (order**dimension - 1) // (order - 1)
    for size in {1, 2, outputs // 2, outputs}:
        for columns in (1, 3):
            counts = rng.integers(0, 1 << 40, (outputs, columns))
            kernels.count.projective_sums(counts & 255, order, dimension, size)
            kernels.count.projective_sums(counts - (1 << 39), order, dimension, size)
            floats = counts * 10.0 ** rng.integers(-9, 9, counts.shape)
            kernels.count.projective_sums(-floats, order, dimension, size)
    assert set(both_ways) == {"projective_sums"}


def test_projective_sums_too_many_for_numpy_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    code = projective.projective_sums.code
    monkeypatch.setattr(projective.projective_sums, "machine", lambda *a: calls.append(code(*a)))
    monkeypatch.setattr(projective, "_MOST_ADDITIONS", 5 * 6)
    for columns, compiled in ((1, 0), (2, 1)):
        sums = np.zeros((6, columns), np.int64)
        projective.projective_sums.interpret(np.ones((6, columns), np.int64), 5, 2, sums)
        assert (sums == 1).all()
        assert len(calls) == compiled


@pytest.mark.parametrize("kind", [sv.Duchi, sv.Piecewise, sv.Hybrid])
def test_numbers_outside_and_at_the_bounds(kind: type) -> None:
    for low, high in ((-1.0, 1.0), (0.0, 1e-60), (-4e59, 5e59)):
        mechanism = kind((low, high), epsilon=1.5)
        inside = np.array([low, high, np.nextafter(low, high), low / 2 + high / 2] * 50)
        source = Scripted(lambda _, count: seldom(rng, count, EDGES, 0.4))
        with testing.seeded(0):
            mechanism.randomise(inside, source=source)
            for wrong in (np.nan, np.inf, -np.inf, -1.7e308, 1.7e308):
                with pytest.raises(sv.errors.AnswerError):
                    mechanism.randomise(np.array([low, wrong]), source=source)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_rings(dtype: type, both_ways: list[str]) -> None:
    left = edge_words(60, dtype).reshape(20, 3)
    right = edge_words(100, dtype).reshape(20, 5)
    codes = rng.integers(-2, 7, 20)
    ring.matrix_product_codes(left, codes, edge_words(15, dtype).reshape(5, 3))
    ring.row_product(left, right, edge_words(300, dtype).reshape(20, 15))
    ring.row_product_codes(left, codes, 5, edge_words(300, dtype).reshape(20, 15))
    ring.hide_codes(codes, right.copy())
    assert len(set(both_ways)) == 4


def test_zeros_and_ones(both_ways: list[str]) -> None:
    for n in (0, 1, 255, 256, 65_535, 65_536):
        for values in (np.zeros(n, np.uint8), np.ones(n, np.uint8), np.full(n, 255, np.uint8)):
            histograms.zeros_and_ones(values, np.zeros(2, np.int64))
        if n:
            values[:] = 1
            values[-1] = 2
            assert not histograms.zeros_and_ones(values, np.zeros(2, np.int64))
    assert set(both_ways) == {"zeros_and_ones"}


def test_values_out_of_range() -> None:
    for wrong in (-(1 << 63), -1, (1 << 63) - 1, 100):
        values, group = np.array([3, 99, wrong, 5]), np.array([0, 1, 1, 0])
        histograms.histogram(values, np.zeros(100, np.int64))
        histograms.histogram_by(group, values, np.zeros((2, 100), np.int64))
        histograms.histogram_by(values, group, np.zeros((100, 2), np.int64))


@pytest.mark.parametrize("groups", [1, 3, 200])
def test_counters_that_are_emptied_in_between(groups: int) -> None:
    rows = np.full((2100, 8), 255, np.uint8)
    group = (np.arange(2100) % groups).astype(np.uint16)
    group[:600] = 0
    counts = np.zeros((groups, 64), np.int64)
    assert grouped_bits.column_counts_by(rows, group, counts) == -1
    assert (counts == np.bincount(group, minlength=groups)[:, None]).all()


def test_floats_are_rounded_alike(both_ways: list[str]) -> None:
    for scale in (1e-8, 1.0, 1e8):
        counts = rng.integers(0, 10**6, (9, 2, 33))
        laws = rng.random((3, 4)) + 0.1
        reports, weights = rng.integers(1, 10**6, (9, 2)), scale * rng.random((9, 2))
        terms = rng.normal(size=(2, 9, 2))
        kernels.count.stratified(counts, laws, reports, weights, *terms)
        tables = scale * rng.normal(size=(3, 5, 40))
        tables[0, 0, :3] = np.nan, np.inf, -0.0
        kernels.count.strata_variance(*tables, *rng.normal(size=(2, 5)))
        wide = rng.integers(-(1 << 62), 1 << 62, (5, 64))
        for size in (32, 40):  # up to half a block, and beyond
            kernels.count.hadamard_values(wide, 4, scale * rng.random(5), size)
        kernels.count.weighted_sum(wide, scale * rng.normal(size=5))
        kernels.count.row_sums(wide)
        for blocks in (1, 4):
            for gap in rng.random(400).tolist():
                kernels.count.block_noise(tables[1, :1], blocks, 0.7, 0.2, gap)
    names = {"stratified", "strata_variance", "hadamard_values", "weighted_sum", "row_sums"}
    assert set(both_ways) == {*names, "block_noise"}


def test_transforms_of_every_length() -> None:
    for length in (1, 2, 4, 8, 16, 8192):
        for dtype in (np.int64, np.float64):
            table = edge_words(2 * length).astype(dtype).reshape(2, length)
            kernels.count.walsh_hadamard(table)


@pytest.mark.parametrize("planes", [1, 9, 64])
@pytest.mark.parametrize("reserve", [0, 127, 128, 200, 5000])
def test_ties_until_the_reserve_is_empty(planes: int, reserve: int, both_ways: list[str]) -> None:
    upper, lower = edge_words(2, chance=0.0)
    close = np.where(upper >> np.uint64(63 - np.arange(planes)[:, None]) & np.uint64(1), ALL, 0)
    words = close.astype(np.uint64) ^ (edge_words(planes * 40) & edge_words(planes * 40)).reshape(
        planes, 40
    )
    out, ties = np.empty(40, np.uint64), np.empty(40, np.uint64)
    extra = edge_words(reserve, chance=0.0)
    done, used = kernels.draw.bernoulli(
        words.ravel(), planes, upper, lower, out, ties, extra, min(1, reserve)
    )
    while done < 40:
        done, used = kernels.draw.settle(
            out, ties, planes, upper, lower, done, edge_words(300, chance=0.001), 0
        )
    assert used <= max(300, reserve)
    assert "bernoulli" in both_ways


@pytest.mark.parametrize("parts", [1, 3, 1 << 20, 1 << 40])
def test_urns(parts: int) -> None:
    balls = np.array([0, 1, 5000, 3, 1 << 20])
    hits, done = np.zeros(5, np.int64), np.zeros(5, np.int64)
    urns = 0
    for _ in range(4):
        extra = edge_words(3000)
        urns, used = kernels.draw.fill_urns(balls, parts, hits, done, urns, extra, 0)
        assert used <= extra.size
    assert (hits <= done).all()


@pytest.mark.parametrize("size", [2, 9, 64, 70, 1000])
def test_subsets_and_their_truth(size: int) -> None:
    width = (size + 7) // 8
    codes = rng.integers(0, size, 64).astype(code_dtype(size))
    for least, most in ((0, 1), (255, 256), (0, 256)):
        rows = rng.integers(least, most, (64, width), np.uint8)
        mask = np.uint8(255 >> (8 * width - size))
        truth = rng.integers(0, 256, 8, np.uint8)
        kernels.draw.place_truth(rows, codes, truth, mask)
        start = 0
        for _ in range(3):
            start, _ = kernels.draw.resize_subsets(
                rows, codes, truth, size, size // 2, start, edge_words(500), 0
            )


@pytest.mark.parametrize("size", [2, 6, 8, 16])
def test_subsets_of_few_values(size: int) -> None:
    codes = rng.integers(0, size, 3000).astype(code_dtype(size))
    table = rng.integers(0, 1 << (size - 1), (2, 1 + 37 * size)).astype(np.uint16)
    out = np.zeros(3000, code_dtype(1 << size))
    for upper in (0, 1 << 31, 1 << 63):
        kernels.draw.small_subsets(
            edge_words(3000), codes, table, np.uint64(upper), np.uint64(9), out, edge_words(900), 0
        )


def test_no_kernel_hides_behind_a_module_of_its_name() -> None:
    """Importing a submodule puts it into the package, under whatever name it has."""
    modules = {module.name for module in iter_modules(kernels.draw.__path__)}
    assert modules.isdisjoint(kernels.draw.__all__)
