"""What participants run: code an answer, draw a report. Each module is compiled on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The kernels of each module here.
_MODULES = {
    "bits": ("bernoulli", "settle", "place_truth"),
    "categories": ("below", "grr"),
    "codes": ("first_distinct", "hash_codes", "hash_pairs", "narrow", "pair_codes", "positions"),
    "grid": ("window_response",),
    "hadamard": ("hadamard_response",),
    "projective": ("projective_response",),
    "records": ("record_bits",),
    "subsets": ("resize_subsets", "small_subsets"),
    "tables": ("table_response",),
    "urns": ("fill_urns",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = function
    return function
