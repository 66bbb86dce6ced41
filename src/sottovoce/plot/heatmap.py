"""A joint distribution of two attributes as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import rounded_up
from ..domain.values import Attribute
from ..errors import ParameterError
from ..estimate.intervals import Floats
from ..estimate.table import Conditional
from ..promise import Guarantee, Protected
from . import paint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimate.table import Table

_MOST_NUMBERS = 100
_INCHES = 0.42
#: White behind dark numbers, so that a hatch does not cross them.
_BEHIND: dict[str, Any] = {"facecolor": (1, 1, 1, 0.75), "edgecolor": "none", "pad": 1.2}


def heatmap(
    joint: Table | Conditional,
    *,
    ax: Axes | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Axes:
    """Fractions of all people, one cell per pair of values; the darker, the more.

    Below each fraction is half the width of its interval. Cells whose interval reaches zero, which
    may be nothing but noise, are hatched.

    Parameters
    ----------
    joint : Table or Conditional
        Over two attributes: the first goes down, the second across. Of a conditional table, the
        given attribute goes down, and every row sums to 100 %.
    ax : matplotlib Axes, optional
        Where; a new figure of fitting size by default.
    confidence, simultaneous
        Of the intervals; see `Estimate.interval`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import sottovoce as sv
    >>> r = sv.Records([sv.Attribute("a", 2), sv.Attribute("b", 3)], epsilon_average=2.0)
    >>> agg = r.aggregate(r.randomise({"a": [0, 1] * 300, "b": [0, 1, 2] * 200}))
    >>> ax = sv.plot.heatmap(r.joint(agg, ["a", "b"]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('b', 'a')
    """
    paint.need_matplotlib()
    attributes: tuple[Attribute, ...] = getattr(joint, "attributes", ())
    if len(attributes) != 2:
        raise ParameterError(
            f"a heat map shows two attributes; {len(attributes) or 'no joint table'} "
            f"{'were' if attributes else 'was'} given; choose two with .marginal([…])"
        )
    down, across = attributes
    table = joint.table
    low, high = (
        end.reshape(table.shape) for end in joint.interval(confidence, simultaneous=simultaneous)
    )
    names = [paint.two_lines(x, 24) for x in down.labels]
    if ax is None:
        longest = max(len(line) for name in names for line in name.splitlines() or [""])
        width = min(12.0, 3.4 + 1.9 * _INCHES * across.size + max(0, longest - 10) * _INCHES / 6)
        height = min(14.0, 2.2 + 1.25 * _INCHES * down.size)
        ax = paint.panels(size=(max(width, 5.5), height))[0]
    most = float(max(np.nanmax(np.abs(table)), 1e-12))
    negative = bool((table < 0).any())
    # Negative estimates are shown as such, on the other side of white.
    colours, least = ("RdBu", -most) if negative else ("Blues", 0.0)
    image = ax.imshow(table, aspect="auto", cmap=colours, vmin=least, vmax=most)
    ax.set_xticks(range(across.size), [paint.two_lines(x, 14) for x in across.labels])
    ax.set_yticks(range(down.size), names)
    if max(len(str(x)) for x in across.labels) * across.size > 60:
        ax.tick_params(axis="x", rotation=35)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
    ax.set_xlabel(paint.one_line(across.name))
    ax.set_ylabel(paint.one_line(down.name))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, across.size) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, down.size) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
    unclear = _hatch(ax, low)
    if table.size <= _MOST_NUMBERS:
        _numbers(ax, table, (low, high), most)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(paint.percent)
    in_row = " in a row" if isinstance(joint, Conditional) else ""
    bar.set_label(f"fraction of people{in_row}")
    promised = _promised(joint.guarantee)
    level = paint.interval_words(confidence, simultaneous, joint)
    level = level.replace("interval", "intervals")
    notes = [level] if table.size <= _MOST_NUMBERS or unclear else []
    notes += ["hatched: may be 0"] * unclear
    engine, figure = ax.figure.get_layout_engine(), ax.get_figure(root=True)
    if engine is not None and figure is not None:  # so that the title knows the width there is
        engine.execute(figure)
    paint.title(ax, joint.name, paint.reports(joint), joint.method, promised, *notes)
    return ax


def _promised(guarantee: Guarantee) -> str:
    """The largest promise about whole records; nothing where only parts of them are protected."""
    whole = [p for p in guarantee.promises if p.unit.protects is Protected.RECORD]
    if not whole:
        return ""
    epsilon, delta = max(p.epsilon for p in whole), max(p.delta for p in whole)
    also = f", δ = {rounded_up(delta, 3)}" if delta else ""
    return f"ε = {rounded_up(epsilon, 6)}{also} for all answers together"


def _hatch(ax: Axes, low: Floats) -> bool:
    """Mark cells that are not clearly above zero; whether there are any."""
    from matplotlib.patches import Rectangle

    unclear = ~(low > 0)
    for row, column in zip(*np.nonzero(unclear), strict=True):
        look: dict[str, Any] = {"hatch": "///", "edgecolor": "#BBBBBB", "linewidth": 0}
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, **look))
    return bool(unclear.any())


def _numbers(ax: Axes, table: Floats, ends: tuple[Floats, Floats], most: float) -> None:
    """The fraction of each cell, and below it half the width of its interval."""
    low, high = ends
    for (row, column), fraction in np.ndenumerate(table):
        half = (high - low)[row, column] / 2
        dark = abs(fraction) > 0.6 * most
        ax.text(
            column,
            row,
            "–" if fraction != fraction else f"{100 * fraction:.1f}\n±{100 * half:.1f}",
            ha="center",
            va="center",
            color="white" if dark else paint.BLACK,
            fontsize=8.5,
            linespacing=1.15,
            bbox=None if dark or low[row, column] > 0 else _BEHIND,
        )
