"""Values of options: lists with commas, names with numbers, priors, attributes."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import ParameterError

if TYPE_CHECKING:
    from ...collect.codebook import Codebook
    from ...domain.values import Attribute, Missing

MENU = "levels are names with an epsilon each, such as strong=0.5,normal=2"
_BINS = "bins:"
_SYMBOLS = re.compile(r"(.)(?:-(.))?", re.DOTALL)


def _items(text: str) -> list[str]:
    items = [item.strip() for item in next(csv.reader([text], skipinitialspace=True), [])]
    if not items or not all(items):
        raise ParameterError(
            f"{text!r} has an empty entry; separate entries by single commas, such as a,b,c"
        )
    return items


def values_from(text: str) -> int | list[str] | list[int]:
    """Values, or their number: a,b,c or 4; in double quotes where one has a comma."""
    from ...domain.labels import plain_values

    values = plain_values(_items(text))
    if len(values) == 1 and isinstance(values[0], int):
        return values[0]
    return values


def numbers_from(
    text: str,
    option: str,
    hint: str = "give a number, or several separated by commas, such as 0.25,0.5",
    *,
    items: list[str] | None = None,
    kind: Callable[[str], Any] = float,
) -> list[Any]:
    """Numbers separated by commas, or those of the items that the text was divided into."""
    try:
        return [kind(item) for item in items or text.split(",")]
    except ValueError as error:
        raise ParameterError(f"{option} is {text!r}; {hint}") from error


def edges_from(text: str, option: str = "--edges") -> list[float]:
    """Edges of bins: 0,18,65,inf."""
    hint = "edges are numbers in increasing order, such as 0,18,65,inf"
    return numbers_from(text, option, hint, items=_items(text))


def alphabet_from(text: str) -> str:
    """Symbols of texts: abc or a-z0-9; a hyphen at the start or at the end stands for itself."""
    ranges = [(r[1], r[2] or r[1]) for r in _SYMBOLS.finditer(text)]
    symbols = [chr(code) for a, b in ranges for code in range(ord(a), ord(b) + 1)]
    if not symbols or len(set(symbols)) < len(symbols) or any(a > b for a, b in ranges):
        raise ParameterError(
            f"--alphabet is {text!r:.80}; give every symbol once, or ranges of them from the first "
            "to the last, such as abc or a-z0-9"
        )
    return "".join(symbols)


def levels_from(text: str, hint: str) -> dict[str, str]:
    """Names of levels, with what is said about each: strong=0.5,normal=2."""
    levels: dict[str, str] = {}
    for item in text.split(","):
        name, _, value = (part.strip() for part in item.rpartition("="))
        if not name:
            raise ParameterError(f"--levels is {text!r}; {hint}")
        if name in levels:
            raise ParameterError(f"--levels names {name!r} twice; give each level once")
        levels[name] = value
    return levels


def menu_from(text: str) -> dict[str, float]:
    """Levels with an epsilon each."""
    from ...checks import checked_epsilon

    menu: dict[str, float] = {}
    for name, value in levels_from(text, MENU).items():
        (epsilon,) = numbers_from(text, "--levels", MENU, items=[value])
        try:
            menu[name] = checked_epsilon(epsilon)
        except ParameterError as error:
            raise ParameterError(f"level {name!r}: {error}") from error
    return menu


def rates_from(text: str) -> float | list[float]:
    """One rate, or the grid of rates that people may have: 0.1 or 0.05,0.1,0.5."""
    hint = (
        "a rate is a number above 0 and at most 1, such as 0.1, or several of them separated by "
        "commas, such as 0.05,0.1,0.5"
    )
    rates = numbers_from(text, "--rate", hint)
    return rates[0] if len(rates) == 1 else rates


def attribute_from(text: str, missing: Missing, book: Codebook | None = None) -> Attribute:
    """An attribute of records: smokes=yes,no or size=4 or age=bins:0,18,65,inf.

    With a code book the name alone is enough.
    """
    from ...domain.values import Attribute

    name, sign, values = (part.strip() for part in text.partition("="))
    if book is not None and name and not sign:
        coding = book.of(name)
        return Attribute(name, coding.values, wording=coding.labels, missing=missing)
    if not sign or not name or not values:
        raise ParameterError(
            f"--attribute is {text!r}; give a name and its values, such as smokes=yes,no, or bins "
            "of a number, such as age=bins:0,18,65,inf; the name alone needs --codebook"
        )
    try:
        if values.startswith(_BINS):
            edges = edges_from(values.removeprefix(_BINS), _BINS)
            return Attribute(name, edges=edges, missing=missing)
        return Attribute(name, values_from(values), missing=missing)
    except ParameterError as error:
        raise ParameterError(
            f"--attribute {text!r}: {error}; values are written as {name}=a,b,c and bins of a "
            f"number as {name}={_BINS}0,18,65,inf"
        ) from error


def prior_from(
    text: str,
    option: str = "--prior",
    hint: str = "give one probability (of yes), several in the order of the values, or one for "
    "each name, such as yes=0.1,no=0.9",
) -> Any:
    """One number, several in order, or one per name: 0.1, 0.1,0.9 or yes=0.1,no=0.9."""
    items = [item.strip() for item in next(csv.reader([text], skipinitialspace=True), [])]
    named = [item.rpartition("=") for item in items]
    names = [name.strip() for name, _, _ in named]
    try:
        chances = [float(chance) for _, _, chance in named]
    except ValueError:
        chances = []
    some = [bool(name) for name in names]
    if not chances or (any(some) and not all(some)) or len(set(names)) < len(names) * any(some):
        raise ParameterError(f"{option} is {text!r}; {hint}")
    if all(some):
        from ...domain.labels import plain_values

        return dict(zip(plain_values(names), chances, strict=True))
    return chances[0] if len(chances) == 1 else chances
