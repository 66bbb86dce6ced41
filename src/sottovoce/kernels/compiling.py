"""How kernels are compiled: by numba, without the interpreter's lock, kept in numba's cache."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import njit

_uncached = False


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a kernel on its first call, and keep the machine code for later processes.

    numba stores it in NUMBA_CACHE_DIR where that is set, else beside the package, else in the
    user's cache folder. Where none of them can be written (a read-only installation run by a user
    without a home), the kernel works just the same and is compiled again by every process.
    """
    if function is None:
        return lambda kernel: compiled(kernel, **options)
    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError as reason:  # numba looks for a place when it decorates, not when it saves
        _warn_once(reason)
        return njit(nogil=True, **options)(function)


def _warn_once(reason: RuntimeError) -> None:
    global _uncached
    if _uncached:
        return
    _uncached = True
    warnings.warn(
        f"compiled kernels cannot be kept ({reason}), so that every process compiles them again, "
        "which takes some seconds; set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=4,
    )
