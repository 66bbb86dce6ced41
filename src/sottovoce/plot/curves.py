"""Curves: a shuffler beside a trusted server, the use of a prior, and the designs of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..accounting import Comparison
from ..checks import rounded_up
from ..errors import ParameterError
from ..planning.plan import Plan
from ..planning.plan import plan as make
from ..published.information_privacy import Curve
from . import paint
from .paint import BLACK, BLUE, GREEN, GREY, MARKERS, ORANGE, SERIES, SKY, VERMILLION, Legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 13
_COLOURS = (*SERIES, VERMILLION, BLACK)

#: Who is trusted: the error of a `Comparison`, and how its line looks.
_TRUSTED: dict[str, tuple[str, dict[str, Any]]] = {
    "nobody trusted: GRR": (
        "local_error",
        {"color": GREY, "marker": "^", "linestyle": ":", "markersize": 5},
    ),
    "shuffler trusted: GRR with the local epsilon beside each mark": (
        "shuffled_error",
        {"color": BLUE, "marker": "o", "linestyle": "-", "markersize": 4.5, "zorder": 3},
    ),
    "server trusted: Gaussian noise": (
        "gaussian_error",
        {"color": ORANGE, "marker": "s", "linestyle": "--", "markersize": 7},
    ),
}
# Solid lines promise ε under the prior or without one; dashed ones are at half of it, or do not
# use the prior at all.
_LOOK: dict[str, dict[str, Any]] = {
    "ε-LIP": {"color": BLUE, "marker": "o", "linewidth": 2.2, "zorder": 5},
    "ε/2-LIP": {"color": SKY, "marker": "s", "linestyle": "--"},
    "symmetric LIP": {"color": GREEN, "marker": "^", "linestyle": (0, (4, 1)), "zorder": 6},
    "Opt-LDP": {"color": ORANGE, "marker": "v", "linewidth": 2.2},
    "context-free LDP": {"color": GREY, "marker": "P", "linestyle": "--"},
}


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
    paint.need_matplotlib()
    points = _check(rows)
    ax = paint.panels()[0] if ax is None else ax
    x = [point.epsilon for point in points]
    entries: Legend = {}
    for name, (error, style) in _TRUSTED.items():
        (entries[name],) = ax.plot(x, [getattr(point, error) for point in points], **style)
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
    paint.log_ticks(ax.xaxis, ax.get_xlim())
    paint.log_ticks(ax.yaxis, ax.get_ylim(), paint.percent)
    paint.line_axes(ax)
    ax.margins(x=0.08)
    first = points[0]
    paint.title(
        ax,
        "What a shuffler is worth",
        f"{first.people:,} people",
        f"{first.values:,} values",
        f"δ = {rounded_up(first.delta, 3)}",
    )
    paint.legend(ax, entries)
    return ax


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


def lip(what: Curve | Sequence[Curve], *, ax: Any = None) -> Any:
    """Draw √(average squared error per person) against ε, one panel per prior.

    Parameters
    ----------
    what : Curve, or sequence of them
        Made by `prior_curve`.
    ax : matplotlib Axes, or one for each curve, optional
        Where; a new figure by default.

    Returns
    -------
    matplotlib Axes, or a list of them
        As curves were given.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.published import prior_curve
    >>> ax = sv.plot.lip(prior_curve(0.1))
    >>> ax.get_title(loc="left")
    'P(yes) = 0.1'
    """
    paint.need_matplotlib()
    one = isinstance(what, Curve)
    curves: list[Curve] = [what] if isinstance(what, Curve) else list(what)
    if not curves or not all(isinstance(curve, Curve) for curve in curves):
        raise ParameterError("only curves can be drawn: give one from prior_curve, or several")
    size = (6.4, 4.8) if len(curves) == 1 else (min(3.5 * len(curves), 14), 4.3)
    axes = paint.panels(len(curves), size) if ax is None else ([ax] if one else list(ax))
    if len(axes) != len(curves):
        raise ParameterError(f"{len(curves)} curves need as many axes; {len(axes)} were given")
    for curve, each in zip(curves, axes, strict=True):
        _panel(each, curve)
    axes[0].set_ylabel("error per person, √(average MSE)")
    if ax is None:
        names = axes[0].get_legend_handles_labels()
        columns = 3 if len(axes) < 3 else len(names[0])  # two panels are too narrow for one row
        axes[0].figure.legend(*names, loc="outside upper left", ncols=columns, frameon=False)
    else:
        axes[-1].legend(frameon=False, fontsize="small")
    return axes[0] if one else axes


def _panel(ax: Axes, curve: Curve) -> None:
    every = len(curve.errors)
    for k, (name, error) in enumerate(curve.errors.items()):
        # Marks alternate, so that overlapping curves are all visible.
        at = (k % curve.epsilons.size, every)
        ax.plot(curve.epsilons, error, label=name, markersize=5, markevery=at, **_LOOK[name])
    ax.axhline(
        curve.unasked, color=GREY, linewidth=1, linestyle=":", label="the prior, without asking"
    )
    least = min(float(error.min()) for error in curve.errors.values())
    ax.set(yscale="log", xlabel="ε", ylim=(least / 1.3, 3.2 * curve.unasked))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_title(curve.prior, loc="left", fontsize="medium")
    paint.line_axes(ax)


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
    paint.need_matplotlib()
    axes = paint.panels(2, (10, 4.2), sharey=True) if axes is None else axes
    by_epsilon, by_people = axes
    asked, best = what.requirement, what.best
    epsilons = np.geomspace(0.1, 8, _POINTS)
    people = np.unique(np.geomspace(max(1, best.n / 30), best.n * 30, _POINTS).round().astype(int))
    kept = ("d", "bounds", "rate", "traffic", "delta", "collusion")
    same: dict[str, Any] = {name: getattr(asked, name) for name in kept}
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
        paint.line_axes(ax)
        if asked.error is not None:
            ax.axhline(asked.error, color=GREY, linewidth=1, linestyle="--")
            ax.annotate(
                "target", (0.02, asked.error), xycoords=("axes fraction", "data"), va="bottom"
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
