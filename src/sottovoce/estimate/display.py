"""Estimates as text, as HTML for notebooks, and as data frames."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ..checks import printable
from ..errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from .estimate import Estimate

_MOST_HTML_ROWS = 50
_BACKENDS = ("pandas", "polars", "pyarrow")


def to_text(estimate: Estimate) -> str:
    """A table in plain text."""
    low, high = estimate.interval()
    shown = min(estimate.values.size, 20)
    labels = [printable(label) for label in estimate.labels[:shown]]
    width = max(5, *map(len, labels))
    lines = [_title(estimate)]
    lines.append(f"{'value':<{width}}  estimate     95 % interval")
    lines += [
        f"{label:<{width}}  {estimate.values[k]:8.4f}  {low[k]:8.4f} to {high[k]:7.4f}"
        for k, label in enumerate(labels)
    ]
    if estimate.values.size > shown:
        lines.append(f"… and {estimate.values.size - shown:,} more values")
    if estimate.assuming:
        lines += wrap(f"Assuming: {printable(estimate.assuming)}.", 79, subsequent_indent="  ")
    return "\n".join(lines)


def _title(estimate: Estimate) -> str:
    """What it is, and of how many reports."""
    of = "" if estimate.reports in (None, estimate.n) else f" from {estimate.n:,} people"
    sent = estimate.n if estimate.reports is None else estimate.reports
    name = printable(estimate.name) or "estimate"
    return f"{name}: {sent:,} {estimate.counted}{of}, {estimate.method}"


def to_html(estimate: Estimate) -> str:
    """A table with bars, and the guarantee beneath."""
    rows = estimate.rows()
    most = max((abs(row["high"]) for row in rows), default=1.0) or 1.0
    body = "".join(
        f"<tr><td style='text-align:left'>{escape(printable(row['value']))}</td>"
        f"<td>{row['estimate']:.4g}</td><td>{row['low']:.4g} to {row['high']:.4g}</td>"
        "<td style='text-align:left'><div style='background:#0072B2;height:0.7em;"
        f"width:{max(0.0, row['estimate']) / most * 12:.2f}em'></div></td></tr>"
        for row in rows[:_MOST_HTML_ROWS]
    )
    more = len(rows) - _MOST_HTML_ROWS
    rest = f"<p>… and {more:,} more values</p>" if more > 0 else ""
    title = escape(_title(estimate))
    claim = f"<p>Assuming: {escape(printable(estimate.assuming))}.</p>" if estimate.assuming else ""
    head = "<tr><th>value</th><th>estimate</th><th>95 % interval</th><th></th></tr>"
    return (
        f"<div><b>{title}</b><table>{head}{body}</table>{rest}{claim}"
        f"{estimate.guarantee._repr_html_()}</div>"
    )


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
