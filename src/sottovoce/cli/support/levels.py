"""Levels and rates: an estimate of each level on its own, and who was asked and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...checks import label_words, printable
from .command import percent, plural, show_rows
from .estimates import decimals_for, shorten, show_estimate, tidy_rows

if TYPE_CHECKING:
    from rich.console import Console

    from ...contract.collection import Collection
    from ...estimate.estimate import Estimate

_MOST_ROWS, _MOST_LABEL = 12, 20


def levels_json(
    collection: Collection, parts: Mapping[str, Estimate], confidence: float = 0.95
) -> list[dict[str, Any]]:
    """The estimates of each level on its own, for JSON; with the largest epsilon promised there."""
    return [
        {
            "level": name,
            "epsilon": max(one.epsilon for one in collection.guarantee_at(name).promises),
            "people": part.n,
            "values": tidy_rows(part, confidence),
        }
        for name, part in parts.items()
    ]


def show_levels(out: Console, parts: Mapping[str, Estimate], confidence: float) -> None:
    """A column per level where they fit, else a table per level."""
    first = next(iter(parts.values()))
    if len(first.labels) <= _MOST_ROWS:
        labels = [shorten(label_words(label), _MOST_LABEL) for label in first.labels]
        columns = [["", "people", *labels]]
        for name, part in parts.items():
            columns.append([printable(name), f"{part.n:,}", *_cells(part, confidence)])
        if sum(max(map(len, column)) + 2 for column in columns) <= out.width:
            titles, *rows = zip(*columns, strict=True)
            show_rows(out, titles, rows)
            return
    for name, part in parts.items():
        out.print(f"\n{printable(name)}: {plural(part.n, 'person', 'people')}")
        show_estimate(out, part, confidence)


def _cells(part: Estimate, confidence: float) -> list[str]:
    low, high = part.interval(confidence)
    half = (high - low) / 2
    if not part.fractions:
        return [f"{v:.4g} ± {h:.3g}" for v, h in zip(part.values, half, strict=True)]
    decimals = decimals_for(float(part.std_error.max()))
    return [
        f"{percent(v, decimals).removesuffix(' %')} ± {percent(h, decimals)}"
        for v, h in zip(part.values.tolist(), half.tolist(), strict=True)
    ]


def show_turnout(out: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Asked and reported, a line per way to take part."""
    named = any(row["level"] is not None for row in rows)
    cells = [
        [
            *([printable(row["level"])] if named else []),
            *(f"{row['rate']:g}", f"{row['asked']:,}", f"{row['reported']:,}"),
            percent(row["reported"] / row["asked"], 1) if row["asked"] else "–",
        ]
        for row in rows
    ]
    titles = ["level", "rate", "asked", "reported", "fraction"][not named :]
    show_rows(out, titles, cells, left=int(named))
