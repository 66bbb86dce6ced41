"""Estimates on the screen and as JSON."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...checks import label_words, printable
from .command import percent, show_table, table_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ...estimate.estimate import Estimate

MOST_ROWS = 40
_MOST_LABEL = 28
_LEAST_BAR, _MOST_BAR = 8, 40


def tidy_rows(
    estimate: Estimate, confidence: float, *, simultaneous: bool = False
) -> list[dict[str, Any]]:
    """The tidy table as rows for JSON, where what is not a number is null."""
    rows = estimate.rows(confidence, simultaneous=simultaneous)
    return [{key: None if x != x else x for key, x in row.items()} for row in rows]


def estimate_json(
    estimate: Estimate,
    reports: int,
    confidence: float,
    *,
    simultaneous: bool = False,
    picture: Path | None = None,
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
    from rich.text import Text

    rows = estimate.rows(confidence, simultaneous=simultaneous)
    if not rows:
        out.print("No text is frequent enough to be listed; more people would show rarer ones.")
        return
    order = list(range(len(rows)))
    if sort or len(rows) > MOST_ROWS:
        size = float if estimate.fractions else abs  # a fall is as large as a rise
        order.sort(key=lambda k: -size(rows[k]["estimate"]))
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
        (name, "left", [shorten(label_words(row[name]), _MOST_LABEL) for row in rows.values()])
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
        bars.append(_bar(value, low, high, most, width, blocks=blocks))
    return bars


def _bar(value: float, low: float, high: float, most: float, width: int, *, blocks: bool) -> Text:
    """A bar up to `value`, pale between `low` and `high`; in plain signs without `blocks`."""
    from rich.text import Text

    def cells(x: float) -> int:
        return round(min(max(x / most, 0.0), 1.0) * width) if most > 0 else 0

    sure, middle, end = cells(low), cells(value), cells(high)
    signs = ("█", "▓", "░") if blocks else ("#", "=", "-")
    text = Text(no_wrap=True)
    text.append(signs[0] * sure, style="blue")
    text.append(signs[1] * (middle - sure), style="blue")
    text.append(signs[2] * (end - middle), style="bright_black")
    return text


def shorten(label: str, most: int) -> str:
    """A label, shortened where it is too long for its column."""
    return label if len(label) <= most else label[: most - 1] + "…"


def decimals_for(std_error: float) -> int:
    """As many decimals of a percentage as are meaningful given the standard error."""
    if not std_error > 0:
        return 1
    return min(6, max(1, math.ceil(-math.log10(100 * std_error))))


def noise_words(sampled: bool, *, population: bool = False) -> str:
    """What intervals measure: of what, and for whom."""
    noise = f"the noise that {'privacy and sampling add' if sampled else 'privacy adds'}"
    if population:
        return f"{noise} and the sampling of people, for the population"
    return f"{noise}, for the people who {'were asked' if sampled else 'reported'}"


@contextmanager
def noted() -> Iterator[list[str]]:
    """The warnings raised inside, each once, for JSON; they are also shown as usual."""
    messages: list[str] = []
    before = warnings.showwarning

    def show(message: Warning | str, *arguments: Any, **options: Any) -> None:
        if str(message) not in messages:
            messages.append(str(message))
        before(message, *arguments, **options)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield messages
