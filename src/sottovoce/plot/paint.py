"""Common parts of all pictures: colours, axes, titles, legends and labels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import printable, rounded_up
from ..errors import MissingExtraError, ParameterError
from ..estimate.cells import Cells
from ..estimate.estimate import Estimate
from ..estimate.intervals import Floats
from ..estimate.truth import true_fractions
from ..promise import LDP, LIP, Guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Truth: TypeAlias = ArrayLike | Mapping[Any, float]
Legend: TypeAlias = dict[str, Any]  # names and the artists, containers or tuples they stand for

# Okabe and Ito's palette: distinguishable with every common kind of colour blindness.
BLACK, GREY = "#000000", "#666666"
BLUE, SKY, VERMILLION = "#0072B2", "#56B4E9", "#D55E00"
GREEN, ORANGE, PURPLE = "#009E73", "#E69F00", "#CC79A7"
# Markers differ as well, so that they differ in a grey print; the lengths have no common factor.
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY)
MARKERS = ("o", "s", "^", "v", "P", "X", "h")
FILL, CLAIM = "#8CCBF0", "#DDDDDD"  # a tint of SKY on which marks stand out in grey, too
TRUTH: dict[str, Any] = {
    "marker": "D",
    "s": 34,
    "color": VERMILLION,
    "edgecolors": "white",
    "linewidths": 0.8,
}

GRID: dict[str, Any] = {"color": "#E6E6E6", "linewidth": 0.7}
_MOST_DRAWN = 2000


def panels(many: int = 1, size: tuple[float, float] = (7.5, 4.8), **options: Any) -> list[Axes]:
    """The axes of a new figure of this size in inches, side by side."""
    need_matplotlib()
    import matplotlib.pyplot as plt

    _, grid = plt.subplots(1, many, figsize=size, layout="constrained", squeeze=False, **options)
    return list(grid[0])


def axes(ax: Axes | None, height: float) -> Axes:
    """The given axes, or those of a new figure of this height in inches, for rows of values."""
    ax = panels(size=(7.5, height))[0] if ax is None else ax
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_axisbelow(True)
    ax.grid(axis="x", **GRID)
    return ax


def line_axes(ax: Axes) -> None:
    """The look of axes with lines: a grid of both directions, and no frame at the top and right."""
    ax.grid(which="major", **GRID)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def log_ticks(axis: Any, limits: tuple[float, float], name: Any = None) -> None:
    """Plain numbers on a log scale, more of them where there are few powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    decades = math.log10(limits[1] / limits[0])
    subs = (1, 2, 3, 4, 5, 7) if decades < 1 else (1, 2, 5) if decades < 2 else (1,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(name or (lambda tick, _: f"{tick:g}"))
    axis.set_minor_formatter(NullFormatter())


def need_matplotlib() -> None:
    """Say how to install matplotlib where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot", "a plot") from error


def truth_of(what: Estimate, truth: Truth | None) -> Floats | None:
    """The truth in the order of the labels; fractions must sum to one, means need not."""
    if truth is None:
        return None
    if what.fractions:
        return true_fractions(what, truth)
    if isinstance(truth, Mapping):
        if set(truth) != set(what.labels):
            raise ParameterError(
                f"the truth must name every value once: {', '.join(map(str, what.labels[:6]))}"
            )
        truth = [truth[label] for label in what.labels]
    true = np.atleast_1d(np.asarray(truth, float))
    if true.shape != what.values.shape or not np.isfinite(true).all():
        raise ParameterError(
            f"the truth must be {what.values.size} finite number(s); given was {truth!r}"
        )
    return true


def value_axis(ax: Axes, what: Estimate) -> None:
    """Per cent for fractions, points for differences; plain numbers and the name for means."""
    if not what.unit:
        name = one_line(what.name) or "value"
        squared = tuple(what.labels) == ("variance",)
        ax.set_xlabel(f"variance of {name}, in squared units" if squared else name)
        return
    points_axis = what.unit == "points"
    ax.xaxis.set_major_formatter(points if points_axis else percent)
    ax.set_xlabel("difference in percentage points" if points_axis else "fraction of people")
    ax.axvline(0, color=GREY, linewidth=0.9)


def percent(fraction: float, _position: float = 0) -> str:
    """A tick's name, with as many digits as it needs."""
    return f"{round(100 * fraction, 10):g}%".replace("-", "\N{MINUS SIGN}")


def points(fraction: float, _position: float = 0) -> str:
    """A tick's name in percentage points, with a sign."""
    number = round(100 * fraction, 10)
    return (f"{number:+g}" if number else "0").replace("-", "\N{MINUS SIGN}")


def reports(what: Estimate) -> str:
    """How many reports an estimate was made from."""
    return f"{what.n if what.reports is None else what.reports:,} {what.counted}"


def title(ax: Axes, name: str, *facts: str) -> None:
    """The name, and below it the facts about the estimate."""
    _keep_inside(ax)  # first, so that title and legend know the width there is
    width = max(16, min(50, int(0.15 * 72 * ax.bbox.width / ax.figure.dpi)))
    words = printable(", ".join(filter(None, facts))).replace(" = ", "\u00a0=\u00a0")
    known = [line.replace("\u00a0", " ") for line in textwrap.wrap(words, width)]
    ax.set_title(
        "\n".join([two_lines(name, width) or "Estimate", *known]), loc="left", fontsize="medium"
    )


def promised(guarantee: Guarantee) -> str:
    """Epsilon of the only promise, never rounded down; nothing where there are several.

    Where there is one under a prior and one without, both.
    """
    by_notion = {promise.notion: promise for promise in guarantee.promises}
    if len(guarantee.promises) == 2 and by_notion.keys() == {LIP, LDP}:
        prior, free = (rounded_up(by_notion[notion].epsilon, 3) for notion in (LIP, LDP))
        return f"ε = {prior} under the prior, {free} without"
    if len(guarantee.promises) != 1:
        return ""
    promise = guarantee.promises[0]
    delta = f", δ = {rounded_up(promise.delta, 3)}" if promise.delta else ""
    return f"ε = {rounded_up(promise.epsilon, 6)}{delta}"


def legend(ax: Axes, entries: Legend) -> None:
    """A legend between title and data, in as few rows as fit; then the axes are complete."""
    from matplotlib.legend_handler import HandlerTuple

    for rows in range(1, len(entries) + 1):
        box = ax.legend(
            list(entries.values()),
            [printable(name) for name in entries],
            handler_map={tuple: HandlerTuple(ndivide=None)},
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=-(-len(entries) // rows),
            frameon=False,
            fontsize="small",
            borderaxespad=0,
            borderpad=0.3,
            handletextpad=0.5,
            columnspacing=1.4,
        )
        extent = box.get_window_extent()
        if extent.width <= ax.bbox.width:
            break
    ax.set_title(ax.get_title("left"), loc="left", pad=6 + extent.height * 72 / ax.figure.dpi)
    _keep_inside(ax)


def _keep_inside(ax: Axes) -> None:
    """Shrink axes whose title or labels the figure would cut off, where no layout engine does."""
    outer = ax.get_tightbbox()
    if outer is None or ax.figure.get_layout_engine() is not None:
        return
    figure = ax.figure.bbox.padded(-0.05 * ax.figure.dpi)
    x0, y0, x1, y1 = ax.get_position().extents
    x0 += max(0.0, figure.x0 - outer.x0) / figure.width
    x1 -= max(0.0, outer.x1 - figure.x1) / figure.width
    y0 += max(0.0, figure.y0 - outer.y0) / figure.height
    y1 -= max(0.0, outer.y1 - figure.y1) / figure.height
    if x1 - x0 > 0.1 and y1 - y0 > 0.1:
        ax.set_position((x0, y0, x1 - x0, y1 - y0))


def interval_words(confidence: float, simultaneous: bool = False, *shown: Estimate) -> str:
    """What the whiskers are; approximate where those of one shown come from a bootstrap."""
    words = f"{confidence * 100:g}% interval{' for all at once' * simultaneous}"
    rough = any(isinstance(one, Cells) and one.error_from == "bootstrap" for one in shown)
    return f"approximate {words}" if rough else words


def series(ax: Axes, k: int, values: Floats, ends: Sequence[Floats], where: Any) -> Any:
    """Dots with intervals of the k-th of several estimates, at the places `where`."""
    return ax.errorbar(
        values,
        where,
        xerr=np.abs(np.stack([*ends]) - values),
        fmt=MARKERS[k % len(MARKERS)],
        color=SERIES[k % len(SERIES)],
        markersize=5.5,
        elinewidth=1.4,
        zorder=3,
    )


def row_lines(ax: Axes, rows: int) -> None:
    """Lines between the rows 0, 1, …, which run downwards."""
    for row in range(1, rows):
        ax.axhline(row - 0.5, zorder=0, **GRID)
    ax.set_ylim(rows - 0.5, -0.5)


def value_labels(ax: Axes, labels: Sequence[str], rows: float) -> None:
    """Names of the rows 0, 1, …, small enough for the height there is."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    ax.set_yticks(np.arange(len(labels)), labels)
    lines = max((label.count("\n") for label in labels), default=0) + 1
    usual = FontProperties(size=rcParams["ytick.labelsize"]).get_size_in_points()
    room = 72 * ax.bbox.height / ax.figure.dpi / rows / lines
    ax.tick_params(axis="y", labelsize=float(np.clip(0.8 * room, 4.5, usual)))


def two_lines(text: Any, width: int = 30) -> str:
    """A name in at most two lines; a longer one loses its middle."""
    line = printable(" ".join(str(text).split()))
    lines = textwrap.wrap(line, width)
    if len(lines) > 2:
        end = line[1 - width :]
        space = end.find(" ", 0, width // 2)
        lines = [lines[0], "…" + end[space + 1 :]]
    return plain("\n".join(lines))


def one_line(text: Any, most: int = 40) -> str:
    """A name in one line; a longer one loses its middle."""
    line = printable(" ".join(str(text).split()))
    if len(line) > most:
        line = f"{line[: most - most // 3 - 1].rstrip()}…{line[-(most // 3) :].lstrip()}"
    return plain(line)


def plain(text: str) -> str:
    """The text as it is: dollar signs do not begin a formula."""
    return text.replace("$", r"\$")


def evenly(size: int) -> NDArray[np.intp]:
    """Positions in a sorted column to draw: all of them, or as many as an eye can use."""
    return np.unique(np.linspace(0, size - 1, min(size, _MOST_DRAWN)).astype(np.intp))
