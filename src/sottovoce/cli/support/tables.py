"""Estimates as tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError, ParameterError
from ...files import whole_file
from .screen import bar, decimals_for, percent, printable, shows_blocks, table_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ...estimate.estimate import Estimate

PICTURES = (".png", ".svg", ".pdf")
MOST_ROWS = 40
_MOST_LABEL = 28
_LEAST_BAR, _MOST_BAR = 8, 40


def estimate_table(
    out: Console,
    estimate: Estimate,
    confidence: float = 0.95,
    truth: Mapping[Any, float] | None = None,
) -> Table:
    """Value, share, interval and a bar; with the truth, whether the interval covers it."""
    from rich.text import Text

    if not estimate.shares:
        return _quantities(out, estimate, confidence)
    rows = estimate.rows(confidence)
    if len(rows) > MOST_ROWS:
        largest = sorted(rows, key=lambda row: -row["estimate"])[:MOST_ROWS]
        rows = [row for row in rows if row in largest]
    decimals = decimals_for(max(row["std_error"] for row in rows))
    most = max(max(row["high"], row["estimate"]) for row in rows)
    columns = [("value", "left"), ("share", "right"), (f"{100 * confidence:g} % interval", "right")]
    if truth is not None:
        columns += [("truth", "right"), ("covered", "left")]
    cells = []
    for row in rows:
        low, high = (round(100 * row[end], decimals) + 0.0 for end in ("low", "high"))
        line = [
            _shortened(printable(row["value"])),
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


def _shortened(label: str) -> str:
    return label if len(label) <= _MOST_LABEL else label[: _MOST_LABEL - 1] + "…"


def check_picture(path: Path) -> None:
    """Refuse a kind of picture that cannot be drawn, before any work."""
    if path.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"a picture cannot be saved as {path.name!r}; its name must end in "
            f"{', '.join(PICTURES)}"
        )


def save_picture(estimate: Estimate, path: Path, **options: Any) -> None:
    """Draw the estimate to a file, whole or not at all."""
    save_figure(lambda: estimate.plot(**options), path)


def save_figure(draw: Callable[[], Any], path: Path) -> None:
    """Save the figure of the axes (one, or several) that `draw` returns."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot", "a picture") from error
    import warnings

    mpl.use("Agg")  # no window: the command line may run where there is no display
    from matplotlib import pyplot

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a label in a script the font lacks
        drawn = draw()
        figure = (drawn if hasattr(drawn, "get_figure") else drawn[0]).get_figure()
        with whole_file(path) as stream:
            figure.savefig(stream, format=path.suffix[1:].lower(), dpi=160)
    pyplot.close(figure)
