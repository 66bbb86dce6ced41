"""The distribution of a number: a histogram with an interval for each bin.

Bars have the width of their bins and their area in proportion to the fraction of people, as in
every histogram with unequal bins; with equal bins the axis is the fraction itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ParameterError
from ..estimate.histogram import Histogram
from ..estimate.ordered import shown_digits
from . import paint
from .paint import BLACK, BLUE, FILL, GREEN, TRUTH, Legend, Truth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_HEIGHT = 4.2  # inches
_MEDIAN = (0.5,)


def histogram(
    what: Histogram,
    *,
    ax: Axes | None = None,
    truth: Truth | None = None,
    confidence: float = 0.95,
    quantiles: Sequence[float] = _MEDIAN,
    simultaneous: bool = False,
) -> Axes:
    """Bars with intervals over the bins of a number, and its quantiles with theirs.

    Parameters
    ----------
    what : Histogram
        An estimate with ``method="distribution"``.
    ax : matplotlib Axes, optional
        Where; a new figure by default.
    truth : array-like or mapping, optional
        True fractions of the bins to overlay, where they are known.
    confidence : float
        Of the intervals, each on its own unless they are simultaneous.
    quantiles : sequence of float
        Which to mark; the median by default, none if empty.
    simultaneous : bool
        Wider intervals of the bins, which hold for all of them at once.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import sottovoce as sv
    >>> m = sv.Piecewise(sv.Range("age", 0, 100), epsilon=2.0)
    >>> counts = m.aggregate(m.randomise(list(range(100)) * 20))
    >>> ax = m.estimate(counts, bins=[0, 20, 40, 60, 100]).plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('age', 'fraction of people per 20')
    """
    paint.need_matplotlib()
    if not isinstance(what, Histogram):
        raise ParameterError(
            "only the distribution of a number has a histogram (method='distribution'); "
            f"{type(what).__name__} was given"
        )
    from matplotlib.patches import Patch

    true = paint.truth_of(what, truth)
    low, high = what.interval(confidence, simultaneous=simultaneous)
    marks = [what.quantile(q, confidence=confidence) for q in quantiles]
    ax = paint.axes(ax, _HEIGHT)
    widths = np.diff(what.edges)
    unit = float(widths.min())
    equal = bool(np.allclose(widths, unit))
    scale = 1.0 if equal else unit / widths
    middles = what.edges[:-1] + widths / 2
    fill = [FILL if clear else "white" for clear in low > 0]
    values = what.values * scale
    ax.bar(middles, values, widths, color=fill, edgecolor=BLUE, linewidth=1.0)
    entries: Legend = {}
    if (low > 0).any():
        entries["estimate"] = Patch(facecolor=FILL, edgecolor=BLUE)
    if not (low > 0).all():
        entries["not clearly above 0"] = Patch(facecolor="white", edgecolor=BLUE)
    entries[paint.interval_words(confidence, simultaneous)] = ax.errorbar(
        middles,
        values,
        yerr=[values - low * scale, high * scale - values],
        fmt="none",
        color=BLACK,
        elinewidth=1.2,
        capsize=2.5,
        zorder=3,
    )
    if true is not None:
        entries["truth"] = ax.scatter(middles, true * scale, zorder=4, **TRUTH)
    top = float(
        max((high * scale).max(), values.max(), 0 if true is None else (true * scale).max())
    )
    for k, mark in enumerate(marks):
        at = top * (1.06 + 0.055 * k)
        span = ax.plot([mark.low, mark.high], [at, at], color=GREEN, linewidth=2.2, zorder=3)
        dot = ax.plot([mark.value], [at], "o", color=GREEN, markersize=6, zorder=4)
        value, *_ = shown_digits(mark.value, mark.low, mark.high)
        entries[f"{mark.name} {value}"] = (span[0], dot[0])
    ax.set_ylim(0, top * (1.06 + 0.055 * len(marks)))
    ax.set_xlim(what.edges[0], what.edges[-1])
    ax.grid(axis="x", visible=False)
    ax.grid(axis="y", **paint.GRID)
    ax.yaxis.set_major_formatter(paint.percent)
    ax.set_xlabel(paint.one_line(what.name) or "value")
    ax.set_ylabel("fraction of people" if equal else f"fraction of people per {unit:g}")
    paint.title(
        ax,
        what.name,
        f"{what.n:,} {what.counted}",
        paint.promised(what.guarantee),
        "" if what.converged else "stopped before it converged",
    )
    paint.legend(ax, entries)
    return ax
