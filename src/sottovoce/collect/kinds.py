"""What a column of a file may hold."""

from __future__ import annotations

from typing import Any, Literal

Kind = Literal["text", "whole numbers", "numbers"]
_MOST_SHOWN = 60


def shown(entry: Any) -> str:
    """A cell in a message; of a long one the beginning."""
    text = repr(entry)
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"


def fits(pa: Any, kind: Any, wanted: Kind) -> bool:
    """Whether a Parquet column's type can hold what is wanted."""
    types = pa.types
    plain = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_null(plain):
        return True  # nobody answered
    if wanted == "text":
        return bool(
            types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)
        )
    # Whole numbers may come as floats: data frames make them so when some are missing.
    return bool(types.is_integer(plain) or types.is_floating(plain))


def first_bad(pa: Any, array: Any, wanted: Any) -> int:
    """Where the first cell is that does not convert, by halving."""
    from pyarrow import compute

    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            compute.cast(array.slice(low, middle - low), wanted)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low
