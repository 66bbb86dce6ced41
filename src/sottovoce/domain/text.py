"""Text from outside, made safe to show: it cannot control a terminal or a page."""

from __future__ import annotations

import unicodedata


def printable(text: object) -> str:
    r"""The text with control characters, and marks that reorder or hide letters, escaped.

    Examples
    --------
    >>> printable("red\x1b[31m, \u202eright to left")
    'red\\x1b[31m, \\u202eright to left'
    """
    return "".join(map(_shown, str(text)))


def _shown(sign: str) -> str:
    if sign.isprintable():
        return sign
    if unicodedata.category(sign) == "Zs":  # a space of another width
        return " "
    return sign.encode("unicode_escape").decode("ascii")
