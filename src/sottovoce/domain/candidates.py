"""Values of a domain chosen to be counted: where they stand in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .columns import first_few
from .labels import NO_ANSWER
from .values import Domain


def candidate_positions(domain: Domain, values: Any) -> NDArray[np.int64]:
    """Positions of chosen values, in their order; the domain itself is never listed."""
    if isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable):
        raise ParameterError(
            f"values is {values!r:.80}; give a list of values of the domain, whose order counts "
            "keep"
        )
    values = values.to_pylist() if hasattr(values, "to_pylist") else values  # of pyarrow
    if isinstance(values, range):
        values = np.arange(values.start, values.stop, values.step)
    if not (isinstance(values, np.ndarray) and values.dtype.kind in "iu"):
        values = [_plain(value) for value in values]
        if all(type(v) is int and abs(v) < 1 << 63 for v in values):
            values = np.array(values, np.int64)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ParameterError(f"values has {values.ndim} dimensions; give a list of values")
    if len(values) == 0:
        raise ParameterError("values is empty; give at least one value of the domain")
    if isinstance(values, np.ndarray) and isinstance(domain.values, range):
        outside = np.flatnonzero((values < 0) | (values >= len(domain.values)))
        unknown = values[outside].tolist()
        positions = values.astype(np.int64)
    else:
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        positions = np.array(_places(domain, plain), np.int64)
        unknown = [plain[k] for k in np.flatnonzero(positions < 0)]
    if unknown:
        # Apart from the values, so that it is named even where these are many.
        missing = f" and {NO_ANSWER!r}" if domain.missing == "value" else ""
        raise ParameterError(
            f"chosen values that are not in the domain: {first_few(unknown)}; it has the "
            f"{len(domain.values):,} values {first_few(domain.values)}{missing}"
        )
    _, first, many = np.unique(positions, return_index=True, return_counts=True)
    if (many > 1).any():
        twice = domain.decode(positions[first[many > 1][:8]])
        raise ParameterError(f"chosen values must differ; given more than once: {first_few(twice)}")
    return positions


def values_in_text(domain: Domain, texts: Iterable[str]) -> list[Any]:
    """The values of a domain that are written as these texts; a text that is none stays text."""
    if isinstance(domain.values, range):
        return [int(t) if len(t) < 20 and t.isdecimal() and str(int(t)) == t else t for t in texts]
    by_text = {str(value): value for value in domain.values}
    return [by_text.get(text, text) for text in texts]


def _plain(value: Any) -> Any:
    """A number of Python's own; a whole one is an integer, as in a column of answers."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _places(domain: Domain, values: Iterable[Any]) -> list[int]:
    """Where values stand; -1 for what is none."""
    listed = not isinstance(domain.values, range)
    index = {value: k for k, value in enumerate(domain.values)} if listed else {}

    def place(value: Any) -> int:
        if domain.missing == "value" and value == NO_ANSWER:
            return domain.size - 1
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            return -1
        if listed:
            return index.get(value, -1)
        return value if isinstance(value, int) and value in domain.values else -1

    return [place(value) for value in values]
