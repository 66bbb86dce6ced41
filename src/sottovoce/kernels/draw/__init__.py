"""What participants run: code an answer, draw a report. Each module is compiled on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bits import bernoulli, place_truth, settle
    from .categories import below, grr
    from .codes import hash_codes, narrow, positions
    from .grid import window_response
    from .hadamard import hadamard_response
    from .pairs import hash_pairs, pair_codes
    from .projective import projective_response
    from .records import record_bits
    from .subset_tables import small_subsets
    from .subsets import resize_subsets
    from .tables import table_response
    from .urns import fill_urns

_HOME = {
    "bernoulli": "bits",
    "settle": "bits",
    "place_truth": "bits",
    "below": "categories",
    "grr": "categories",
    "hash_codes": "codes",
    "narrow": "codes",
    "positions": "codes",
    "window_response": "grid",
    "hadamard_response": "hadamard",
    "hash_pairs": "pairs",
    "pair_codes": "pairs",
    "projective_response": "projective",
    "record_bits": "records",
    "resize_subsets": "subsets",
    "small_subsets": "subset_tables",
    "table_response": "tables",
    "fill_urns": "urns",
}

__all__ = [
    "below",
    "bernoulli",
    "fill_urns",
    "grr",
    "hadamard_response",
    "hash_codes",
    "hash_pairs",
    "narrow",
    "pair_codes",
    "place_truth",
    "positions",
    "projective_response",
    "record_bits",
    "resize_subsets",
    "settle",
    "small_subsets",
    "table_response",
    "window_response",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = function
    return function
