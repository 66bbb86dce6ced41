"""Estimates on the screen and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .show import (
    bar,
    decimals_for,
    percent,
    plural,
    printable,
    show_rows,
    show_table,
    shows_blocks,
    table_of,
)
from .tables import tidy_rows

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ...estimate.estimate import Estimate

MOST_ROWS = 40
_MOST_LABEL = 28
_LEAST_BAR, _MOST_BAR = 8, 40
_MOST_LEVEL_ROWS, _MOST_LEVEL_LABEL = 12, 20


def estimate_json(
    estimate: Estimate,
    confidence: float,
    reports: int,
    picture: Path | None,
    *,
    simultaneous: bool = False,
) -> dict[str, Any]:
    """Plain data, for JSON."""
    together = {"simultaneous": estimate.simultaneous(confidence).method} if simultaneous else {}
    return {
        "attribute": estimate.name,
        "people": estimate.n,
        "reports": reports,
        "method": estimate.method,
        "biased": estimate.biased,
        "assuming": estimate.assuming,
        "error_from": estimate.error_from,
        "confidence": confidence,
        **together,
        "values": tidy_rows(estimate, confidence, simultaneous=simultaneous),
        "plot": None if picture is None else str(picture),
        "guarantee": estimate.guarantee.as_dict(),
    }


def show_estimate(
    out: Console,
    estimate: Estimate,
    confidence: float = 0.95,
    truth: Mapping[Any, float] | None = None,
    *,
    simultaneous: bool = False,
    sort: bool = False,
    others: Mapping[str, Estimate] | None = None,
) -> None:
    """What each value is, its estimate, interval and a bar, or its p-value.

    With the truth also whether the interval covers it, and with `others` a column for each of them
    before the estimate. Where the screen is too narrow, bars and units go first, then labels are
    broken into lines.
    """
    rows = estimate.rows(confidence, simultaneous=simultaneous)
    if not rows:
        out.print("No text is frequent enough to be listed; more people would show rarer ones.")
        return
    order = list(range(len(rows)))
    if sort or len(rows) > MOST_ROWS:
        order.sort(key=lambda k: -abs(rows[k]["estimate"]))
    order = order[:MOST_ROWS]
    if not sort:
        order.sort()
    wide = _Columns(estimate, rows, order, confidence, truth, others or {})
    room = out.width - wide.width
    if room < 0:
        wide = _Columns(estimate, rows, order, confidence, truth, others or {}, narrow=True)
    show_table(out, wide.table(out, room), keep=True)
    if len(rows) > MOST_ROWS:
        out.print(f"\nThe {MOST_ROWS} largest of {len(rows):,} values; --csv and --json have all.")
    false = getattr(estimate, "false_positive_rate", None)
    if false is not None:
        out.print(
            "\nThe intervals hold for all texts at once. The list has a text that nobody holds "
            f"with a probability of at most {percent(false, 1)}.",
            style="dim",
        )
    elif simultaneous:
        method = estimate.simultaneous(confidence).method
        out.print(f"\nThe intervals hold for all values at once ({method}).", style="dim")


class _Columns:
    """The titles and cells of a table of estimates."""

    def __init__(
        self,
        estimate: Estimate,
        rows: Sequence[Mapping[str, Any]],
        order: Sequence[int],
        confidence: float,
        truth: Mapping[Any, float] | None,
        others: Mapping[str, Estimate],
        *,
        narrow: bool = False,
    ) -> None:
        from ...estimate.display import NUMBERS, Format, p_value_words

        self.narrow, self.fractions = narrow, estimate.fractions
        self.rows = [rows[k] for k in order]
        written = Format.of(estimate)
        suffix = "" if narrow else written.suffix
        names = [name for name in self.rows[0] if name not in NUMBERS]
        self.columns: dict[str, list[str]] = {
            name: [_shorten(printable(row[name]), _MOST_LABEL) for row in self.rows]
            for name in names
        }
        self.labels = len(names)
        for name, other in () if narrow else others.items():
            own = Format.of(other)
            cells = [own.number(float(other.values[k])) + own.suffix for k in order]
            self.columns[printable(name)] = cells
        title = {"fraction": "fraction", "points": "difference"}
        if narrow:
            title = {"fraction": "%", "points": "points"}
        self.columns[title.get(estimate.unit, "estimate")] = [
            written.number(row["estimate"]) + suffix for row in self.rows
        ]
        level = f"{100 * confidence:g} % interval"
        self.columns[level.replace(" i", "\ni") if narrow else level] = [
            written.interval(row["low"], row["high"]) + suffix for row in self.rows
        ]
        if truth is not None:
            true = [truth[row["value"]] for row in self.rows]
            inside = [
                row["low"] <= t <= row["high"] for row, t in zip(self.rows, true, strict=True)
            ]
            self.columns["truth"] = [written.number(t) + suffix for t in true]
            if not narrow:
                self.columns["covered"] = ["yes" if yes else "no" for yes in inside]
        if "p_value" in self.rows[0]:
            self.columns["p"] = [p_value_words(row["p_value"]).strip() for row in self.rows]

    @property
    def width(self) -> int:
        """How wide the columns are, without bars."""
        return sum(max(map(len, [title, *cells])) + 2 for title, cells in self.columns.items())

    def table(self, out: Console, room: int) -> Table:
        """The table; bars where there is room for them."""
        from rich.text import Text

        sides = ["left" if k < self.labels else "right" for k in range(len(self.columns))]
        table = table_of(out, list(zip(self.columns, sides, strict=True)))
        if self.narrow:
            for column in table.columns[: self.labels]:
                column.no_wrap, column.overflow = False, "fold"
        bars = self.fractions and room >= _LEAST_BAR
        if bars:
            table.add_column("", no_wrap=True)
        ends = (x for row in self.rows for x in (row["high"], row["estimate"]))
        most = max((x for x in ends if x == x), default=1.0)
        for row, *cells in zip(self.rows, *self.columns.values(), strict=True):
            texts = [Text(cell) for cell in cells]
            if bars:
                numbers = (row["estimate"], row["low"], row["high"])
                value, low, high = (0.0 if x != x else x for x in numbers)
                width = min(_MOST_BAR, room)
                texts.append(bar(value, low, high, most, width, blocks=shows_blocks(out)))
            table.add_row(*texts)
        return table


def _shorten(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def show_levels(out: Console, parts: Mapping[str, Estimate], confidence: float) -> None:
    """A column per level where they fit, else a table per level."""
    first = next(iter(parts.values()))
    if len(first.labels) <= _MOST_LEVEL_ROWS:
        labels = [_shorten(printable(label), _MOST_LEVEL_LABEL) for label in first.labels]
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
