"""Estimates as text, as HTML for notebooks, as CSV and as data frames."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import label_words, printable, text_width
from ..errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from .estimate import Estimate

_MOST_HTML_ROWS = 50
_ROUNDING = 1e-12  # of fractions that sum to one
#: The columns of a tidy table that hold numbers; all before them say what a value is.
NUMBERS = ("estimate", "std_error", "low", "high", "p_value")
_CSV_ROWS = 1 << 16  # written at a time
_BACKENDS = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True)
class Format:
    """How the numbers of one estimate are written: with equal digits in every row."""

    unit: str  # of the estimate; fractions are shown in per cent, differences of them in points
    decimals: int  # as many as the errors make meaningful

    @classmethod
    def of(cls, estimate: Estimate) -> Format:
        """The format of an estimate, by its largest standard error (or half an interval)."""
        error = float(np.nanmax(estimate.std_error, initial=0.0))
        if not error > (_ROUNDING if estimate.unit else 0):
            low, high = estimate.interval()
            error = float(np.nanmax(high - low, initial=0.0)) / 4
        error *= 100 if estimate.unit else 1
        if not 0 < error < math.inf:
            return cls(estimate.unit, 1)
        digits = math.ceil(-math.log10(error))
        if estimate.unit:
            return cls(estimate.unit, min(6, max(1, digits)))
        return cls(estimate.unit, min(12, max(0, digits + 1)))

    def number(self, value: float) -> str:
        """One number without its unit; never "-0.0", and a sign before differences."""
        if value != value:
            return "–"
        rounded = round(value * (100 if self.unit else 1), self.decimals) + 0.0
        return f"{rounded:{'+' if self.unit == 'points' else ''},.{self.decimals}f}"

    def interval(self, low: float, high: float) -> str:
        """Both ends, without the unit."""
        return f"{self.number(low)} to {self.number(high)}"

    @property
    def suffix(self) -> str:
        """What follows a number."""
        return " %" if self.unit == "fraction" else ""

    @property
    def title(self) -> str:
        """The title of a column of such numbers."""
        return {"fraction": "fraction", "points": "difference in points"}.get(self.unit, "estimate")


def p_value_words(p: float) -> str:
    """A p-value with equal digits; never zero."""
    return "–" if p != p else "<.0001" if p < 1e-4 else f"{p:.4f}".lstrip("0").rjust(6)


def to_text(estimate: Estimate) -> str:
    """A table in plain text."""
    columns = estimate.columns()
    low, high = columns["low"], columns["high"]
    shown = min(estimate.values.size, 20)
    labels = [label_words(label) for label in estimate.labels[:shown]]
    width = max(map(text_width, ["value", *labels]))
    tested = columns.get("p_value")
    lines = [_title(estimate)]
    what = "difference" if estimate.unit == "points" else "estimate"
    decimals = 4 if estimate.unit else Format.of(estimate).decimals
    value, least, most = (
        [f"{x:,.{decimals}f}" for x in numbers[:shown]] for numbers in (estimate.values, low, high)
    )
    room = max(map(len, [what, *value]))
    left, right = max([8, *map(len, least)]), max([7, *map(len, most)])
    end = "" if tested is None else "  p-value"
    title = f"{'95 % interval':^{left + len(' to ') + right}}{end}"
    lines.append(f"{'value':<{width}}  {what:>{room}}  {title}".rstrip())
    lines += [
        label
        + " " * (width - text_width(label))
        + f"  {value[k]:>{room}}  {least[k]:>{left}} to {most[k]:>{right}}"
        + ("" if tested is None else f"   {p_value_words(tested[k])}")
        for k, label in enumerate(labels)
    ]
    if estimate.values.size > shown:
        lines.append(f"… and {estimate.values.size - shown:,} more values")
    if estimate.assuming:
        lines += wrap(f"Assuming: {printable(estimate.assuming)}.", 79, subsequent_indent="  ")
    return "\n".join(lines)


def to_line(estimate: Estimate) -> str:
    """What it is, without its numbers."""
    many = estimate.values.size
    return f"<{type(estimate).__name__} {_title(estimate)}, {many:,} value{'s' * (many != 1)}>"


def _title(estimate: Estimate) -> str:
    """What it is, and of how many reports."""
    of = "" if estimate.reports in (None, estimate.n) else f" from {estimate.n:,} people"
    name = printable(estimate.name) or "estimate"
    return f"{name}: {estimate._sent:,} {estimate.counted}{of}, {estimate.method}"


def to_html(estimate: Estimate) -> str:
    """A table with bars, and the guarantee in one line beneath."""
    columns, written = estimate.columns(), Format.of(estimate)
    named = [name for name in columns if name not in NUMBERS]
    tested = columns.get("p_value")
    most = float(np.nanmax(np.abs(columns["high"]), initial=0.0)) or 1.0
    rows = []
    for k in range(min(estimate.values.size, _MOST_HTML_ROWS)):
        value, low, high = (float(columns[name][k]) for name in ("estimate", "low", "high"))
        cells = [_cell(label_words(columns[name][k]), "left") for name in named]
        cells.append(_cell(written.number(value) + written.suffix))
        cells.append(_cell(written.interval(low, high) + written.suffix))
        if tested is not None:
            cells.append(_cell(p_value_words(float(tested[k]))))
        elif estimate.fractions:
            long = max(0.0, value) / most * 12
            cells.append(
                "<td style='text-align:left'><div style='background:#0072B2;height:0.7em;"
                f"width:{0.0 if long != long else long:.2f}em'></div></td>"
            )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    titles = [*named, written.title, "95 % interval", *(["p-value"] * (tested is not None))]
    head = "".join(f"<th>{escape(printable(title))}</th>" for title in titles)
    more = estimate.values.size - _MOST_HTML_ROWS
    rest = f"<p>… and {more:,} more values</p>" if more > 0 else ""
    claim = f"<p>Assuming: {escape(printable(estimate.assuming))}.</p>" if estimate.assuming else ""
    return (
        f"<div><b>{escape(_title(estimate))}</b><table><tr>{head}</tr>{''.join(rows)}</table>{rest}"
        f"{claim}<p>{escape(estimate.guarantee.line())}</p></div>"
    )


def _cell(text: str, side: str = "right") -> str:
    return f"<td style='text-align:{side};font-variant-numeric:tabular-nums'>{escape(text)}</td>"


def to_csv(columns: Mapping[str, Any]) -> bytes:
    """Columns of equal length as a CSV file: numbers in full, nothing where there is none."""
    file = io.BytesIO()
    text = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    size = max(map(len, columns.values()), default=0)
    for start in range(0, size, _CSV_ROWS):  # as Python's numbers they take much memory
        parts = (x[start : start + _CSV_ROWS] for x in columns.values())
        lists = [x.tolist() if hasattr(x, "tolist") else list(x) for x in parts]
        for row in zip(*lists, strict=True):
            writer.writerow(["" if cell != cell else cell for cell in row])
    text.flush()
    return file.getvalue()


def to_frame(columns: Mapping[str, Any], backend: str) -> Any:
    """A data frame of one of the libraries that narwhals knows."""
    try:
        import narwhals as nw
    except ImportError as error:
        raise MissingExtraError.of("narwhals", "frame", "to_frame()") from error
    if backend not in _BACKENDS:
        raise ParameterError(
            f"backend is {backend!r}; allowed are 'pandas', 'polars' and 'pyarrow'"
        )
    try:
        return nw.from_dict(dict(columns), backend=backend).to_native()  # type: ignore[arg-type]
    except ImportError as error:
        raise MissingExtraError.of(backend, "frame", f"a {backend} frame") from error
