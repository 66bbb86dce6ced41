"""Large inputs are randomised and counted by several threads, with randomness of their own."""

from __future__ import annotations

import _ctypes
import ctypes
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce import kernels, keystream, parallel, randomness
from sottovoce.errors import AnswerError
from sottovoce.mechanisms import REGISTRY
from sottovoce.randomness import SYSTEM, Draws, Keystream, SystemSource
from sottovoce.testing import SeededSource, seeded

from ..laws.entries import answers, example
from .budget import RejectedError, joined, judge, spend
from .statistics import fit

THREADS = CASES = (1, 2, 3)
FIELDS = sv.Schema([sv.Attribute("sex", ["m", "f"]), sv.Attribute("age", 5)])


def divide(monkeypatch, threads: int) -> None:
    monkeypatch.setenv("SOTTOVOCE_THREADS", str(threads))
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1000)
    monkeypatch.setattr("sottovoce.contract.collection.WORTH_A_THREAD", 1000)


def share_a_keystream(monkeypatch) -> None:
    """The fault: every thread starts the same stream."""
    monkeypatch.setattr(SystemSource, "draws", lambda self: Draws(SeededSource(1)))


@pytest.mark.skipif(not keystream._works(), reason="this Python's OpenSSL cannot be reached")
def test_the_free_keystream_is_that_of_the_library() -> None:
    for sizes in ((16,), (48, 512), (5008, 16, 1_100_000), (31,)):
        key = os.urandom(16)
        free, library = keystream.FreeKeystream(key), Keystream(key)
        for size in sizes:
            a, b = np.zeros(size, np.uint8), np.ones(size, np.uint8)
            free.fill(a.data)
            library.fill(b.data)
            assert a.tobytes() == b.tobytes()


@pytest.mark.skipif(not keystream._works(), reason="this Python's OpenSSL cannot be reached")
def test_only_drawing_gives_the_interpreter_to_others() -> None:
    """Whatever takes a lock of OpenSSL keeps the interpreter, so that no thread forks meanwhile."""
    library = keystream._openssl()
    functions = [f for f in vars(library).values() if isinstance(f, ctypes._CFuncPtr)]
    free = [f.__name__ for f in functions if not f._flags_ & _ctypes.FUNCFLAG_PYTHONAPI]
    assert len(functions) >= 5
    assert free == ["EVP_EncryptUpdate"]


@pytest.mark.parametrize("wrong", [None, bytes(16)])
def test_where_openssl_is_missing_or_wrong_the_library_draws(monkeypatch, wrong) -> None:
    def cannot(self, key: bytes) -> None:
        if wrong is None:
            raise OSError("no such library")

    monkeypatch.setattr(keystream.FreeKeystream, "__init__", cannot)
    monkeypatch.setattr(keystream.FreeKeystream, "fill", lambda self, target: None)
    keystream._works.cache_clear()
    try:
        draws = SYSTEM.draws()
        draws.fill(np.zeros(1000, np.uint64))
        assert isinstance(draws._source._stream, Keystream)
    finally:
        keystream._works.cache_clear()


# --- draws in threads -----------------------------------------------------------------------------


def halves(n: int = 300_000) -> float:
    """p-value of reports against their law, and of pairs from different threads' people."""
    tests = []
    for mechanism in (sv.GRR(2, epsilon=0.5), sv.Duchi((0, 1), epsilon=0.5)):
        column = "value" if mechanism.id == "grr" else "cell"
        bits = mechanism.randomise(np.zeros(n, np.int64)).columns[column].astype(np.int64)
        low = float(mechanism.channel().exact[0][1])
        tests.append(fit(np.bincount(bits, minlength=2), [1 - low, low]))
        for parts in (2, 3):
            size = n // parts
            pairs = np.bincount(2 * bits[:size] + bits[size : 2 * size], minlength=4)
            law = [(1 - low) ** 2, (1 - low) * low, low * (1 - low), low * low]
            tests.append(fit(pairs, law))
    return joined(tests)


@pytest.mark.parametrize("threads", THREADS)
def test_reports_of_different_threads_are_independent(threads: int, monkeypatch) -> None:
    divide(monkeypatch, threads)
    spend("threads", str(threads), halves())


@pytest.mark.parametrize("threads", [2, 3])
def test_two_threads_with_one_keystream_are_noticed(threads: int, monkeypatch) -> None:
    divide(monkeypatch, threads)
    share_a_keystream(monkeypatch)
    with pytest.raises(RejectedError):
        judge(halves())


