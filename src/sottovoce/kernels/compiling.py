"""How kernels are run: compiled by numba, or for the first small inputs interpreted.

Loading numba takes half a second and compiling a kernel one or two, a thousand times what the
work on a few thousand answers takes. So a kernel starts as the Python function that it is written
as, on numpy's integers, which wrap around like those of the machine: same source, same results bit
for bit. A loop without branches is interpreted once for a whole block instead of once for each
item, which is fast enough for a million people. A kernel is compiled at the first large input, or
when interpreting it has taken this process about as long as compiling it, so that waiting at most
doubles what compiling at once would have taken. Machine code is kept in numba's cache and has no
interpreter lock.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import update_wrapper
from importlib import import_module
from threading import RLock
from time import thread_time
from types import FunctionType, MappingProxyType
from typing import Any, Literal

import numpy as np

#: How a kernel is interpreted; see `compiled`.
Interpreted = bool | Literal["whole", "blocks"] | Callable[..., Any]

_MOST = 1 << 16  # items of the largest array whose loop is worth interpreting
_MOST_BY_NUMPY = 1 << 21
_PATIENCE = 1.5  # seconds for each kernel

_NO_OTHERS: Mapping[str, Any] = MappingProxyType({})
_interpreting = True
_few_items = True
_uncached = False
_lock = RLock()
_turn = RLock()  # to interpret: threads would only take the interpreter from one another
_held: list[Any] = []  # while a process forks


def compile_at_once() -> None:
    """Interpret nothing from here on: every kernel is compiled on its first call."""
    global _interpreting
    _interpreting = False


def expect(items: int) -> None:
    """Compile at once what is too slow for so many, though they may come in small blocks."""
    global _few_items
    if items > _MOST_BY_NUMPY:
        compile_at_once()
    _few_items = _few_items and items <= _MOST


def _hold_locks() -> None:
    """Before a fork: no other thread is compiling, and so none holds a lock for ever in the child.

    The child has the thread that forks alone, which can give the locks back.
    """
    _turn.acquire()
    _lock.acquire()
    # Not before: who had the lock may have loaded numba meanwhile, and be compiling.
    others = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    if others is not None:
        others.acquire()
    _held[:] = [_turn, _lock, *([] if others is None else [others])]


def _give_locks_back() -> None:
    for lock in reversed(_held):
        lock.release()


# What is registered last is called first. The two modules imported above for this alone hold locks
# of theirs while a process forks, which a thread that compiles may be waiting for: they come after.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_hold_locks, after_in_parent=_give_locks_back, after_in_child=_give_locks_back
    )


class Kernel:
    """A function on arrays and numbers, interpreted or compiled."""

    def __init__(
        self,
        function: Callable[..., Any],
        make: Callable[[Any], Any],
        interpreted: Interpreted = True,
        most: int = 0,
    ) -> None:
        update_wrapper(self, function)
        self._function = function
        self._make = make
        self._whole = interpreted == "whole"
        self._by_numpy = interpreted not in (True, False)
        self._plain: Any = interpreted if callable(interpreted) else None
        self._most_items = most or (
            _MOST_BY_NUMPY if self._by_numpy else _MOST if interpreted else -1
        )
        self._seconds_left = _PATIENCE
        # People's answers come in blocks, whose sizes do not say how many are coming.
        self._in_blocks = ".draw." in function.__module__
        #: The compiled function, once there is one.
        self.machine: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._has_patience() and self.is_small(arguments):
            with _turn:
                if self._has_patience():  # after waiting, too
                    return self.interpret(*arguments)
        return self.code(*arguments)

    def _has_patience(self) -> bool:
        few = _few_items or self._by_numpy or not self._in_blocks
        return self.machine is None and _interpreting and few and self._seconds_left > 0

    def is_small(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the arrays among the arguments are few items, and may be interpreted."""
        items = np.size if self._by_numpy else _items
        return all(items(x) <= self._most_items for x in arguments if isinstance(x, np.ndarray))

    def interpret(self, *arguments: Any) -> Any:
        """The result by the interpreter; its time is taken off what is left for that."""
        started = thread_time()
        plain = self.plain
        # Python's own integers would take the type of what they meet; the compiler's are 64 bits.
        numbers = [np.int64(x) if type(x) is int else x for x in arguments]
        with np.errstate(all="ignore"):  # wrapping around is meant
            result = plain(*numbers)
        self._seconds_left -= thread_time() - started
        return result

    @property
    def plain(self) -> Any:
        """The Python function, which calls those of other kernels."""
        if self._plain is None:
            others: dict[str, Any] = {"_INDEX": int}  # which is faster than an integer of numpy
            if self._whole:
                others["range"] = _lanes
            plain = _link(self._function, lambda kernel: kernel.plain, others)
            self._plain = _with_flags(plain) if self._whole else plain
        return self._plain

    @property
    def code(self) -> Any:
        """The compiled function, which calls those of other kernels."""
        if self.machine is None:
            with _lock:
                self.machine = self.machine or self._make(
                    _link(self._function, lambda kernel: kernel.code)
                )
        return self.machine


