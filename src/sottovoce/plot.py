"""Pictures of estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import MissingExtraError
from .estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: told apart with every common kind of colour blindness.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
_MOST_BARS = 40


def estimate(
    what: Estimate,
    *,
    ax: Axes | None = None,
    truth: ArrayLike | Mapping[Any, float] | None = None,
    confidence: float = 0.95,
) -> Axes:
    """Bars with intervals, one per value; a band over all values where bars would be too many.

    Parameters
    ----------
    what : Estimate
        What to show.
    ax : matplotlib Axes, optional
        Where; a new figure of fitting size by default.
    truth : array-like or mapping, optional
        True fractions to overlay, where they are known.
    confidence : float
        Of the intervals.

    Returns
    -------
    matplotlib Axes
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot", "a plot") from error
    d = what.values.size
    few = d <= _MOST_BARS
    if ax is None:
        height = max(2.6, 0.32 * d + 1.5) if few else 4.0
        _, ax = plt.subplots(figsize=(7.5, height), layout="constrained")
    true = None if truth is None else what._as_fractions(truth)
    (_bars if few else _band)(what, ax, true, confidence)
    ax.spines[["top", "right"]].set_visible(False)
    promise = what.guarantee.promises[0] if len(what.guarantee.promises) == 1 else None
    under = f"ε = {promise.epsilon:g}" if promise else "no single guarantee"
    ax.set_title(f"{what.name or 'Estimate'}: {what.n:,} reports, {under}", loc="left")
    return ax


def _bars(what: Estimate, ax: Axes, true: Any, confidence: float) -> None:
    from matplotlib.ticker import PercentFormatter

    low, high = what.interval(confidence)
    where = np.arange(what.values.size)
    middle = what.values
    ax.barh(where, what.values, color=BLUE, alpha=0.75, height=0.62, label="estimate")
    ax.errorbar(
        middle,
        where,
        xerr=[middle - low, high - middle],
        fmt="none",
        ecolor="black",
        elinewidth=1.2,
        capsize=3,
        label=f"{confidence:.0%} interval",
    )
    if true is not None:
        ax.scatter(true, where, marker="D", s=34, color=ORANGE, zorder=3, label="truth")
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(where, [str(label) for label in what.labels])
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_xlabel("share of people")
    ax.legend(frameon=False, loc="best")


def _band(what: Estimate, ax: Axes, true: Any, confidence: float) -> None:
    from matplotlib.ticker import PercentFormatter

    low, high = what.interval(confidence)
    where = np.arange(what.values.size)
    ax.fill_between(
        where, low, high, color=BLUE, alpha=0.2, linewidth=0, label=f"{confidence:.0%} interval"
    )
    ax.plot(where, what.values, color=BLUE, linewidth=0.9, label="estimate")
    if true is not None:
        ax.plot(where, true, color=ORANGE, linewidth=1.2, label="truth")
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlabel(f"value, in declared order (0 to {what.values.size - 1:,})")
    ax.set_ylabel("share of people")
    ax.margins(x=0.01)
    ax.legend(frameon=False, loc="best")
