"""What people write in options: lists with commas, and names with numbers."""

from __future__ import annotations

import csv

from ...errors import ParameterError


def _items(text: str) -> list[str]:
    items = [item.strip() for item in next(csv.reader([text], skipinitialspace=True), [])]
    if not items or not all(items):
        raise ParameterError(
            f"{text!r} has an empty entry; separate entries by single commas, such as a,b,c"
        )
    return items


def values_from(text: str) -> int | list[str] | list[int]:
    """Values, or their number: a,b,c or 4; in double quotes where one has a comma."""
    items = _items(text)
    # "007" stays text: it would not be found again as the number 7.
    if not all(item.removeprefix("-").isdecimal() and str(int(item)) == item for item in items):
        return items
    return int(items[0]) if len(items) == 1 else [int(item) for item in items]


def edges_from(text: str) -> list[float]:
    """Edges of bins: 0,18,65,inf."""
    try:
        return [float(item) for item in _items(text)]
    except ValueError as error:
        raise ParameterError(
            f"--edges is {text!r}; edges are numbers in rising order, such as 0,18,65,inf"
        ) from error


def menu_from(text: str) -> dict[str, float]:
    """Levels as people write them: strong=0.5,normal=2."""
    from ...checks import checked_epsilon

    menu: dict[str, float] = {}
    for item in text.split(","):
        name, _, value = (part.strip() for part in item.rpartition("="))
        if not name or not _is_number(value):
            raise ParameterError(
                f"--levels is {text!r}; levels are names with an epsilon each, such as "
                "strong=0.5,normal=2"
            )
        if name in menu:
            raise ParameterError(f"--levels names {name!r} twice; give each level once")
        try:
            menu[name] = checked_epsilon(float(value))
        except ParameterError as error:
            raise ParameterError(f"level {name!r}: {error}") from error
    return menu


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def rates_from(text: str) -> float | list[float]:
    """One rate, or the grid of rates that people may have: 0.1 or 0.05,0.1,0.5."""
    try:
        rates = [float(item) for item in text.split(",")]
    except ValueError as error:
        raise ParameterError(
            f"--rate is {text!r}; a rate is a number above 0 and at most 1, such as 0.1, or "
            "several of them with commas, such as 0.05,0.1,0.5"
        ) from error
    return rates[0] if len(rates) == 1 else rates
