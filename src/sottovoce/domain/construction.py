"""What `repr` shows of a question: the call that makes it, with the first few of many values."""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import Repr
from typing import Any

from .columns import shown

_SHORT = Repr()
_SHORT.maxstring = 60
_SHORT.maxlist = 6


def call(name: str, *arguments: str, **options: str | None) -> str:
    """A call in words; options that are None are left out.

    Examples
    --------
    >>> call("Range", "'age'", "0", "120", clip="True", missing=None)
    "Range('age', 0, 120, clip=True)"
    """
    named = (f"{key}={value}" for key, value in options.items() if value is not None)
    return f"{name}({', '.join((*arguments, *named))})"


def few(values: Sequence[Any] | None) -> str | None:
    """The first of the values; d for 0..d-1.

    Examples
    --------
    >>> few(range(1000)), few("abcdefgh")
    ('1000', "['a', 'b', 'c', 'd', 'e', 'f', ...]")
    """
    if values is None:
        return None
    if isinstance(values, range):
        return str(len(values))
    return _SHORT.repr(list(values[: _SHORT.maxlist + 1]))


def numbers(edges: Sequence[float]) -> str:
    """Bin edges as people write them."""
    return f"[{', '.join(map(shown, edges))}]"


def text(value: str) -> str:
    """The beginning and the end of a long text."""
    return _SHORT.repr(value)


def unusual(value: Any, usual: Any) -> str | None:
    """An option that differs from its default."""
    return None if value == usual else repr(value)
