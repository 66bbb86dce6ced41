"""Why an answer that looks like one of the values is not one of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

_MOST_COMPARED = 10_000  # values; a message is not worth more

#: What other programs write where there is no answer.
_NO_ANSWER = {"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", ".", "<na>"}

#: What may differ, from the least visible on.
_IGNORED: tuple[tuple[str, Callable[[str], str]], ...] = (
    (
        "in how its accents are encoded (Unicode NFC or NFD)",
        lambda t: unicodedata.normalize("NFC", t),
    ),
    ("in blanks or invisible characters", lambda t: _visible(t)),
    ("in capital letters", lambda t: _visible(t).casefold()),
)


def near_miss(answer: Any, values: Sequence[Any], empty: str = "None") -> str:
    """What is added to a refusal of the answer, where it is nearly one of the values.

    `empty` is what stands for a missing answer.

    Examples
    --------
    >>> near_miss(" car", ["car", "bike"])
    "; it differs from 'car' only in blanks or invisible characters"
    >>> near_miss(1, ["1", "2"])
    "; the value '1' is text, and the answer is a number"
    >>> near_miss("NA", ["car", "bike"])
    '; if it means that there is no answer, give None instead'
    """
    if isinstance(values, range):
        texts: Sequence[Any] = ()
        if isinstance(answer, str) and _is_number_in(answer, values):
            return f"; the value {int(answer)} is a number, and the answer is text"
    else:
        texts = values[:_MOST_COMPARED]
    if not isinstance(answer, str):
        other = next((v for v in texts if isinstance(v, str) and v == _as_text(answer)), None)
        kind = "True or False" if isinstance(answer, bool) else "a number"
        return "" if other is None else f"; the value {other!r} is text, and the answer is {kind}"
    for value in texts:
        if not isinstance(value, str) and str(value) == answer.strip():
            return f"; the value {value!r} is a number, and the answer is text"
    for where, key in _IGNORED:
        plain = key(answer)
        for value in texts:
            if isinstance(value, str) and key(value) == plain:
                return f"; it differs from {value!r} only {where}"
    return no_answer(answer, empty)


def no_answer(text: str, empty: str) -> str:
    """What is added to a refusal of a text that often means that there is no answer."""
    if text.strip().casefold() not in _NO_ANSWER:
        return ""
    return f"; if it means that there is no answer, give {empty} instead"


def _visible(text: str) -> str:
    """Without blanks around it, blanks of other kinds, and characters that nobody sees."""
    plain = unicodedata.normalize("NFC", text)
    seen = "".join(sign for sign in plain if unicodedata.category(sign) not in ("Cf", "Cc"))
    return " ".join(seen.split())


def _as_text(answer: Any) -> str:
    whole = isinstance(answer, float) and answer.is_integer()
    return str(int(answer) if whole else answer)


def _is_number_in(text: str, values: range) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 11 and int(text) in values
