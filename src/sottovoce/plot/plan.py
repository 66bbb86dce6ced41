"""The picture of a plan: predicted error against epsilon, and against the number of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..planning.plan import Plan
from ..planning.plan import plan as make
from .paint import BLACK, GREY, MARKERS, SERIES, VERMILLION, need_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 13
_COLOURS = (*SERIES, VERMILLION, BLACK)


def plan(what: Plan, *, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Draw a plan's designs around the best one.

    Parameters
    ----------
    what : Plan
        Made by `sottovoce.plan`.
    axes : two matplotlib Axes, optional
        Where; a new figure by default.

    Returns
    -------
    sequence of two matplotlib Axes
        Error against epsilon (the same for everyone) and against people; at the plan's rate, or
        with the best rates for its traffic. Protocols that sample are left out: their least count
        does not stay the same when the number of people changes.
    """
    need_matplotlib()
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
    by_epsilon, by_people = axes
    asked, best = what.requirement, what.best
    epsilons = np.geomspace(0.1, 8, _POINTS)
    people = np.unique(np.geomspace(max(1, best.n / 30), best.n * 30, _POINTS).round().astype(int))
    same: dict[str, Any] = {
        "d": asked.d,
        "bounds": asked.bounds,
        "rate": asked.rate,
        "traffic": asked.traffic,
        "delta": asked.delta,
        "collusion": asked.collusion,
    }
    along_epsilon = [make(n=best.n, epsilon=float(e), **same) for e in epsilons]
    fractions = dict(asked.fractions) or None
    along_people = [make(n=int(n), levels=best.levels, fractions=fractions, **same) for n in people]
    for k, design in enumerate(what):
        style: dict[str, Any] = {
            "color": _COLOURS[k % len(_COLOURS)],
            "marker": MARKERS[k % len(MARKERS)],
        }
        for ax, xs, plans in (
            (by_epsilon, epsilons, along_epsilon),
            (by_people, people, along_people),
        ):
            errors = [{x.name: x.std_error for x in each}.get(design.name) for each in plans]
            pairs = [(x, y) for x, y in zip(xs, errors, strict=True) if y is not None]
            if pairs:
                ax.plot(*zip(*pairs, strict=True), label=design.name, markersize=4, **style)
    for ax, label in ((by_epsilon, "epsilon"), (by_people, "people")):
        ax.set(xscale="log", yscale="log", xlabel=label)
        ax.grid(which="major", color="#E6E6E6", linewidth=0.7)
        ax.spines[["top", "right"]].set_visible(False)
        if asked.error is not None:
            ax.axhline(asked.error, color=GREY, linewidth=1, linestyle="--")
            ax.annotate(
                "wanted", (0.02, asked.error), xycoords=("axes fraction", "data"), va="bottom"
            )
    by_epsilon.set_xticks([0.1, 0.2, 0.5, 1, 2, 4, 8], ["0.1", "0.2", "0.5", "1", "2", "4", "8"])
    by_epsilon.minorticks_off()
    by_epsilon.set_ylabel(
        "standard error of " + ("a fraction" if asked.d is not None else "the mean")
    )
    sent = "" if asked.rate == 1 else f", rate {asked.rate:g}"
    sent += "" if asked.traffic is None else f", {asked.traffic:,.0f} bytes"
    by_epsilon.set_title(f"{best.n:,} people{sent}", loc="left")
    by_people.set_title(f"ε = {best.epsilon_words}{sent}", loc="left")
    by_people.legend(frameon=False)
    return axes
