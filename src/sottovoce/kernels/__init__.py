"""Compiled loops: arrays in, arrays out. They know nothing of privacy.

numba is imported on the first use of a kernel, not with the package. numba does not check
bounds: every kernel that indexes by a value guards it first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bits import bernoulli, column_counts, place_truth, settle
    from .categorical import below, grr, histogram, histogram_by, narrow
    from .grid import window_response
    from .hadamard import hadamard_response, walsh_hadamard
    from .hashing import hash_codes, hash_support
    from .mixture import expected_cells, expected_weights
    from .records import record_bits
    from .subset import resize_subsets

_HOME = {
    "bernoulli": "bits",
    "settle": "bits",
    "place_truth": "bits",
    "column_counts": "bits",
    "grr": "categorical",
    "below": "categorical",
    "histogram": "categorical",
    "histogram_by": "categorical",
    "narrow": "categorical",
    "hadamard_response": "hadamard",
    "walsh_hadamard": "hadamard",
    "hash_codes": "hashing",
    "hash_support": "hashing",
    "resize_subsets": "subset",
    "window_response": "grid",
    "record_bits": "records",
    "expected_cells": "mixture",
    "expected_weights": "mixture",
}

__all__ = [
    "below",
    "bernoulli",
    "column_counts",
    "expected_cells",
    "expected_weights",
    "grr",
    "hadamard_response",
    "hash_codes",
    "hash_support",
    "histogram",
    "histogram_by",
    "narrow",
    "place_truth",
    "record_bits",
    "resize_subsets",
    "settle",
    "walsh_hadamard",
    "window_response",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = function
    return function
