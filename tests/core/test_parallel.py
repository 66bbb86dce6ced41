"""Work ahead in threads: the same items in the same order, and the first error of them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from sottovoce import parallel

threads = pytest.mark.parametrize("threads", ["1", "2", "16"])


@pytest.fixture(autouse=True)
def several(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_THREADS", request.getfixturevalue("threads"))


def failing(items: int) -> Iterator[int]:
    yield from range(items)
    raise ValueError("after all")


def fail_late(item: int) -> int:
    if item >= 7:
        raise ValueError(f"at {item}")
    return item


@threads
def test_items_and_results_keep_their_order(threads: str) -> None:
    assert list(parallel.ahead(range(50))) == list(range(50))
    assert list(parallel.in_order(lambda x: x * x, range(50))) == [x * x for x in range(50)]
    assert list(parallel.ahead([])) == list(parallel.in_order(fail_late, [])) == []


@threads
def test_what_comes_before_an_error_is_still_given(threads: str) -> None:
    for results in (parallel.ahead(failing(7)), parallel.in_order(fail_late, range(50))):
        seen = []
        with pytest.raises(ValueError, match=r"after all|at 7"):
            seen.extend(results)
        assert seen == list(range(7))


@threads
def test_few_items_are_begun_before_they_are_wanted(threads: str) -> None:
    asked: list[int] = []
    before = threading.active_count()  # a server of other tests may run
    items = (asked.append(k) or k for k in range(50))
    results = parallel.in_order(lambda x: x, parallel.ahead(items))
    next(results)
    results.close()
    assert len(asked) <= 10
    assert threading.active_count() < before + 8


@threads
def test_few_results_wait_to_be_asked_for(threads: str) -> None:
    # Each may be a table of gigabytes, and whoever adds them up may be slower than many cores.
    done: list[int] = []
    results = parallel.over_items(lambda x: done.append(x) or x, range(1000))
    for taken in range(1, 100):
        next(results)
        time.sleep(0.0005)
        assert len(done) <= taken + 6 * int(threads)
    assert len(list(results)) == 1000 - 99
    assert sorted(done) == list(range(1000))


@threads
def test_every_item_has_one_result_whatever_their_order(threads: str) -> None:
    assert sorted(parallel.over_items(lambda x: x, range(1000))) == list(range(1000))
    assert list(parallel.over_items(fail_late, [])) == []
    with pytest.raises(ValueError, match="at "):
        list(parallel.over_items(fail_late, range(100)))


@threads
def test_where_every_core_has_an_item_its_work_is_not_divided_again(threads: str) -> None:
    many = int(threads)

    def parts(_: int) -> int:
        return len(parallel.over_ranges(lambda part: part, 1000, work=10**12))

    assert set(parallel.over_items(parts, range(many))) == {1}
    assert set(parallel.over_items(parts, range(many - 1))) <= {many}  # idle cores help
    assert set(parallel.over_items(parts, range(many), threads=16)) == {many}
    assert parts(0) == many


LATE = """
import atexit, threading, time
from sottovoce import parallel
def late():
    print(parallel.over_ranges(lambda part: part.start, 10, work=10**12))
    print(sorted(parallel.over_items(abs, [1, -2])), list(parallel.in_order(abs, [1, -2])))
    print(list(parallel.ahead([1, 2])))
    try:
        parallel.over_ranges(lambda part: 1 // part.start, 10, work=10**12)
    except ZeroDivisionError:
        print("refused")
def worker():
    threading.main_thread().join()
    time.sleep(0.05)
    late()
threading.Thread(target=worker).start()
atexit.register(late)
"""


@pytest.mark.parametrize("threads", ["2"])
def test_work_goes_on_after_the_main_thread(threads: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LATE], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.stdout.splitlines() == ["[0, 5]", "[1, 2] [1, 2]", "[1, 2]", "refused"] * 2
    assert done.stderr == ""


@pytest.mark.parametrize("threads", ["²", "-1", "0", "two", ""])
def test_a_setting_that_is_no_number_of_threads_is_left_aside(threads: str) -> None:
    assert parallel.cores() >= 1