def _items(array: Any) -> int:
    """How many steps a loop over the array takes: of packed bits, one for a word."""
    packed = array.ndim == 2 and array.dtype == np.uint8
    return int(array.size // 8 if packed else array.size)


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    interpreted: Interpreted = True,
    most: int = 0,
    **options: Any,
) -> Any:
    """A kernel from a function; `options` are those of numba.

    Not to be interpreted is work beyond the size of the arrays, and sums of floating-point numbers
    that the compiler may take in another order. Squares are written as products: x**2 is rounded in
    another way by the interpreter, once in a thousand times. "whole" is a function of loops without
    branches, `for i in range(n)`, which numpy can take for all positions at once; it returns flags,
    each gathered over its loop by |=. A range with more bounds is a loop as usual. "blocks" is a
    function that leaves most of its work to such ones. A function to be interpreted instead does
    the same with numpy; `most` is the size of the largest array that it is worth while for.

    Machine code is kept in NUMBA_CACHE_DIR where that is set, else beside the package, else in the
    user's cache folder. Where none of them can be written (a read-only installation run by a user
    without a home) or another user could have written to it, the kernel works just the same and is
    compiled again by every process.
    """
    if function is None:
        return lambda kernel: compiled(kernel, interpreted=interpreted, most=most, **options)
    return Kernel(function, lambda linked: _machine_code(linked, options), interpreted, most)


def replaced(*, by: str) -> Callable[[Callable[..., Any]], Kernel]:
    """A step of kernels whose machine code is written by hand, under its name in a module here."""

    def decorate(function: Callable[..., Any]) -> Kernel:
        def machine_code(_: Any) -> Any:
            return getattr(import_module(f".{by}", __package__), function.__name__)

        return Kernel(function, machine_code)

    return decorate


def _link(
    function: Any, choose: Callable[[Kernel], Any], others: Mapping[str, Any] = _NO_OTHERS
) -> Any:
    """The function with one side of every kernel that it calls, and other names replaced."""
    names = {**function.__globals__, **others}
    kernels = {
        name: choose(names[name])
        for name in function.__code__.co_names
        if isinstance(names.get(name), Kernel)
    }
    return FunctionType(function.__code__, {**names, **kernels}, function.__name__)


def _lanes(*bounds: int) -> Any:
    """All positions at once where only their number is given, else the usual range."""
    return range(*bounds) if len(bounds) > 1 else (slice(*bounds),)


def _with_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its results, flags of every position, as one flag each."""

    def run(*arguments: Any) -> Any:
        flags = function(*arguments)
        return tuple(map(np.any, flags)) if isinstance(flags, tuple) else np.any(flags)

    return run


def _machine_code(function: Any, options: dict[str, Any]) -> Any:
    from numba import njit

    from .cache_folder import others_can_write

    try:
        dispatcher = njit(cache=True, nogil=True, **options)(function)
        reason = others_can_write(function.__code__.co_filename, dispatcher.stats.cache_path)
    except (RuntimeError, OSError) as error:  # numba looks for a place here, not when it saves
        reason = str(error)
    if not reason:
        return dispatcher
    _warn_once(reason)
    return njit(nogil=True, **options)(function)


def _warn_once(reason: str) -> None:
    global _uncached
    if _uncached:
        return
    _uncached = True
    warnings.warn(
        f"compiled kernels cannot be kept ({reason}), so every process compiles them again, "
        "which takes some seconds; set NUMBA_CACHE_DIR to a folder that only you can write to",
        RuntimeWarning,
        stacklevel=5,
    )
