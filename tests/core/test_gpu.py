"""The GPU gives the same integers as the compiled kernels; without one the error says so."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner, Result

import sottovoce as sv
from sottovoce import kernels, parallel, scale
from sottovoce.cli import main
from sottovoce.errors import MissingExtraError, ParameterError
from sottovoce.kernels import count
from sottovoce.mechanisms import REGISTRY
from sottovoce.scale import cuda, engines
from tests.laws.entries import answers, example

gpu = pytest.mark.skipif(not cuda.present(), reason="there is no GPU, or CuPy is not installed")
RNG = np.random.default_rng(1)


@pytest.mark.fast
@pytest.mark.skipif(cuda.present(), reason="there is a GPU")
def test_without_a_gpu_the_error_says_what_is_missing() -> None:
    errors = (MissingExtraError, ParameterError)
    with pytest.raises(errors, match=r"sottovoce\[gpu\]|no GPU"), scale.counting("cuda"):
        pass
    with scale.counting("auto") as chosen:
        assert chosen == "cpu"


@pytest.mark.slow
def test_the_command_line_counts_with_an_engine(tmp_path) -> None:
    mechanism = sv.OLH(sv.Attribute("q", 50), epsilon=1.0)
    study = sv.Study("Q", (mechanism,))
    path, reports = tmp_path / "q.toml", tmp_path / "r.svr"
    path.write_text(study.to_toml())
    reports.write_bytes(study.collection("q").randomise(RNG.integers(0, 50, 400)).to_bytes())

    def counted(engine: str) -> Result:
        words = ["aggregate", str(reports), "--study", str(path), "--engine", engine]
        return CliRunner().invoke(main, [*words, "--out", str(tmp_path / f"{engine}.sva")])

    assert counted("cpu").exit_code == counted("auto").exit_code == 0
    assert (tmp_path / "cpu.sva").read_bytes() == (tmp_path / "auto.sva").read_bytes()
    outcome = counted("cuda")
    if cuda.present():
        assert (tmp_path / "cuda.sva").read_bytes() == (tmp_path / "cpu.sva").read_bytes()
    else:
        assert outcome.exit_code == 1
        assert "GPU" in outcome.stderr


@pytest.mark.fast
def test_unknown_engines_are_refused() -> None:
    with pytest.raises(ParameterError, match="'auto', 'cpu', 'cuda'"), scale.counting("gpu"):
        pass


@pytest.mark.fast
def test_only_large_work_that_pays_goes_to_the_gpu() -> None:
    def never(*_: object) -> None:
        raise AssertionError

    chosen = engines._where_worthwhile(dict.fromkeys(count.COMPILED, never))
    words = np.arange(1, 30_001, 2, np.uint32)
    mask, width = np.uint32(0xFFFFFFFF), np.uint32(1 << 31)
    with kernels.use(chosen):
        for d in (1, 2):
            counts = np.zeros(d, np.int64)
            kernels.count.hash_support(words, words, words[:d], mask, width, counts)
            lines = words[:, None] * words[:d] + words[:, None]
            assert counts.tolist() == (lines < width).sum(axis=0).tolist()
        table = np.array([[1, 2]])
        kernels.count.walsh_hadamard(table)
        assert table.tolist() == [[3, -1]]
    many = np.ones(1 << 17, np.uint32)
    with kernels.use(chosen), pytest.raises(AssertionError):
        kernels.count.hash_support(many, many, many, mask, width, np.zeros(1 << 17, np.int64))
    # Faster on 16 cores, however large: copies take longer than the sums.
    assert chosen.keys().isdisjoint({"walsh_hadamard", "column_counts"})


@pytest.mark.fast
def test_what_a_device_has_no_room_for_is_counted_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class FullError(Exception):
        """What CuPy raises."""

    def walsh_hadamard(table: object) -> None:
        raise FullError

    memory = SimpleNamespace(OutOfMemoryError=FullError)
    monkeypatch.setattr(cuda, "_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(memory=memory)))
    table = np.array([[1, 2]])
    with kernels.use({"walsh_hadamard": cuda._where_it_fits(walsh_hadamard)}):
        kernels.count.walsh_hadamard(table)
    assert table.tolist() == [[3, -1]]


@gpu
@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_every_mechanism_is_counted_alike(kind) -> None:
    mechanism = example(kind)
    reports = mechanism.randomise(answers(mechanism, 3000))
    with scale.counting("cuda"):
        on_gpu = mechanism.aggregate(reports)
    assert on_gpu == mechanism.aggregate(reports)


@gpu
@pytest.mark.parametrize("mechanism", [sv.GRR(50, epsilon=1.0), sv.OUE(64, epsilon=1.0),
                                       sv.OLH(50, epsilon=1.0)], ids=lambda m: m.id)  # fmt: skip
def test_threads_count_with_the_gpu_together(mechanism: sv.Mechanism) -> None:
    reports = mechanism.randomise(RNG.integers(0, 50, 3_000_000))
    with scale.counting("cuda"):
        on_gpu = mechanism.aggregate(reports)
    assert on_gpu == mechanism.aggregate(reports)


@gpu
@pytest.mark.parametrize(("n", "d", "bits"), [(1, 1, 32), (999, 37, 32), (70_001, 4099, 20)])
def test_hash_support(n, d, bits) -> None:
    mask, width = np.uint32((1 << bits) - 1), np.uint32(1 << (bits - 3))
    a, b = (RNG.integers(0, 1 << 32, n, np.uint32) & mask for _ in range(2))
    codes = RNG.integers(0, 1 << (bits - 3), d, np.uint32)
    counts, wanted = np.full(d, 5, np.int64), np.full(d, 5, np.int64)
    kernels.count.hash_support(a, b, codes, mask, width, wanted)
    cuda.hash_support(a, b, codes, mask, width, counts)
    assert np.array_equal(counts, wanted)


@gpu
@pytest.mark.parametrize(("n", "width"), [(1, 1), (1000, 3), (5000, 128), (70_001, 13), (0, 4)])
def test_column_counts(n, width) -> None:
    rows = RNG.integers(0, 256, (n, width), np.uint8)
    wanted = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    assert np.array_equal(cuda.column_counts(rows), wanted)


@gpu
@pytest.mark.parametrize("size", [1, 2, 64, 1 << 15])
def test_walsh_hadamard(size) -> None:
    table = RNG.integers(-(10**6), 10**6, (3, size))
    wanted = table.copy()
    kernels.count.walsh_hadamard(wanted)
    cuda.walsh_hadamard(table)
    assert np.array_equal(table, wanted)


def arrays_of_cells(sizes: tuple[int, ...], n: int) -> list[np.ndarray]:
    """Patterns, their laws and three fits to them, as the step over cells takes them."""
    many = 3
    bits = [min(4, size - k) for size in sizes for k in range(0, size, 4)]
    codes = np.stack([RNG.integers(0, 1 << many_bits, n, np.uint8) for many_bits in bits], axis=1)
    half = 1 << (len(sizes) - 1)
    laws = np.tile(RNG.random((50, 2, half)), max(1, 8 // half))
    law, p = RNG.integers(0, 50, n, np.int32), RNG.random((many, int(np.prod(sizes))))
    counts = RNG.integers(0, 5, (many, n)).astype(float)
    return [codes, np.zeros(n, np.int64), law, laws, np.array(sizes), p, counts]


def same_cells_as_on_the_cpu(sizes: tuple[int, ...], n: int = 700) -> None:
    arrays = arrays_of_cells(sizes, n)
    p, counts = arrays[-2:]
    ours, theirs = ((np.zeros_like(p), np.zeros_like(counts)) for _ in range(2))
    kernels.count.expected_cells(*arrays, *theirs, 0, n)
    cuda.expected_cells(*arrays, *ours, 0, n)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


@gpu
@pytest.mark.parametrize("sizes", [(3,), (2, 4), (8, 8, 8), (5, 3, 2, 4), (70, 2)])
def test_expected_cells(sizes) -> None:
    same_cells_as_on_the_cpu(sizes)


@pytest.mark.parametrize("sizes", [(16, 16, 16), (8, 8, 8, 8), (17, 17, 17), (2, 2, 2, 2, 2)])
def test_tables_that_a_device_cannot_take_are_fitted_on_all_cores(
    sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices differ in how much the threads of a block can share: this one has 64 KiB."""

    def device(number: int = 0) -> SimpleNamespace:
        return SimpleNamespace(id=number, attributes={"MaxSharedMemoryPerBlockOptin": 1 << 16})

    monkeypatch.setattr(cuda, "_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(Device=device)))
    monkeypatch.setenv("SOTTOVOCE_THREADS", "2")
    threads = set()

    def over_ranges(action, size: int, *, work: int) -> list[np.ndarray]:
        def noted(part: slice) -> np.ndarray:
            threads.add(threading.get_ident())
            return action(part)

        return parallel.over_ranges(noted, size, work=100 * work)

    monkeypatch.setattr(cuda, "over_ranges", over_ranges)
    cuda._shared_memory.cache_clear()
    try:
        same_cells_as_on_the_cpu(sizes, 7000)
    finally:
        cuda._shared_memory.cache_clear()
    assert len(threads) == 2


@gpu
def test_reports_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "_PIECE", 1 << 12)
    test_hash_support(70_001, 4099, 20)
    test_column_counts(70_001, 13)
    test_column_counts(3, 5000)


