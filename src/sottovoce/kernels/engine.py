"""Which functions count: numba's, unless an engine takes their place.

An engine is a mapping from names in `COMPILED` to functions with the same arguments and results as
the compiled ones; a name that it leaves out stays with numba. It concerns `kernels.count` alone:
participants' draws have no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from ..errors import ParameterError

Engine = Mapping[str, Callable[..., Any]]

#: The module in `kernels.count` that has the compiled function of each name.
COMPILED = MappingProxyType(
    {
        "histogram": "histograms",
        "histogram_by": "histograms",
        "column_counts": "bits",
        "column_counts_by": "grouped_bits",
        "hash_support": "hashes",
        "walsh_hadamard": "transforms",
        "row_sums": "sums",
        "weighted_sum": "sums",
        "stratified": "sums",
        "expected_weights": "mixtures",
        "expected_cells": "mixtures",
    }
)

_engine: ContextVar[Engine] = ContextVar("engine", default=MappingProxyType({}))


@contextmanager
def use(engine: Engine) -> Iterator[None]:
    """Count with the functions of `engine` inside this block.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce import kernels
    >>> def histogram(values, counts):
    ...     counts += np.bincount(values, minlength=counts.size)
    ...     return -1
    >>> with kernels.use({"histogram": histogram}):
    ...     kernels.count.histogram(np.array([0, 2, 2]), 3).tolist()
    [1, 0, 2]
    """
    unknown = sorted(set(engine) - set(COMPILED))
    if unknown:
        raise ParameterError(
            f"there are no counting kernels {', '.join(map(repr, unknown))}; an engine may replace "
            f"{', '.join(map(repr, COMPILED))}"
        )
    token = _engine.set(MappingProxyType({**_engine.get(), **engine}))
    try:
        yield
    finally:
        _engine.reset(token)


def kernel(name: str) -> Callable[..., Any]:
    """The function that counts under this name here and now."""
    return _engine.get().get(name) or _compiled(name)


@cache
def _compiled(name: str) -> Callable[..., Any]:
    module = import_module(f"..count.{COMPILED[name]}", __name__)
    function: Callable[..., Any] = getattr(module, name)
    return function
