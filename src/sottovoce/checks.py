"""Numbers, counts, rates, probabilities and names: the one place that says what is allowed.

And text from outside, made safe to show.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from html import escape
from numbers import Integral, Real
from typing import Any

from .errors import ParameterError

MOST_EPSILON = 20.0
_EXACT = re.compile(r"[0-9./]+([eE][+-]?[0-9]{1,3})?")


def number(
    value: Any, name: str, allowed: str, good: Callable[[float], bool] = math.isfinite
) -> float:
    """A finite number as a float, if it is `good`; booleans, text and NaN are refused."""
    checked = math.nan
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            value = checked = float(value)
        except OverflowError:
            value = math.inf
    if not (math.isfinite(checked) and good(checked)):
        raise ParameterError(f"{name} is {value!r}; it must be {allowed}")
    return checked


def checked_rate(rate: Any, name: str = "rate") -> float:
    """A probability of taking part, above 0 and at most 1."""
    allowed = "a probability above 0 (otherwise nobody reports) and at most 1, such as 0.1"
    return number(rate, name, allowed, lambda value: 0 < value <= 1)


def checked_delta(delta: Any, name: str = "delta") -> float:
    """A probability of at least 0 and below 1."""
    allowed = "a probability of at least 0 and below 1, such as 1e-6"
    return number(delta, name, allowed, lambda value: 0 <= value < 1)


def positive_delta(delta: Any) -> float:
    """A delta above 0, where there is no pure account."""
    return checked_positive(checked_delta(delta), "delta")


def checked_loss(epsilon: Any) -> float:
    """A central epsilon at which a delta is computed: 0 is allowed, and there is no upper limit."""
    return number(epsilon, "epsilon", "a number of at least 0", lambda value: value >= 0)


def checked_positive(value: Any, name: str) -> float:
    """A number above 0."""
    return number(value, name, "a number above 0", lambda checked: checked > 0)


def checked_count(count: Any, name: str, least: int, most: int | None = None) -> int:
    """A whole number of at least `least`, and of at most `most`."""
    whole = isinstance(count, Integral) and not isinstance(count, bool)
    if not whole or count < least or (most is not None and count > most):
        allowed = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise ParameterError(f"{name} is {count!r:.80}; it must be a whole number {allowed}")
    return int(count)


def checked_epsilon(epsilon: Any) -> float:
    """A privacy parameter as a float, or an error that says what is allowed."""
    allowed = (
        f"a number above 0 (0 would carry no information) and at most {MOST_EPSILON:g} (more would "
        "hide nothing); 1 is a common choice"
    )
    return number(epsilon, "epsilon", allowed, lambda value: 0 < value <= MOST_EPSILON)


def check_choice(value: Any, name: str, choices: Sequence[str]) -> None:
    """Refuse what is not one of a few words."""
    if value not in choices:
        *others, last = map(repr, choices)
        raise ParameterError(f"{name} is {value!r:.80}; it is {', '.join(others)} or {last}")


def checked_name(name: object, what: str = "an attribute") -> str:
    """What a question is called: a text that is not empty."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(f"{what} needs a name, a non-empty text; {name!r} was given")
    return name


def fraction_of(text: str) -> Fraction:
    """The number that a text such as 0.1, 1e-3 or 1/3 stands for, exactly.

    `Fraction` would write out all digits of 1e999999999.

    Raises
    ------
    ValueError, ZeroDivisionError
        For anything else.

    Examples
    --------
    >>> fraction_of("0.1"), fraction_of("2/6")
    (Fraction(1, 10), Fraction(1, 3))
    """
    if not _EXACT.fullmatch(text):
        raise ValueError("not a number above 0 with at most three digits in its exponent")
    return Fraction(text)


def rounded_up(value: float, digits: int) -> str:
    """The number in that many digits, rounded up: words never promise more than is true."""
    short = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value))
    return f"{float(short):.{digits}g}"


def decimals_of(values: Iterable[float]) -> int:
    """How many decimals show the smallest of some numbers with three digits."""
    least = min((abs(value) for value in values if value), default=1.0)
    return max(0, 2 - math.floor(math.log10(least)))


def float_above(exact: Fraction) -> float:
    """The smallest float that is not below an exact number."""
    try:
        near = float(exact)
    except OverflowError:
        return math.inf
    return math.nextafter(near, math.inf) if Fraction(near) < exact else near


def printable(text: object) -> str:
    r"""The text with everything escaped that could control a terminal or a page.

    Those are control characters, and marks that reorder or hide letters.

    Examples
    --------
    >>> printable("red\x1b[31m, \u202eright to left")
    'red\\x1b[31m, \\u202eright to left'
    """
    return "".join(map(_printable_sign, str(text)))


def label_words(label: object) -> str:
    """A label for a table, where that of the empty text must be seen, too."""
    return printable(label) or '""'


def text_width(text: str) -> int:
    """How many columns of a terminal the text takes: letters of East Asia two, accents none.

    Examples
    --------
    >>> text_width("日本"), text_width("Zu\N{COMBINING DIAERESIS}rich")
    (4, 6)
    """
    alone = (sign for sign in text if not unicodedata.combining(sign))
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in alone)


def _printable_sign(sign: str) -> str:
    if sign.isprintable():
        return sign
    if unicodedata.category(sign) == "Zs":  # a space of another width
        return " "
    return sign.encode("unicode_escape").decode("ascii")


def html_table(
    title: object, rows: Sequence[Sequence[object]], *, head: bool, end: str = ""
) -> str:
    """A table for notebooks: names to the left, numbers to the right with their digits aligned.

    With `head` the first row is that of the titles, else rows are names and what they are; `end` is
    a paragraph below the table.
    """
    body = []
    cells_of = zip(*(map(str, row) for row in rows[1:]), strict=True)
    numeric = [head and all(cell[:1] in "0123456789-±–" for cell in column) for column in cells_of]
    sides = ["right" if k and right else "left" for k, right in enumerate(numeric)]
    for k, row in enumerate(rows):
        tag = "th" if head and k == 0 else "td"
        cells = (
            f"<{tag} style='text-align:{side};font-variant-numeric:tabular-nums'>"
            f"{escape(printable(cell))}</{tag}>"
            for cell, side in zip(row, sides, strict=True)
        )
        body.append(f"<tr>{''.join(cells)}</tr>")
    last = f"<p>{escape(printable(end))}</p>" if end else ""
    return f"<div><b>{escape(printable(title))}</b><table>{''.join(body)}</table>{last}</div>"