def drawn_blocks(monkeypatch, action) -> tuple[np.ndarray, int]:
    """All blocks of keystream that an action draws, and how many streams there were."""
    blocks: list[bytes] = []
    streams: list[Draws] = []
    real = Draws.__init__

    def watched(self, source) -> None:
        streams.append(self)

        class Watched(randomness.Source):
            def _fill(self, target: memoryview) -> None:
                source._fill(target)
                blocks.append(bytes(target)[: len(target) // 16 * 16])

        real(self, Watched())

    with monkeypatch.context() as patch:
        patch.setattr(Draws, "__init__", watched)
        action()
    return np.frombuffer(b"".join(blocks), "V16"), len(streams)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_no_two_threads_draw_the_same_bytes(name: str, monkeypatch) -> None:
    divide(monkeypatch, 3)
    mechanism = example(REGISTRY[name], 1.0, 20)
    values = answers(mechanism, 30_000)
    blocks, _ = drawn_blocks(monkeypatch, lambda: mechanism.randomise(values))
    assert blocks.size > 1000
    assert np.unique(blocks).size == blocks.size


@pytest.mark.parametrize("kind", [sv.GRR, sv.Piecewise, sv.Hybrid])
def test_the_same_bytes_would_be_noticed(kind, monkeypatch) -> None:
    divide(monkeypatch, 3)
    mechanism = example(kind, 1.0, 20)
    values = answers(mechanism, 30_000)
    share_a_keystream(monkeypatch)
    blocks, streams = drawn_blocks(monkeypatch, lambda: mechanism.randomise(values))
    assert streams >= 3
    assert np.unique(blocks).size < blocks.size


FORK = """
import hashlib, os
import numpy as np
import sottovoce as sv
from sottovoce import parallel
parallel.WORTH_A_THREAD = 1000
mechanism = sv.GRR(50, epsilon=0.1)
answers = np.zeros(20_000, np.int64)
def release():
    reports = mechanism.randomise(answers)
    mechanism.aggregate(reports)
    values = reports.columns["value"]
    return " ".join(hashlib.sha256(part).hexdigest() for part in np.split(values, 2)) + "\\n"
release()  # whatever a call leaves behind exists before the fork
read, write = os.pipe()
for _ in range(3):
    child = os.fork()
    if child == 0:
        os.write(write, release().encode())
        os._exit(0)
    os.write(write, release().encode())
    os.waitpid(child, 0)
print(os.read(read, 1 << 16).decode())
"""


def test_forked_children_use_threads_of_their_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "SOTTOVOCE_THREADS": "2"},
    )
    digests = done.stdout.split()
    assert len(digests) == 12
    assert len(set(digests)) == 12


WITHOUT_LOCKS = """
import os, sys, threading, time
import numpy as np
from sottovoce.kernels import compiling
if "no locks" in sys.argv:
    compiling._hold_locks.__code__ = (lambda: None).__code__
    compiling._give_locks_back.__code__ = (lambda: None).__code__
"""

COMPILING = """
import sottovoce as sv
compiling.compile_at_once()
answers = np.arange(1000) % 100
def release(kind):
    mechanism = kind(100, epsilon=1.0)
    return mechanism.aggregate(mechanism.randomise(answers))
thread = threading.Thread(target=release, args=(sv.OUE,))
thread.start()
while "numba.core.compiler_lock" not in sys.modules:
    time.sleep(0.01)
from numba.core.compiler_lock import global_compiler_lock
while global_compiler_lock._lock.acquire(blocking=False):
    global_compiler_lock.release()
    time.sleep(0.001)
child = os.fork()
if child == 0:
    release(sv.GRR)
    os._exit(7)
"""

INTERPRETING = """
begun = threading.Event()
def work(values):
    begun.set()
    time.sleep(0.5)
work.__module__ = "kernels.count"
kernel = compiling.Kernel(work, None)
thread = threading.Thread(target=kernel, args=(np.zeros(3),))
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    kernel(np.zeros(3))
    os._exit(7)
"""

LOADING = """
loads = threading.Event()
def load_and_compile():
    with compiling._lock:
        loads.set()
        time.sleep(0.5)
        from numba.core.compiler_lock import global_compiler_lock
        global_compiler_lock.acquire()
    time.sleep(0.5)
    global_compiler_lock.release()
threading.Thread(target=load_and_compile).start()
loads.wait()
child = os.fork()
if child == 0:
    from numba.core.compiler_lock import global_compiler_lock
    with global_compiler_lock:
        os._exit(7)
"""

