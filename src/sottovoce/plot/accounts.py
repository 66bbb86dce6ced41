"""The picture of an account: a shuffler compared with a trusted server."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..accounting import Comparison
from ..checks import rounded_up
from ..errors import ParameterError
from .paint import BLUE, GREY, ORANGE, Legend, legend, need_matplotlib, percent, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def shuffle(rows: Iterable[Comparison], *, ax: Axes | None = None) -> Axes:
    """Draw what the same promise costs when nobody, a shuffler or a server is trusted.

    Parameters
    ----------
    rows : iterable of Comparison
        Made by `sottovoce.accounting.compare`, for at least two local epsilons.
    ax : matplotlib Axes, optional
        Where; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Standard error of an average fraction against the epsilon promised, both on log scales.
    """
    need_matplotlib()
    points = _check(rows)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    x = [point.epsilon for point in points]
    series: tuple[tuple[str, list[float], dict[str, Any]], ...] = (
        (
            "nobody trusted: GRR",
            [point.local_error for point in points],
            {"color": GREY, "marker": "^", "linestyle": ":", "markersize": 5},
        ),
        (
            "shuffler trusted: GRR with the local epsilon beside each mark",
            [point.shuffled_error for point in points],
            {"color": BLUE, "marker": "o", "linestyle": "-", "markersize": 4.5, "zorder": 3},
        ),
        (
            "server trusted: Gaussian noise",
            [point.gaussian_error for point in points],
            {"color": ORANGE, "marker": "s", "linestyle": "--", "markersize": 7},
        ),
    )
    entries: Legend = {}
    for name, errors, style in series:
        (entries[name],) = ax.plot(x, errors, **style)
    for point in points:
        ax.annotate(
            f"{point.local_epsilon:g}",
            (point.epsilon, point.shuffled_error),
            (4, 4),
            textcoords="offset points",
            color=BLUE,
            fontsize="small",
        )
    ax.set(xscale="log", yscale="log", xlabel="epsilon against whoever sees the result")
    ax.set_ylabel("standard error of a fraction")
    _name_ticks(ax)
    ax.grid(which="major", color="#E6E6E6", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.08)
    first = points[0]
    title(
        ax,
        "What a shuffler is worth",
        f"{first.people:,} people",
        f"{first.values:,} values",
        f"δ = {rounded_up(first.delta, 3)}",
    )
    legend(ax, entries)
    return ax


def _name_ticks(ax: Axes) -> None:
    """Plain numbers, more of them where there are few powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for axis, (low, high), name in (
        (ax.xaxis, ax.get_xlim(), lambda tick, _: f"{tick:g}"),
        (ax.yaxis, ax.get_ylim(), percent),
    ):
        decades = math.log10(high / low)
        subs = (1, 2, 3, 4, 5, 7) if decades < 1 else (1, 2, 5) if decades < 2 else (1,)
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(name)
        axis.set_minor_formatter(NullFormatter())


def _check(rows: Iterable[Comparison]) -> list[Comparison]:
    points = list(rows)
    for point in points:
        if not isinstance(point, Comparison):
            raise ParameterError(
                f"{point!r} cannot be drawn; give the rows that accounting.compare returns"
            )
    if len(points) < 2:
        raise ParameterError("one row does not make a line; compare at least two local epsilons")
    if len({(point.values, point.people, point.delta) for point in points}) > 1:
        raise ParameterError("the rows differ in values, people or delta; draw one picture each")
    return sorted(points, key=lambda point: point.local_epsilon)
