"""Compiled loops: arrays in, arrays out. They know nothing of privacy.

numba is imported on the first use of a kernel, not with the package. numba does not check
bounds: every kernel that indexes by a value guards it first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bits import bernoulli, column_counts, place_truth, settle
    from .categorical import below, grr, histogram, histogram_by, narrow, positions
    from .grid import window_response
    from .grouped import column_counts_by, row_sums, stratified, weighted_sum
    from .hadamard import hadamard_response, walsh_hadamard
    from .hashing import hash_codes, hash_support
    from .mixture import expected_cells, expected_weights
    from .records import record_bits
    from .subset import resize_subsets
    from .table import table_response

_HOME = {
    "bernoulli": "bits",
    "settle": "bits",
    "place_truth": "bits",
    "column_counts": "bits",
    "column_counts_by": "grouped",
    "grr": "categorical",
    "below": "categorical",
    "histogram": "categorical",
    "histogram_by": "categorical",
    "narrow": "categorical",
    "positions": "categorical",
    "hadamard_response": "hadamard",
    "walsh_hadamard": "hadamard",
    "hash_codes": "hashing",
    "hash_support": "hashing",
    "resize_subsets": "subset",
    "row_sums": "grouped",
    "stratified": "grouped",
    "weighted_sum": "grouped",
    "window_response": "grid",
    "table_response": "table",
    "record_bits": "records",
    "expected_cells": "mixture",
    "expected_weights": "mixture",
}

__all__ = [
    "below",
    "bernoulli",
    "column_counts",
    "column_counts_by",
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
    "positions",
    "record_bits",
    "resize_subsets",
    "row_sums",
    "settle",
    "stratified",
    "table_response",
    "walsh_hadamard",
    "weighted_sum",
    "window_response",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = function
    return function