WAITING = """
end = time.monotonic() + 60 * ("no locks" not in sys.argv) + 8
while time.monotonic() < end:
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    time.sleep(0.05)
else:
    os.kill(child, 9)
    status = os.waitpid(child, 0)[1]
print(os.waitstatus_to_exitcode(status))
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize(
    ("forking", "arguments"),
    [
        pytest.param(COMPILING, [], id="compiles"),
        pytest.param(COMPILING, ["no locks"], id="compiles, no locks"),
        pytest.param(INTERPRETING, [], id="interprets"),
        pytest.param(INTERPRETING, ["no locks"], id="interprets, no locks"),
        pytest.param(LOADING, [], id="loads the compiler"),
    ],
)
def test_a_fork_while_another_thread_works(tmp_path, forking: str, arguments: list[str]) -> None:
    """Without holding the locks of kernels, the planted fault, the child waits for ever."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCKS + forking + WAITING, *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.split() == (["-9"] if arguments else ["7"]), done.stderr


LOGGING = """
import os, sys, threading, time
from sottovoce.kernels import compiling
import logging
if "too late" in sys.argv:
    os.register_at_fork(
        before=logging._lock.acquire,
        after_in_parent=logging._lock.release,
        after_in_child=logging._lock.release,
    )
compiles = threading.Event()
def compile_something():
    with compiling._lock:
        compiles.set()
        time.sleep(0.5)
        logging.getLogger("of a module that compiling loads")
threading.Thread(target=compile_something, daemon=True).start()
compiles.wait()
if os.fork() == 0:
    os._exit(0)
os.wait()
print("forked")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize("arguments", [[], ["too late"]])
def test_a_fork_waits_for_a_thread_that_waits_for_nothing_of_the_fork(arguments) -> None:
    """Once the fork has the lock of logging, the planted fault, each waits for the other."""
    command = [sys.executable, "-c", LOGGING, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=5 if arguments else 60
        )
    except subprocess.TimeoutExpired:
        assert arguments
    else:
        assert (done.stdout, arguments) == ("forked\n", [])


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_seeded_source_is_read_in_order_by_one_thread(name: str, monkeypatch) -> None:
    mechanism = example(REGISTRY[name], 1.0, 20)
    values = answers(mechanism, 3000)
    reports = []
    for threads in (1, 3):
        divide(monkeypatch, threads)
        with seeded(5) as source:
            reports.append(mechanism.randomise(values, source=source).to_bytes())
    assert reports[0] == reports[1]


# --- counts in threads ----------------------------------------------------------------------------


def collections() -> dict[str, tuple[sv.contract.Collection, dict[str, object]]]:
    """Every kind of collection, with answers and choices for `randomise`."""
    n = 3001
    few, many = sv.GRR(20, epsilon=0.5), sv.GRR(20, epsilon=2.0)
    codes = {"answers": np.arange(n) % 20}
    levels = {"level": np.array(["few", "many", "many"])[np.arange(n) % 3]}
    menu = sv.Levels({"few": few, "many": many})
    mixed = sv.Levels({"few": few, "many": sv.OUE(20, epsilon=2.0)})
    cases = {
        name: (m := example(kind, 1.0, 20), {"answers": answers(m, n)})
        for name, kind in REGISTRY.items()
    }
    frame = {"sex": np.array(["m", "f"])[np.arange(n) % 2], "age": np.arange(n) % 5}
    return {
        **cases,
        "levels": (menu, {**codes, **levels}),
        "mixed levels": (mixed, {**codes, **levels}),
        "sampled": (sv.Sampled(few, rate=0.3), codes),
        "sampled levels": (sv.Sampled(mixed, rate=0.3), {**codes, **levels}),
        "records": (sv.Records(FIELDS, epsilon_average=1.0), {"answers": frame}),
        "sampled records": (sv.Records(FIELDS, epsilon_average=1.0, rate=0.5), {"answers": frame}),
    }


@pytest.mark.parametrize("name", list(collections()))
def test_any_number_of_threads_counts_the_same(name: str, monkeypatch) -> None:
    collection, given = collections()[name]
    counts, sizes = [], []
    for threads in THREADS:
        divide(monkeypatch, threads)
        reports = collection.randomise(**given)
        collection.check(reports.columns)
        sizes.append(int(collection.headcount(reports)[0].sum()))
        for count in THREADS:
            divide(monkeypatch, count)
            counts.append(collection.aggregate(reports))
        collection.check_aggregate(counts[-1])
        assert counts[-3] == counts[-2] == counts[-1]
    assert sizes == [3001] * 3


def test_threads_count_packed_bits_where_they_are(monkeypatch) -> None:
    divide(monkeypatch, 3)
    mechanism, rows = sv.OUE(100, epsilon=1.0), []
    reports = mechanism.randomise(np.arange(4001) % 100)
    real = kernels.count.column_counts
    monkeypatch.setattr(
        kernels.count, "column_counts", lambda part: (rows.append(part), real(part))[1]
    )
    mechanism.aggregate(reports)
    assert len(rows) >= 3
    assert all(np.shares_memory(part, reports.columns["bits"]) for part in rows if part.size)


def test_another_engine_counts_all_reports_at_once(monkeypatch) -> None:
    divide(monkeypatch, 3)
    mechanism, sizes = sv.GRR(5, epsilon=1.0), []

    def histogram(values, counts) -> int:
        sizes.append(values.size)
        counts += np.bincount(values, minlength=counts.size)
        return -1

    reports = mechanism.randomise(np.zeros(9000, np.int64))
    with kernels.use({"histogram": histogram}):
        counted = mechanism.aggregate(reports)
    assert sizes == [9000]
    assert counted == mechanism.aggregate(reports)


# --- answers in threads ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.array, pd.Series, list])
@pytest.mark.parametrize("missing", ["refuse", "value", "public"])
def test_any_number_of_threads_encodes_the_same(form, missing: str, monkeypatch) -> None:
    words = ["car", "bike", None, "car"] if missing != "refuse" else ["car", "bike"]
    column = form([words[k * k % len(words)] for k in range(3000)])
    domain = sv.Domain(["bike", "car"], missing=missing)
    coded = []
    for threads in THREADS:
        divide(monkeypatch, threads)
        coded.append(domain.coded(column))
    for one in coded[1:]:
        assert one.codes.tolist() == coded[0].codes.tolist()
        assert (one.present is None) == (coded[0].present is None)
        assert one.present is None or one.present.tolist() == coded[0].present.tolist()


@pytest.mark.parametrize(
    ("question", "column"),
    [
        (sv.Domain(5), np.arange(3000) % 6),
        (sv.Domain(["a", "b"]), pd.Series(["a"] * 2000 + ["c", "d"] * 500)),
        (sv.Domain(["a", "b"]), pd.Series(["a"] * 2000 + [None] * 1000)),
        (sv.Range("x", 0, 1), np.linspace(0, 1.5, 3000)),
        (sv.Range("x", 0, 1), np.where(np.arange(3000) < 2000, 0.5, np.nan)),
        (sv.Attribute.bins("x", [0, 1, 2]), np.linspace(0, 2.5, 3000)),
    ],
)
def test_a_refusal_speaks_of_the_whole_column(question, column, monkeypatch) -> None:
    messages = []
    for threads in THREADS:
        divide(monkeypatch, threads)
        with pytest.raises(AnswerError) as refusal:
            question.coded(column)
        messages.append(str(refusal.value))
    assert len(set(messages)) == 1


# --- the division itself --------------------------------------------------------------------------


def test_parts_cover_everything_once_and_begin_where_they_may(monkeypatch) -> None:
    divide(monkeypatch, 3)
    for size in (0, 1, 7, 8, 100, 1001):
        parts = parallel.over_ranges(lambda part: part, size, work=10**9, multiple=8)
        assert [k for part in parts for k in range(part.start, part.stop)] == list(range(size))
        assert all(part.start % 8 == 0 for part in parts)


def test_work_in_a_thread_is_not_divided_again(monkeypatch) -> None:
    divide(monkeypatch, 3)
    inner = parallel.over_ranges(
        lambda part: len(parallel.over_ranges(lambda p: p, 1000, work=10**9)), 1000, work=10**9
    )
    assert inner == [1, 1, 1]
    assert len(parallel.over_ranges(lambda p: p, 1000, work=10**9)) == 3


@pytest.mark.parametrize(("cores", "inner"), [(4, 2), (5, 2), (3, 1), (16, 8)])
def test_cores_that_are_left_divide_the_work_inside(cores: int, inner: int, monkeypatch) -> None:
    divide(monkeypatch, cores)

    def parts(_: slice) -> int:
        return len(parallel.over_ranges(lambda p: p, 1000, work=10**9))

    two = 2 * parallel.WORTH_A_THREAD
    assert parallel.over_ranges(parts, 1000, work=two) == [inner] * 2


def test_the_first_of_several_errors_is_raised(monkeypatch) -> None:
    divide(monkeypatch, 3)

    def fail(part: slice) -> None:
        raise ValueError(json.dumps([part.start, part.stop]))

    with pytest.raises(ValueError, match=r"\[0, 30\]"):
        parallel.over_ranges(fail, 90, work=10**9)


@pytest.mark.parametrize(
    ("threads", "factor"), [(1, 1), (2, 8), (4, 8), (8, 16), (16, 32), (64, 32)]
)
def test_buffers_grow_with_the_threads_that_wait_for_the_interpreter(threads, factor) -> None:
    size = 64_000
    assert parallel.buffer_factor(slice(0, size // threads), size) == factor
    assert parallel.buffer_factor(slice(0, 0), 0) == 1
