"""Two estimates of the same values, and beside them their difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ParameterError
from ..estimate.estimate import Estimate
from . import paint
from .paint import BLUE, FILL, GREY, MARKERS, ORANGE, Legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS = 40
_ROW, _AROUND = 0.42, 1.7  # inches


def difference(
    first: Estimate,
    second: Estimate,
    *,
    names: Sequence[str] = ("first", "second"),
    confidence: float = 0.95,
    simultaneous: bool = False,
    sort: bool = False,
    axes: Sequence[Axes] | None = None,
) -> Sequence[Axes]:
    """Both estimates on the left, second − first on the right.

    A filled dot is a difference whose interval leaves out zero; a hollow one may be nothing but
    noise.

    Parameters
    ----------
    first, second : Estimate
        Of the same values, from different reports.
    names : two str
        What they are called.
    confidence, simultaneous
        Of the intervals; see `Estimate.interval`.
    sort : bool
        Largest difference first. Of more than forty values the forty that differ most are shown.
    axes : two matplotlib Axes, optional
        Where; a new figure of fitting size by default.

    Returns
    -------
    sequence of two matplotlib Axes

    Examples
    --------
    >>> import sottovoce as sv
    >>> waves = [sv.ask(["yes", "no"] * 999, values=["yes", "no"], epsilon=1.0) for _ in range(2)]
    >>> left, right = sv.plot.difference(*waves, names=("2025", "2026"))
    >>> right.get_xlabel()
    'difference in percentage points'
    """
    paint.need_matplotlib()
    if not isinstance(first, Estimate) or not isinstance(second, Estimate):
        raise ParameterError("a difference is drawn of two estimates")
    change = second - first
    low, high = change.interval(confidence, simultaneous=simultaneous)
    order = np.arange(change.values.size)
    if sort or order.size > _MOST_ROWS:
        order = np.argsort(-np.abs(change.values), kind="stable")[:_MOST_ROWS]
    if not sort:
        order = np.sort(order)
    rows = np.arange(order.size)
    if axes is None:
        import matplotlib.pyplot as plt

        size = (9.0, _ROW * rows.size + _AROUND)
        _, axes = plt.subplots(1, 2, figsize=size, layout="constrained", sharey=True)
    left, right = (paint.axes(ax, 0.0) for ax in axes)
    entries: Legend = {}
    for k, (name, each) in enumerate(zip(names, (first, second), strict=True)):
        ends = each.interval(confidence, simultaneous=simultaneous)
        entries[paint.one_line(name, 24)] = left.errorbar(
            each.values[order],
            rows + (0.14 if k else -0.14),
            xerr=np.abs(np.stack(ends)[:, order] - each.values[order]),
            fmt=MARKERS[k],
            color=(BLUE, ORANGE)[k],
            markersize=5.5,
            elinewidth=1.4,
            zorder=3,
        )
    clear = ((low > 0) | (high < 0))[order]
    level = f"{confidence * 100:g}% interval" + " for all at once" * simultaneous
    bars = right.errorbar(
        change.values[order],
        rows,
        xerr=np.abs(np.stack([low, high])[:, order] - change.values[order]),
        fmt="none",
        ecolor=BLUE,
        elinewidth=1.4,
        capsize=2.5,
        zorder=2,
    )
    marks: Legend = {level: bars}
    for name, mine, fill in (("differs", clear, FILL), ("may be noise", ~clear, "white")):
        if mine.any():
            marks[name] = right.scatter(
                change.values[order][mine], rows[mine], s=38, color=fill, edgecolors=BLUE, zorder=3
            )
    labels = [paint.two_lines(change.labels[k]) for k in order.tolist()]
    paint.value_labels(left, labels, rows.size)
    left.set_ylim(rows.size - 0.5, -0.5)
    for ax in (left, right):
        for row in rows[1:]:
            ax.axhline(row - 0.5, color="#E6E6E6", linewidth=0.7, zorder=0)
    paint.value_axis(left, first)
    paint.value_axis(right, change)
    if not change.unit:
        right.set_xlabel(f"difference of {right.get_xlabel()}")
        right.axvline(0, color=GREY, linewidth=0.9)
    sent = " and ".join(
        f"{each.n if each.reports is None else each.reports:,}" for each in (first, second)
    )
    paint.title(left, change.name, f"{sent} reports")
    right_name = f"{paint.one_line(names[1], 18)} \N{MINUS SIGN} {paint.one_line(names[0], 18)}"
    paint.title(right, right_name, f"p = {change.test().p_value:.2g} for no difference at all")
    paint.legend(left, entries)
    paint.legend(right, marks)
    return axes
