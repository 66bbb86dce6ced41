"""The first use after an installation: what is small is not compiled, and nothing else differs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import kernels, testing
from sottovoce.collect import counting
from sottovoce.kernels import compiling
from sottovoce.mechanisms import REGISTRY
from tests.laws.entries import example
from tests.samplers.crafted import ALL, Scripted, seldom

ASK = """
import sys
import numpy as np
import sottovoce as sv
answers = ["car"] * 5_200 + ["train"] * 2_900 + ["bike"] * 1_300 + ["foot"] * 600
modes = ["car", "train", "bike", "foot"]
print(sv.ask(answers, values=modes, epsilon=1.0))
sv.ask(np.arange(5_000) % 20, values=20, epsilon=1.0)
sv.ask(np.arange(5_000) % 90, values=sv.Range("age", 0, 90), epsilon=1.0)
levels = np.where(np.arange(10_000) % 2, "strong", "weak")
sv.ask(answers, values=modes, levels={"strong": 0.5, "weak": 2.0}, level=levels)
sv.ask(np.arange(10_000), values=1_000_000, epsilon=1.0)
many = np.arange(1_000_000)
sv.ask(many % 4, values=4, epsilon=1.0)
sv.ask(many % 90, values=sv.Range("age", 0, 90), epsilon=1.0)
levels = np.where(many % 2, "strong", "weak")
sv.ask(many % 4, values=4, levels={"strong": 0.5, "weak": 2.0}, level=levels)
bits = sv.OUE(100, epsilon=1.0)
bits.estimate(bits.aggregate(bits.randomise(many % 100)))
print("numba" in sys.modules)
"""

each = pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)


def test_asking_few_people_or_a_simple_question_compiles_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK],
        capture_output=True,
        text=True,
        check=False,
        env={"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(sv.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False"
    assert not list(tmp_path.iterdir())


@each
def test_every_mechanism_gives_the_same_bits_both_ways(kind: type, both_ways: list[str]) -> None:
    collection = example(kind)
    rng = np.random.default_rng(1)
    codes = rng.integers(0, collection.domain.size, 700)
    answers = np.array([collection.domain.labels[k] for k in codes])
    if isinstance(collection.domain, sv.Range):
        low, *_, high = collection.domain.edges
        answers = rng.uniform(low, high, 700)
    with testing.seeded(3) as source:
        collection.aggregate(collection.randomise(answers, source=source))
    assert both_ways


@pytest.mark.parametrize("size", [2, 3, 300])
@pytest.mark.parametrize("kind", [sv.GRR, sv.OUE, sv.SubsetSelection, sv.HadamardResponse])
def test_the_same_with_words_that_tie_or_are_drawn_again(kind, size, both_ways) -> None:
    mechanism = kind(size, epsilon=1.5)
    rng = np.random.default_rng(size)
    special = [0, 1, ALL, ALL - 1, 1 << 63, 1 << 32, (1 << 32) - 1, (1 << 31) - 1]
    coins = (
        [mechanism.inside.fraction] if kind is sv.HadamardResponse else [mechanism.p, mechanism.q]
    )
    for probability in coins:
        top = int(probability * (1 << 64))
        special += [top, top & ~0xFFFFF, top >> 32, top >> 32 << 32]
    source = Scripted(lambda _, count: seldom(rng, count, special, 0.3))
    with testing.seeded(0):
        mechanism.aggregate(mechanism.randomise(rng.integers(0, size, 300), source=source))
    assert len(set(both_ways)) >= 2


def test_counts_codes_and_sums_are_the_same_both_ways(both_ways: list[str]) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, 100, 999).astype(np.uint8)
    group = rng.integers(0, 9, 999).astype(np.uint16)
    kernels.count.histogram(values, 100)
    kernels.count.histogram_by(group, values, 9, 100)
    for dtype in (np.int64, np.uint64):
        for wide in (values.astype(dtype), np.full(2, np.iinfo(dtype).max)):
            kernels.draw.narrow(wide, 50, np.empty(wide.size, np.uint8))
    keys = np.arange(100, dtype=np.uint64)[::-1].copy()
    kernels.draw.positions(values.astype(np.uint64), keys, np.empty(999, np.int64))
    for width, groups in ((1, 2), (9, 3), (40, 60)):
        rows = rng.integers(0, 256, (999, width), np.uint8)
        kernels.count.column_counts(rows)
        kernels.count.column_counts_by(rows, group % np.uint16(groups), groups)
    table = rng.integers(-(1 << 40), 1 << 40, (3, 64))
    kernels.count.row_sums(table)
    kernels.count.walsh_hadamard(table)
    kernels.count.weighted_sum(table, rng.random(3))
    floats = [rng.random(shape) for shape in ((2, 4), (5, 3), (5, 3), (5, 3), (5, 3))]
    kernels.count.stratified(table.reshape(1, 3, 64).repeat(5, 0), *floats)
    assert len(set(both_ways)) == 10


def test_a_kernel_that_differs_is_noticed(both_ways: list[str]) -> None:
    @compiling.compiled
    def next_codes(codes, out):
        for i in range(codes.size):
            out[i] = codes[i] + 1  # 8 bits for numpy, 64 for the compiler

    with pytest.raises(AssertionError):
        next_codes(np.full(3, 255, np.uint8), np.zeros(3, np.int64))


def test_a_loop_that_cannot_be_taken_as_a_whole_is_noticed(both_ways: list[str]) -> None:
    @compiling.compiled(interpreted="whole")
    def running_totals(values, out):
        total = np.int64(0)
        for i in range(values.size):
            total += values[i]  # numpy sees each value alone
            out[i] = total

    with pytest.raises(AssertionError):
        running_totals(np.arange(5), np.zeros(5, np.int64))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(compiling, "_interpreting", True)
    monkeypatch.setattr(compiling, "_few_items", True)
    return []


def noting(calls: list[str], module: str = "kernels.count", **options: Any) -> compiling.Kernel:
    """A kernel that writes down how it is run."""

    def make(function):
        calls.append("compiled")
        return lambda *arguments: "by machine"

    def by_hand(*arguments):
        return "by hand"

    by_hand.__module__ = module
    return compiling.Kernel(by_hand, make, **options)


def test_a_large_input_is_compiled_and_then_everything(calls: list[str]) -> None:
    kernel = noting(calls)
    assert kernel(np.zeros(10), 3) == "by hand"
    assert kernel(np.zeros(1 << 17), 3) == "by machine"
    assert kernel(np.zeros(10), 3) == "by machine"
    assert calls == ["compiled"]


@pytest.mark.parametrize("way", ["whole", "blocks", lambda *arguments: "by numpy"])
def test_what_numpy_does_at_once_is_compiled_later(calls: list[str], way: Any) -> None:
    kernel, slower = noting(calls, interpreted=way), noting(calls, module="kernels.draw.bits")
    compiling.expect(1 << 20)
    assert slower(np.zeros(10)) == "by machine"
    assert noting(calls)(np.zeros(10)) == "by hand"
    assert kernel(np.zeros(1 << 20)) != "by machine"
    assert kernel(np.zeros(1 << 22)) == "by machine"
    compiling.expect(1 << 24)
    assert noting(calls, interpreted=way)(np.zeros(10)) == "by machine"


def test_large_files_are_counted_by_machine_code_at_once(
    calls: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    m = sv.GRR(4, epsilon=1.0)
    path = tmp_path / "reports.svr"
    path.write_bytes(m.randomise(np.zeros(1000, int)).to_bytes())
    for most, interpreted in ((1 << 24, True), (100, False)):
        monkeypatch.setattr(counting, "_AT_ONCE", most)
        assert counting.count_files([path], m).aggregate.reports == 1000
        assert compiling._interpreting is interpreted


def test_some_kernels_are_always_compiled(calls: list[str]) -> None:
    assert noting(calls, interpreted=False)(np.zeros(1)) == "by machine"


def test_waiting_has_an_end(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.arange(0, 9, 0.6).tolist())
    monkeypatch.setattr(compiling, "thread_time", lambda: next(clock))
    kernel = noting(calls)
    answers = [kernel(np.zeros(10)) for _ in range(5)]
    assert answers == ["by hand"] * 3 + ["by machine"] * 2
    assert calls == ["compiled"]


def test_compiling_at_once_leaves_nothing_to_the_interpreter(calls: list[str]) -> None:
    compiling.compile_at_once()
    assert noting(calls)(np.zeros(1)) == "by machine"
