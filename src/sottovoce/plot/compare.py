"""Several estimates of the same values, side by side; of two also their difference.

Few values: a dot with its interval for each estimate and value. Many: one row per estimate that
sums up all values, their errors where the truth is known and their intervals where it is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ParameterError
from ..estimate.estimate import Estimate
from ..estimate.intervals import Floats
from ..promise import Guarantee
from . import paint
from .paint import BLACK, BLUE, CLAIM, FILL, GREY, Legend, Truth

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_MOST_VALUES, _MOST_DOTS = 40, 160
_AROUND = 1.5  # inches
_GOLDEN = 0.618033988749895  # multiples of it spread evenly over [0, 1)


def compare(
    estimates: Mapping[str, Estimate] | Iterable[Estimate],
    *,
    ax: Axes | None = None,
    truth: Truth | None = None,
    confidence: float = 0.95,
) -> Axes:
    """Several estimates of the same values in one picture.

    For few values, each estimate's dot and interval. For many (more than forty, or more than 160
    dots), one row per estimate: a dot per value at its difference from the truth, or from the
    first estimate where no truth is given, over a bar as wide as a typical interval allows. Next to
    it is how many values lie within their own interval. Estimates are assumed to be independent
    when they are compared with each other; two from the same reports agree more often.

    Parameters
    ----------
    estimates : mapping or iterable of Estimate
        With their names; without, they are named by method and epsilon.
    ax : matplotlib Axes, optional
        Where; a new figure of fitting size by default.
    truth : array-like or mapping, optional
        True fractions, where they are known.
    confidence : float
        Of the intervals, each on its own.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import sottovoce as sv
    >>> answers = ["yes", "no"] * 999
    >>> ax = sv.plot.compare(
    ...     [sv.ask(answers, values=["yes", "no"], epsilon=epsilon) for epsilon in (1.0, 4.0)]
    ... )
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['unbiased, ε = 1', 'unbiased, ε = 4']
    """
    paint.need_matplotlib()
    named = _by_name(estimates)
    first = next(iter(named.values()))
    true = paint.truth_of(first, truth)
    first.interval(confidence)  # refuses an invalid confidence
    size = first.values.size
    if size <= _MOST_VALUES and size * len(named) <= _MOST_DOTS:
        ax = _dots(ax, named, true, confidence)
    else:
        ax = _summary(ax, named, true, confidence)
    return ax


def _by_name(estimates: Mapping[str, Estimate] | Iterable[Estimate]) -> dict[str, Estimate]:
    """The estimates by name, if they can be compared."""
    if isinstance(estimates, Estimate) or not isinstance(estimates, Mapping | Iterable):
        raise ParameterError(
            "compare takes several estimates, as a list or as a mapping from names; "
            f"{type(estimates).__name__} was given"
        )
    several = list(estimates.values() if isinstance(estimates, Mapping) else estimates)
    if not several:
        raise ParameterError("there is nothing to compare: no estimate was given")
    for each in several:
        if not isinstance(each, Estimate):
            raise ParameterError(
                f"only estimates can be compared; {type(each).__name__} was among them"
            )
    names = list(map(str, estimates)) if isinstance(estimates, Mapping) else _own_names(several)
    first = several[0]
    for name, each in zip(names[1:], several[1:], strict=True):
        if tuple(each.labels) != tuple(first.labels):
            raise ParameterError(
                f"{name!r} is over other values than {names[0]!r} "
                f"({_differ(each, first)}); compare estimates of the same values in the same order"
            )
        if each.fractions != first.fractions:
            raise ParameterError(
                f"of {name!r} and {names[0]!r} one holds fractions and the other means; "
                "compare like with like"
            )
    return dict(zip(names, several, strict=True))


def _own_names(several: list[Estimate]) -> list[str]:
    """Method and epsilon; where that is not enough, numbered."""
    names = [
        ", ".join(filter(None, (each.method, paint.promised(each.guarantee)))) for each in several
    ]
    often, seen = Counter(names), Counter[str]()
    for k, name in enumerate(names):
        seen[name] += 1
        if often[name] > 1:
            names[k] = f"{name} ({seen[name]})"
    return names


def _differ(a: Estimate, b: Estimate) -> str:
    only = [label for label in (*a.labels, *b.labels) if (label in a.labels) != (label in b.labels)]
    return f"only one has {only[0]!r}" if only else "in another order"


def _common(values: Iterable[str]) -> str:
    every = set(values)
    return every.pop() if len(every) == 1 else ""


def _promise_words(guarantees: list[Guarantee]) -> str:
    """Epsilon, or the least and the largest where there are several."""
    words = [paint.promised(guarantee) for guarantee in guarantees]
    if not all(words) or any(len(g.promises) != 1 or g.delta for g in guarantees):
        return _common(words)
    _, least = min((g.epsilon, word) for g, word in zip(guarantees, words, strict=True))
    _, most = max((g.epsilon, word) for g, word in zip(guarantees, words, strict=True))
    return least if least == most else f"{least} to {most.removeprefix('ε = ')}"


def _title(ax: Axes, named: Mapping[str, Estimate]) -> None:
    every = named.values()
    paint.title(
        ax,
        _common(each.name for each in every) or "Comparison",
        _common(map(paint.reports, every)) or f"{len(named)} estimates",
        _promise_words([each.guarantee for each in every]),
    )


def _dots(
    ax: Axes | None, named: Mapping[str, Estimate], true: Floats | None, confidence: float
) -> Axes:
    first = next(iter(named.values()))
    size, count = first.values.size, len(named)
    ax = paint.axes(ax, size * (0.16 + 0.14 * count) + _AROUND)
    where = np.arange(size)
    step = 0.72 / count
    entries: Legend = {}
    for k, (name, each) in enumerate(named.items()):
        place = where + step * (k - (count - 1) / 2)
        ends = each.interval(confidence)
        entries[paint.one_line(name)] = paint.series(ax, k, each.values, ends, place)
    if true is not None:
        entries["truth"] = ax.vlines(true, where - 0.42, where + 0.42, color=BLACK, linewidth=1.6)
    paint.value_labels(ax, [paint.two_lines(label) for label in first.labels], size)
    paint.row_lines(ax, size)
    paint.value_axis(ax, first)
    ax.set_xlabel(f"{ax.get_xlabel()}, {paint.interval_words(confidence, False, *named.values())}s")
    _title(ax, named)
    paint.legend(ax, entries)
    return ax


def _summary(
    ax: Axes | None, named: Mapping[str, Estimate], true: Floats | None, confidence: float
) -> Axes:
    """One row per estimate: a bar for what intervals claim, a dot for what each value shows."""
    reference, first = next(iter(named.items()))
    ax = paint.axes(ax, 0.66 * len(named) + _AROUND)
    scale, unit = (100.0, " pp") if first.fractions else (1.0, "")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    labels = []
    entries: Legend = {}
    for row, (name, each) in enumerate(named.items()):
        own = true is not None or row == 0  # else two estimates' errors meet in the difference
        gap = each.values - (first.values if true is None else true)
        half = z * np.sqrt(each.variance if own else each.variance + first.variance)
        claim = float(np.median(half)) * scale
        bar = ax.barh(row, 2 * claim, left=-claim, height=0.84, color=CLAIM, zorder=1)
        entries[f"what a typical {paint.interval_words(confidence, False, each)} allows"] = bar
        within = f"{np.mean(np.abs(gap) <= half):.0%}"
        if true is not None:
            rmse = np.sqrt(np.mean(gap**2)) * scale
            note = f"RMSE {_short(rmse)}{unit}, {within} within interval"
        else:
            typical = z * float(np.median(each.std_error)) * scale
            note = f"±{_short(typical)}{unit}" + (f", {within} agree" if row else "")
        labels.append(f"{paint.one_line(name)}\n{note}")
        if true is not None or row:
            entries["one value"] = _strip(ax, row, gap * scale)
    ax.axvline(0, color=GREY, linewidth=0.9)
    paint.value_labels(ax, labels, len(named))
    ax.set_ylim(len(named) - 0.5, -0.5)
    from_what = "truth" if true is not None else paint.one_line(reference)
    ax.set_xlabel(f"difference from {from_what}" + (", in percentage points (pp)" if unit else ""))
    _title(ax, named)
    paint.legend(ax, entries)
    return ax


def _short(number: float) -> str:
    return f"{number:#.2g}".rstrip(".")


def _strip(ax: Axes, row: int, gaps: Floats) -> Artist:
    """A dot per value, spread over the row's height; of very many, evenly chosen ones."""
    shown = np.sort(gaps)[paint.evenly(gaps.size)]
    height = row + 0.64 * (np.arange(shown.size) * _GOLDEN % 1 - 0.5)
    return ax.scatter(shown, height, s=6, color=BLUE, alpha=0.5, linewidths=0, zorder=2)


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
    if sort or order.size > _MOST_VALUES:
        order = np.argsort(-np.abs(change.values), kind="stable")[:_MOST_VALUES]
    if not sort:
        order = np.sort(order)
    rows = np.arange(order.size)
    if axes is None:
        axes = paint.panels(2, (9.0, 0.42 * rows.size + 1.7), sharey=True)
    left, right = (paint.axes(ax, 0.0) for ax in axes)
    entries: Legend = {}
    for k, (name, each) in enumerate(zip(names, (first, second), strict=True)):
        ends = each.interval(confidence, simultaneous=simultaneous)
        entries[paint.one_line(name, 24)] = paint.series(
            left, k, each.values[order], [end[order] for end in ends], rows + 0.14 * (2 * k - 1)
        )
    clear = ((low > 0) | (high < 0))[order]
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
    marks: Legend = {paint.interval_words(confidence, simultaneous, first, second): bars}
    for name, mine, fill in (("differs", clear, FILL), ("may be noise", ~clear, "white")):
        if mine.any():
            marks[name] = right.scatter(
                change.values[order][mine], rows[mine], s=38, color=fill, edgecolors=BLUE, zorder=3
            )
    labels = [paint.two_lines(change.labels[k]) for k in order.tolist()]
    paint.value_labels(left, labels, rows.size)
    for ax in (left, right):
        paint.row_lines(ax, rows.size)
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
