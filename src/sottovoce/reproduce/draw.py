"""Pictures of reproduced figures: one panel each, all series with error bars."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..plot.paint import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    line_axes,
    need_matplotlib,
)  # fmt: skip
from .figure import Figure
from .results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

_COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK, GREY)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h", "<", ">", "*")
_LINES = ("-", "--", "-.", ":")
_PER_ROW = 3
_BAR = 2.0  # standard errors on each side: about 95 %


def draw(figure: Figure, results: Results, expected: Mapping[str, Any]) -> Picture:
    """The figure, its panels side by side; stars are numbers that the paper states.

    `expected` is the figure's entry in `expected.json`.
    """
    need_matplotlib()
    import matplotlib.pyplot as plt

    panels = results.panels()
    across = 2 if len(panels) == 4 else min(len(panels), _PER_ROW)
    down = math.ceil(len(panels) / across)
    picture, grid = plt.subplots(
        down, across, figsize=(max(4.6 * across, 6.0), 3.5 * down + 0.9), squeeze=False,
        sharey=figure.shared_y, layout="constrained",
    )  # fmt: skip
    for place in grid.flat[len(panels) :]:
        place.set_visible(False)
    styles = {
        series: _style(k, figure.styles.get(series, {}))
        for k, series in enumerate(results.series())
    }
    legend: dict[str, Any] = {}
    for place, panel in zip(grid.flat, panels, strict=False):
        legend |= _panel(place, figure, results, panel, styles)
        stars = _draw_published(place, expected, panel)
        if stars is not None:
            legend["stated in the paper"] = stars
    for place in grid[:, 0]:
        place.set_ylabel(figure.y.label)
    title = textwrap.fill(figure.title, round(11 * picture.get_size_inches()[0]))
    picture.suptitle(title, fontsize=12, fontweight="bold")
    if len(legend) > 1:
        picture.legend(
            list(legend.values()), list(legend), loc="outside lower center", frameon=False,
            ncols=_columns(legend, picture.get_figwidth()), fontsize=9,
        )  # fmt: skip
    return picture


def _columns(labels: Iterable[str], width: float) -> int:
    """How many columns of the legend fit into a picture of that width, in inches."""
    texts = list(labels)
    column = 0.072 * max(map(len, texts)) + 0.65  # letters of 9 points, and the line beside them
    return max(1, min(len(texts), int(width / column)))


def _style(k: int, own: Mapping[str, Any]) -> dict[str, Any]:
    """A colour, a marker and a line for the k-th series, or what the figure says instead.

    Series that share a colour differ in their lines, and the later one has hollow markers.
    """
    colour = own.get("color", _COLOURS[k % len(_COLOURS)])
    again = k >= len(_COLOURS) and "color" not in own
    return {
        "color": colour,
        "marker": _MARKERS[k % len(_MARKERS)],
        "linestyle": _LINES[(k + k // len(_COLOURS)) % len(_LINES)],
        "markersize": 5,
        "linewidth": 1.4,
        "capsize": 2.5,
        "markerfacecolor": "white" if again else colour,
        "markeredgecolor": colour if again else "white",
        "markeredgewidth": 1.2 if again else 0.5,
        **own,
    }


def _panel(
    place: Axes, figure: Figure, results: Results, panel: str, styles: Mapping[str, Any]
) -> dict[str, Any]:
    """Draw one panel; the artists for the legend."""
    from matplotlib.ticker import MaxNLocator

    artists = {}
    names = list(dict.fromkeys(str(row.x) for row in results if row.panel == panel))
    many = results.series(panel)
    for k, series in enumerate(many):
        rows = results.line(panel, series)
        style = dict(styles[series])
        at: list[float]
        if figure.kind == "points":
            # Side by side, so that error bars of several series do not hide each other.
            at = [names.index(str(row.x)) + 0.6 * ((k + 0.5) / len(many) - 0.5) for row in rows]
            style["linestyle"] = "none"
        else:
            at = [float(row.x) for row in rows]
        bars = [_BAR * row.std_error if math.isfinite(row.std_error) else 0 for row in rows]
        artists[series] = place.errorbar(
            at, [row.value for row in rows], bars if any(bars) else None, **style
        )
    if figure.kind == "points":
        slanted = max(map(len, names)) * len(names) > 36
        place.set_xticks(range(len(names)), names, rotation=25 if slanted else 0,
                         ha="right" if slanted else "center")  # fmt: skip
        place.set_xlim(-0.6, len(names) - 0.4)
    elif figure.x.log:
        place.set_xscale("log")
        _plain_ticks(place.xaxis, place.get_xlim())
    elif all(float(row.x).is_integer() for row in results if row.panel == panel):
        place.xaxis.set_major_locator(MaxNLocator(integer=True))
    if figure.y.log:
        place.set_yscale("log")
        _plain_ticks(place.yaxis, place.get_ylim())
    elif max(map(abs, place.get_ylim())) >= 10_000:
        place.yaxis.set_major_formatter("{x:,g}")
    place.set_xlabel(figure.x.label)
    place.set_title(panel, fontsize=10)
    line_axes(place)
    return artists


def _plain_ticks(axis: Any, limits: tuple[float, float]) -> None:
    """Few decades: 0.2 and 0.5 are labelled too, and as people write them."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if limits[1] / limits[0] < 1000:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(NullFormatter())


def _draw_published(place: Axes, expected: Mapping[str, Any], panel: str) -> Any:
    """Numbers that the paper states in words or tables, as hollow stars."""
    entries = [
        entry
        for entry in expected.get("published", [])
        if entry.get("panel") == panel and isinstance(entry.get("x"), int | float)
    ]
    if not entries:
        return None
    at, values = ([entry[key] for entry in entries] for key in ("x", "value"))
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": BLACK, "linewidths": 1.2}
    return place.scatter(at, values, marker="*", s=130, zorder=5, **look)
