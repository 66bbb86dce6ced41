"""One estimate: a bar with an interval for each value.

Up to forty values stand in their declared order. More are ranked: the largest as bars, and below
them all others on the same scale, drawn closer together, so that one sees where noise begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..estimate.estimate import Estimate
from ..estimate.intervals import Floats
from . import paint
from .paint import BLACK, BLUE, CLAIM, FILL, GREY, TRUTH, VERMILLION, Legend, Truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.container import ErrorbarContainer

_MOST_ROWS = 40
_TAIL_ROWS, _GAP = 9.0, 0.4
_ROW, _TALL_ROW, _AROUND = 0.30, 0.42, 1.45  # inches


def estimate(
    what: Estimate,
    *,
    ax: Axes | None = None,
    truth: Truth | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
    sort: bool = False,
    top: int = 15,
) -> Axes:
    """Bars with intervals, one per value; of more than forty values the largest, then the rest.

    Filled bars are clearly above zero. Hollow ones may be nothing but the noise that protects
    people: their interval reaches zero. Among more than forty ranked values some intervals miss
    zero by chance, so there a bar is filled only if an interval that holds for all values at once
    stays above zero.

    A projected or otherwise biased estimate is shown together with the unbiased one.

    Parameters
    ----------
    what : Estimate
        What to show.
    ax : matplotlib Axes, optional
        Where; a new figure of fitting size by default.
    truth : array-like or mapping, optional
        True fractions to overlay, where they are known.
    confidence : float
        Of the intervals, each on its own.
    simultaneous : bool
        Whether the intervals hold for all values at once instead.
    sort : bool
        Largest first; else up to forty values stand in their declared order.
    top : int
        How many of more than forty values get a bar of their own.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import sottovoce as sv
    >>> est = sv.ask(["yes", "no"] * 999, values=["yes", "no"], epsilon=1.0, name="agree")
    >>> ax = est.plot(truth={"yes": 0.5, "no": 0.5})
    >>> print(ax.get_title(loc="left"))
    agree
    1,998 reports, ε = 1
    """
    paint.need_matplotlib()
    if not isinstance(what, Estimate):
        raise ParameterError(
            f"only an Estimate can be plotted here; {type(what).__name__} was given"
        )
    if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= _MOST_ROWS:
        raise ParameterError(f"top is {top!r}; it must be a whole number from 1 to {_MOST_ROWS}")
    true = paint.truth_of(what, truth)
    level = paint.interval_words(confidence, simultaneous, what)
    if simultaneous:
        confidence = what.simultaneous(confidence).confidence
    size = what.values.size
    many = size > _MOST_ROWS
    clear = _clear_of_zero(what, confidence, size if many else 1)
    order = _rank(what) if many or sort else np.arange(size)
    rows = top + _TAIL_ROWS if many else size
    shown = order[:top] if many else order
    labels = [paint.two_lines(what.labels[k]) for k in shown.tolist()]
    ax = paint.axes(ax, (_TALL_ROW if "\n" in "".join(labels) else _ROW) * rows + _AROUND)
    entries = _bars(ax, what, shown, clear, true, (confidence, level))
    paint.value_labels(ax, labels, rows)
    if many:
        band = _tail(ax, what, order[top:], top, clear, true, confidence)
        interval = [name for name in entries if name.endswith(level)][-1]
        entries[interval] = (entries[interval], band)
    ax.set_ylim(rows - 0.5 + (2 * _GAP if many else 0), -0.6)
    paint.value_axis(ax, what)
    paint.title(
        ax,
        what.name,
        paint.reports(what),
        paint.promised(what.guarantee),
        what.method if what.biased else "",
        "" if what.converged else "stopped before it converged",
    )
    paint.legend(ax, entries)
    return ax


def _clear_of_zero(what: Estimate, confidence: float, at_once: int) -> NDArray[np.bool_]:
    """Which values an unbiased interval, made to hold for so many at once, puts above zero."""
    unbiased = what.raw or what
    unbiased.interval(confidence)  # refuses an invalid confidence
    if not what.fractions:
        return np.ones(what.values.size, bool)
    return unbiased.interval(min(1 - (1 - confidence) / at_once, 1 - 1e-15)).low > 0


def _rank(what: Estimate) -> NDArray[np.intp]:
    """Largest first; what a projection made equal stays in the order it had."""
    return np.lexsort((-(what.raw or what).values, -what.values))


def _bars(
    ax: Axes,
    what: Estimate,
    shown: NDArray[np.intp],
    clear: NDArray[np.bool_],
    true: Floats | None,
    interval: tuple[float, str],
) -> Legend:
    from matplotlib.patches import Patch

    where = np.arange(shown.size)
    aside = 0.17 if what.raw else 0.0
    confidence, level = interval
    entries: Legend = {}
    look: dict[str, Any] = {"edgecolor": BLUE, "linewidth": 1.0}
    if what.fractions:
        fill = [FILL if yes else "white" for yes in clear[shown]]
        ax.barh(where, what.values[shown], height=0.7, color=fill, **look)
        among = f", all tested at once ({np.sum(~clear):,} of {clear.size:,})"
        among *= clear.size > _MOST_ROWS
        if clear.any():
            entries["estimate"] = Patch(facecolor=FILL, **look)
        if not clear.all():
            entries[f"not clearly above 0{among}"] = Patch(facecolor="white", **look)
        entries[level] = _whiskers(ax, what, shown, where - aside, confidence, fmt="none")
    else:
        entries[f"estimate, {level}"] = _whiskers(
            ax, what, shown, where - aside, confidence, fmt="o", color=BLUE, markersize=7
        )
    if what.raw:
        entries[f"{what.raw.method}, {level}"] = _whiskers(
            ax, what.raw, shown, where + aside, confidence, fmt="o", color=GREY, mfc="white"
        )
    if true is not None:
        entries["truth"] = ax.scatter(true[shown], where, zorder=4, **TRUTH)
    return entries


def _whiskers(
    ax: Axes,
    what: Estimate,
    shown: NDArray[np.intp],
    where: NDArray[np.floating[Any]],
    confidence: float,
    *,
    color: str = BLACK,
    **look: Any,
) -> ErrorbarContainer:
    middle = what.values[shown]
    low, high = (end[shown] for end in what.interval(confidence))
    reach = [middle - low, high - middle]
    return ax.errorbar(
        middle, where, xerr=reach, color=color, elinewidth=1.2, capsize=2.5, zorder=3, **look
    )


def _tail(
    ax: Axes,
    what: Estimate,
    rest: NDArray[np.intp],
    top: int,
    clear: NDArray[np.bool_],
    true: Floats | None,
    confidence: float,
) -> PolyCollection:
    """All other values in order of rank, on the same scale as the bars."""
    from matplotlib.ticker import MaxNLocator

    start = top - 0.5 + 2 * _GAP
    ranks = np.arange(top, top + rest.size)

    def place(rank: Any) -> Any:
        return start + (_TAIL_ROWS - 0.5) * (rank - top) / max(rest.size - 1, 1)

    bars = paint.evenly(rest.size)
    where, chosen = place(ranks[bars]), rest[bars]
    low, high = (end[chosen] for end in (what.raw or what).interval(confidence))
    band = ax.fill_betweenx(where, low, high, color=CLAIM, linewidth=0, zorder=1)
    if true is not None:
        ax.scatter(true[chosen], where, s=6, marker="D", color=VERMILLION, linewidths=0, alpha=0.5)
    ax.plot(what.values[chosen], where, color=BLUE, linewidth=1.3, zorder=3)
    if what.fractions:
        marked = clear[chosen]
        ax.scatter(
            what.values[chosen][marked], where[marked], s=14, color=FILL, edgecolors=BLUE, zorder=3
        )
    ax.axhline(top - 0.5 + _GAP, color=GREY, linewidth=0.8, linestyle=(0, (4, 4)))
    last = top + rest.size
    between = MaxNLocator(4, integer=True).tick_values(top, last)
    ticks = [t for t in map(int, between) if 0.1 < (t - top) / rest.size < 0.9]
    ticks = [top + 1, *ticks, last] if rest.size > 1 else [last]
    labels = [text.get_text() for text in ax.get_yticklabels()]
    ax.set_yticks(
        [*range(top), *(place(t - 1) for t in ticks)], labels + [f"rank {t:,}" for t in ticks]
    )
    return band
