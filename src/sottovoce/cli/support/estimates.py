"""Estimates on the screen and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    table_of,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ...contract.collection import Collection
    from ...estimate.estimate import Estimate

MOST_ROWS = 40
_MOST_LABEL = 28
_LEAST_BAR, _MOST_BAR = 8, 40
_MOST_LEVEL_ROWS, _MOST_LEVEL_LABEL = 12, 20


def tidy_rows(
    estimate: Estimate, confidence: float, *, simultaneous: bool = False
) -> list[dict[str, Any]]:
    """The tidy table as rows for JSON, where what is not a number is null."""
    rows = estimate.rows(confidence, simultaneous=simultaneous)
    return [{key: None if x != x else x for key, x in row.items()} for row in rows]


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
    from rich.text import Text

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
    shown = {k: rows[k] for k in order}
    columns = _columns(estimate, shown, confidence, truth, others or {})
    room = out.width - sum(max(map(len, [title, *cells])) + 2 for title, _, cells in columns)
    if room < 0:
        columns = _columns(estimate, shown, confidence, truth, others or {}, narrow=True)
    table = table_of(out, [(title, side) for title, side, _ in columns])
    for column in table.columns if room < 0 else ():
        if column.justify == "left":
            column.no_wrap, column.overflow = False, "fold"
    texts = [[Text(cell) for cell in cells] for _, _, cells in columns]
    if estimate.fractions and room >= _LEAST_BAR:
        table.add_column("", no_wrap=True)
        texts.append(
            _bars(
                list(shown.values()),
                min(_MOST_BAR, room),
                blocks=out.encoding.lower().startswith("utf"),
            )
        )
    for row in zip(*texts, strict=True):
        table.add_row(*row)
    show_table(out, table, keep=True)
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


def _columns(
    estimate: Estimate,
    rows: Mapping[int, Mapping[str, Any]],
    confidence: float,
    truth: Mapping[Any, float] | None,
    others: Mapping[str, Estimate],
    *,
    narrow: bool = False,
) -> list[tuple[str, str, list[str]]]:
    """The title, side and cells of every column; titles may be equal."""
    from ...estimate.display import NUMBERS, Format, p_value_words

    first, *_ = rows.values()
    columns = [
        (name, "left", [_shorten(printable(row[name]), _MOST_LABEL) for row in rows.values()])
        for name in first
        if name not in NUMBERS
    ]
    for name, other in () if narrow else others.items():
        own = Format.of(other)
        cells = [own.number(float(other.values[k])) + own.suffix for k in rows]
        columns.append((printable(name), "right", cells))
    written = Format.of(estimate)
    suffix = "" if narrow else written.suffix
    units = {"fraction": "fraction", "points": "difference"}
    interval = f"{100 * confidence:g} % interval"
    if narrow:
        units = {"fraction": "%", "points": "points"}
        interval = interval.replace(" i", "\ni")
    numbers: dict[str, Callable[[Mapping[str, Any]], str]] = {
        units.get(estimate.unit, "estimate"): lambda row: written.number(row["estimate"]) + suffix,
        interval: lambda row: written.interval(row["low"], row["high"]) + suffix,
    }
    if truth is not None:
        numbers["truth"] = lambda row: written.number(truth[row["value"]]) + suffix
        if not narrow:
            numbers["covered"] = lambda row: (
                "yes" if row["low"] <= truth[row["value"]] <= row["high"] else "no"
            )
    if "p_value" in first:
        numbers["p"] = lambda row: p_value_words(row["p_value"]).strip()
    return columns + [
        (title, "right", [cell(row) for row in rows.values()]) for title, cell in numbers.items()
    ]


def _bars(rows: Sequence[Mapping[str, Any]], width: int, *, blocks: bool) -> list[Text]:
    ends = (x for row in rows for x in (row["high"], row["estimate"]))
    most = max((x for x in ends if x == x), default=1.0)
    bars = []
    for row in rows:
        value, low, high = (
            0.0 if row[x] != row[x] else row[x] for x in ("estimate", "low", "high")
        )
        bars.append(bar(value, low, high, most, width, blocks=blocks))
    return bars


def _shorten(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def noise_words(sampled: bool, *, population: bool = False) -> str:
    """What intervals measure: of what, and for whom."""
    noise = f"the noise that {'privacy and sampling add' if sampled else 'privacy adds'}"
    if population:
        return f"{noise} and the sampling of people, for the population"
    return f"{noise}, for the people who {'were asked' if sampled else 'reported'}"


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
