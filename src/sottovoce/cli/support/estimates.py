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
    show_table,
    shows_blocks,
    table_of,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ...estimate.estimate import Estimate

MOST_ROWS = 40
_MOST_LABEL = 28
_LEAST_BAR, _MOST_BAR = 8, 40
_MOST_LEVEL_ROWS, _MOST_LEVEL_LABEL = 12, 20


def estimate_json(
    estimate: Estimate, confidence: float, reports: int, picture: Path | None
) -> dict[str, Any]:
    """Plain data, for JSON."""
    return {
        "attribute": estimate.name,
        "people": estimate.n,
        "reports": reports,
        "method": estimate.method,
        "biased": estimate.biased,
        "assuming": estimate.assuming,
        "error_from": estimate.error_from,
        "confidence": confidence,
        "values": estimate.rows(confidence),
        "plot": None if picture is None else str(picture),
        "guarantee": estimate.guarantee.as_dict(),
    }


def show_estimate(
    out: Console,
    estimate: Estimate,
    confidence: float = 0.95,
    truth: Mapping[Any, float] | None = None,
) -> None:
    """Value, fraction, interval and a bar; with the truth, whether the interval covers it."""
    show_table(out, _estimate_table(out, estimate, confidence, truth))
    if estimate.values.size > MOST_ROWS:
        out.print(
            f"\nThe {MOST_ROWS} largest of {estimate.values.size:,} values; --json lists all."
        )


def _estimate_table(
    out: Console,
    estimate: Estimate,
    confidence: float,
    truth: Mapping[Any, float] | None = None,
) -> Table:
    from rich.text import Text

    if not estimate.fractions:
        return _quantities(out, estimate, confidence)
    rows = estimate.rows(confidence)
    if len(rows) > MOST_ROWS:
        largest = sorted(rows, key=lambda row: -row["estimate"])[:MOST_ROWS]
        rows = [row for row in rows if row in largest]
    decimals = decimals_for(max(row["std_error"] for row in rows))
    most = max(max(row["high"], row["estimate"]) for row in rows)
    columns = [
        ("value", "left"),
        ("fraction", "right"),
        (f"{100 * confidence:g} % interval", "right"),
    ]
    if truth is not None:
        columns += [("truth", "right"), ("covered", "left")]
    cells = []
    for row in rows:
        low, high = (round(100 * row[end], decimals) + 0.0 for end in ("low", "high"))
        line = [
            _shorten(printable(row["value"]), _MOST_LABEL),
            percent(row["estimate"], decimals),
            f"{low:.{decimals}f} to {high:.{decimals}f} %",
        ]
        if truth is not None:
            true = truth[row["value"]]
            covered = row["low"] <= true <= row["high"]
            line += [percent(true, decimals), "yes" if covered else "no"]
        cells.append(line)
    used = sum(
        max(len(title), *(len(line[k]) for line in cells)) + 2
        for k, (title, _) in enumerate(columns)
    )
    width = min(_MOST_BAR, out.width - used)
    table = table_of(out, columns)
    if width >= _LEAST_BAR:
        table.add_column("", no_wrap=True)
    for row, line in zip(rows, cells, strict=True):
        texts = [Text(cell) for cell in line]
        if width >= _LEAST_BAR:
            ends = (row["estimate"], row["low"], row["high"], most)
            texts.append(bar(*ends, width, blocks=shows_blocks(out)))
        table.add_row(*texts)
    return table


def _quantities(out: Console, estimate: Estimate, confidence: float) -> Table:
    """Means and variances, in the units of the question."""
    titles = [("", "left"), ("estimate", "right"), (f"{100 * confidence:g} % interval", "right")]
    table = table_of(out, titles)
    for row in estimate.rows(confidence):
        interval = f"{row['low']:.6g} to {row['high']:.6g}"
        table.add_row(str(row["value"]), f"{row['estimate']:.6g}", interval)
    return table


def _shorten(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def show_levels(out: Console, parts: Mapping[str, Estimate], confidence: float) -> None:
    """A column per level where they fit, else a table per level."""
    columns = _level_columns(out, parts, confidence)
    if columns is not None:
        show_table(out, columns)
        return
    for name, part in parts.items():
        out.print(f"\n{printable(name)}: {plural(part.n, 'person', 'people')}")
        show_table(out, _estimate_table(out, part, confidence))


def _level_columns(out: Console, parts: Mapping[str, Estimate], confidence: float) -> Table | None:
    first = next(iter(parts.values()))
    if len(first.labels) > _MOST_LEVEL_ROWS:
        return None
    labels = [_shorten(printable(label), _MOST_LEVEL_LABEL) for label in first.labels]
    columns = {
        printable(name): [f"{part.n:,}", *_cells(part, confidence)] for name, part in parts.items()
    }
    widths = [max(len(name), *map(len, cells)) + 2 for name, cells in columns.items()]
    if max(map(len, [*labels, "people"])) + 2 + sum(widths) > out.width:
        return None
    table = table_of(out, [("", "left"), *((name, "right") for name in columns)])
    for k, label in enumerate(["people", *labels]):
        table.add_row(label, *(cells[k] for cells in columns.values()))
    return table


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
    columns = [("level", "left")] * named
    columns += [("rate", "right"), ("asked", "right"), ("reported", "right"), ("fraction", "right")]
    table = table_of(out, columns)
    for row in rows:
        fraction = percent(row["reported"] / row["asked"], 1) if row["asked"] else "–"
        level = [printable(row["level"])] if named else []
        numbers = (f"{row['rate']:g}", f"{row['asked']:,}", f"{row['reported']:,}")
        table.add_row(*level, *numbers, fraction)
    show_table(out, table)
