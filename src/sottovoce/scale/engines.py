"""Which engine counts: the compiled kernels, or a GPU where it is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import kernels
from ..errors import ParameterError
from ..kernels.count import kernel

#: What `counting` takes.
ENGINES = ("auto", "cpu", "cuda")

# Steps of each kernel, and those from which a GPU is faster than 16 cores although the arrays are
# copied to it and back. For the others it never is: a count or two for every number that is copied.
_WORTH: dict[str, tuple[Callable[..., int], int]] = {
    "hash_support": (lambda a, b, codes, *_: int(a.size) * int(codes.size), 10**9),
    "expected_cells": (
        lambda codes, change, law, laws, sizes, p, *_: len(law) * int(p.size),
        10**7,
    ),
}


@contextmanager
def counting(engine: str = "auto") -> Iterator[str]:
    """Count with an engine inside this block; yields the one that was chosen.

    Parameters
    ----------
    engine : {"auto", "cpu", "cuda"}
        "cuda" needs CuPy and a GPU, and is refused without. "auto" uses them if they are there, for
        work that is large enough to be worth the copies.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import scale
    >>> m = sv.OLH(100, epsilon=1.0)
    >>> reports = m.randomise([3] * 1000)
    >>> with scale.counting("cpu"):
    ...     m.aggregate(reports).reports
    1000
    """
    if engine not in ENGINES:
        raise ParameterError(
            f"there is no engine {engine!r}; available: {', '.join(map(repr, ENGINES))}"
        )
    from . import cuda

    if engine == "cpu" or (engine == "auto" and not cuda.present()):
        with kernels.use({}):
            yield "cpu"
        return
    functions = cuda.engine()
    if engine == "auto":
        functions = _where_worthwhile(functions)
    with kernels.use(functions):
        yield "cuda"


def _where_worthwhile(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """The functions for large work; smaller work stays where it was."""

    def either(name: str) -> Callable[..., Any]:
        (steps, least), large, small = _WORTH[name], functions[name], kernel(name)
        return lambda *arrays: (large if steps(*arrays) >= least else small)(*arrays)

    return {name: either(name) for name in _WORTH}
