"""Work ahead in threads: the same items in the same order, and the first error of them."""

from __future__ import annotations

import threading
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
    items = (asked.append(k) or k for k in range(50))
    results = parallel.in_order(lambda x: x, parallel.ahead(items))
    next(results)
    results.close()
    assert len(asked) <= 10
    assert threading.active_count() < 10