@gpu
def test_what_does_not_fit_on_the_device_is_counted_on_the_cpu() -> None:
    import cupy

    pool = cupy.get_default_memory_pool()
    table = RNG.integers(-(10**6), 10**6, (4, 1 << 18))
    wanted = table.copy()
    kernels.count.walsh_hadamard(wanted)
    pool.free_all_blocks()
    pool.set_limit(size=1 << 20)
    try:
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
            cuda.walsh_hadamard(table.copy())
        with scale.counting("cuda"):
            kernels.count.walsh_hadamard(table)
    finally:
        pool.set_limit(size=0)
    assert np.array_equal(table, wanted)


@gpu
def test_joint_tables_are_the_same() -> None:
    records = sv.Records([sv.Attribute("a", 8), sv.Attribute("b", 8)], epsilon_average=3.0)
    table = {name: RNG.integers(0, 8, 20_000) for name in "ab"}
    aggregate = records.aggregate(records.randomise(table))
    with scale.counting("cuda"):
        on_gpu = records.joint(aggregate, ["a", "b"], method="em-full").values
    from sottovoce.records.joint import fit

    fit._fit.cache_clear()
    np.testing.assert_allclose(
        on_gpu, records.joint(aggregate, ["a", "b"], method="em-full").values, rtol=1e-7
    )
