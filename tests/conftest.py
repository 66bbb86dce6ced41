"""Settings shared by all tests."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from sottovoce.kernels import compiling, count

matplotlib.use("Agg")  # no screen is needed
compiling.compile_at_once()  # small inputs stand for large ones

KERNELS = str(Path(compiling.__file__).parent)
_compile = Dispatcher.compile
_compiling: set[str] = set()


def _compile_in_turn(self: Any, signature: Any) -> Any:
    """Of the processes that share the tests, one compiles a kernel; the others load the result.

    They take turns by locking the kernel's file. The lock of numba comes first, so that threads of
    one process never wait for each other's files.
    """
    path = self.py_func.__code__.co_filename
    with global_compiler_lock:
        if path in _compiling or not path.startswith(KERNELS):
            return _compile(self, signature)
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _compiling.add(path)
            try:
                return _compile(self, signature)
            finally:
                _compiling.remove(path)
                fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough where a thread has forked


Dispatcher.compile = _compile_in_turn

# No deadline: the first call of a kernel may compile it. The same examples every time: a test
# that fails once in a while teaches people to run it again.
settings.register_profile(
    "sottovoce",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("sottovoce")

#: Rooms and files by the kind of test; everything else is exact and quick.
STATISTICAL = ("samplers/", "audit/", "joint/test_coverage.py", "joint/test_estimates.py")
STATISTICAL += ("participation/test_combine.py", "participation/test_sampling_")
STATISTICAL += ("records/test_few_people.py", "records/test_records.py", "lip/test_estimators.py")
SLOW = ("cli/", "docs/", "plot/", "peers/", "plan/", "likelihood/", "joint/", "lip/", "accounting/")
SLOW += ("browser/", "js/", "service/", "intervals/", "options/", "scale/")
SLOW += ("laws/test_laws.py", "laws/test_pickles.py", "laws/test_thresholds.py", "vectors/")
SLOW += ("core/test_files.py", "core/test_package.py", "core/test_encoding.py", "never/", "papers/")
SLOW += ("secure/test_views.py",)
TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test as fast, statistical or slow, unless it says so itself."""
    for item in items:
        if any(item.get_closest_marker(name) for name in ("fast", "statistical", "slow")):
            continue
        inside = TESTS in item.path.parents
        where = item.path.relative_to(TESTS).as_posix() if inside else ""
        name = "statistical" if where.startswith(STATISTICAL) else "fast"
        if name == "fast" and (not inside or where.startswith(SLOW)):
            name = "slow"
        item.add_marker(name)


@pytest.fixture(autouse=True, scope="session")
def _own_receipts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands that are not told where receipts go do not leave them in the user's own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def both_ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every small call of a kernel is interpreted as well, which must change nothing at all.

    Gives the names of the kernels that were called.
    """
    names: list[str] = []

    def call(kernel: compiling.Kernel, *arguments: Any) -> Any:
        copies = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        result = kernel.code(*arguments)
        if kernel.is_small(arguments):
            names.append(kernel.__name__)
            np.testing.assert_equal(kernel.interpret(*copies), result)
            for copy, array in zip(copies, arguments, strict=True):
                np.testing.assert_array_equal(copy, array)
        return result

    monkeypatch.setattr(compiling.Kernel, "__call__", call)
    monkeypatch.setattr(count, "kernel", count._own_kernel)  # which otherwise calls machine code
    return names
