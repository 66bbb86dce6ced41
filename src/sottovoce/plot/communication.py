"""Error against communication: what it costs the estimate when only some people report.

Biswas, Cormode and Maple, "Impact of Sampling on Locally Differentially Private Data Collection",
Figure 3. Predicted errors come from the exact variances σ_v² of `Sampled.variance`:

Distance    ½ Σ √(2/π) σ_v, the expected total variation distance of normal errors
Deviation   root of the mean of σ_v²
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..checks import checked_count
from ..errors import EstimateError, ParameterError, UselessEstimateWarning
from ..estimate.intervals import Floats
from ..estimate.truth import Errors
from ..mechanisms.linear import LinearMechanism
from ..participation import Sampled
from ..participation.rates import checked_rates
from . import paint
from .paint import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION, Legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Error = Literal["tv", "std_error"]
_NAMES = {"tv": "total variation distance", "std_error": "error of an average fraction"}
_LINES = (BLUE, ORANGE, PURPLE, GREY)
_DASHES = ("-", "--", ":", "-.")
_POINTS = 41


def communication(
    mechanism: LinearMechanism,
    n: int | None = None,
    *,
    answers: Any = None,
    frequencies: ArrayLike | None = None,
    rates: ArrayLike | None = None,
    error: Error = "tv",
    methods: Sequence[str] = ("hajek",),
    repeats: int = 5,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error of an estimate against the fraction of people who report.

    Lines are predicted from exact variances. Given made-up answers, collections are also run, and
    marks show their average errors over `repeats` runs: as estimated, and projected to a valid
    distribution, for which there is no formula.

    Parameters
    ----------
    mechanism : LinearMechanism
        What each reporting person uses.
    n : int, optional
        How many people there are; left out where `answers` are given.
    answers : array-like, optional
        Made-up or public answers to run collections with. Private ones would be used up to
        `repeats` times the number of rates.
    frequencies : array-like, optional
        True fractions; by default those of the answers, or equal ones.
    rates : array-like, optional
        Probabilities to report with; by default 0.1 to 1 in ten steps.
    error : {"tv", "std_error"}
        Total variation distance from the true fractions, or the root of the mean variance.
    methods : sequence of str
        Whose predicted error to draw; see `Sampled.methods`. The first is also run.
    repeats : int
        How many collections are run at each rate.
    ax : matplotlib Axes, optional
        Where; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import sottovoce as sv
    >>> ax = sv.plot.communication(sv.GRR(100, epsilon=4), 50_000)
    >>> x, y = ax.get_lines()[0].get_data()
    >>> print(f"{y[0]:.3f} at rate {x[0]:.1f}, {y[-1]:.3f} if everyone reports")
    0.160 at rate 0.1, 0.048 if everyone reports
    """
    paint.need_matplotlib()
    truth, people = _population(mechanism, n, answers, frequencies)
    grid = _grid(rates, mechanism.epsilon)
    _check(mechanism, error, methods, repeats)
    ax = paint.panels()[0] if ax is None else ax
    entries: Legend = {}
    fine = np.geomspace(grid[0], grid[-1], _POINTS).clip(grid[0], grid[-1]).tolist()
    for k, method in enumerate(methods):
        style: dict[str, Any] = {"color": _LINES[k % 4], "linestyle": _DASHES[k % 4]}
        predicted = [_predict(mechanism, rate, truth, people, method, error) for rate in fine]
        (entries[f"{method}, predicted"],) = ax.plot(fine, predicted, linewidth=1.8, **style)
    if answers is not None:
        _mark(ax, entries, mechanism, answers, truth, grid, methods[0], error, repeats)
    _axes(ax, grid, people, error)
    paint.title(
        ax,
        "Error against communication",
        f"{type(mechanism).__name__} over {mechanism.domain.size:,} values",
        paint.promised(mechanism.guarantee),
        f"{people:,} people",
    )
    paint.legend(ax, entries)
    return ax


def _population(
    mechanism: LinearMechanism, n: int | None, answers: Any, frequencies: ArrayLike | None
) -> tuple[Floats, int]:
    """True fractions and how many people there are."""
    if not isinstance(mechanism, LinearMechanism):
        raise ParameterError(
            f"{mechanism!r} is not for a set of values; give a mechanism such as GRR or OUE, "
            "without levels or rates"
        )
    size = mechanism.domain.size
    if (answers is None) == (n is None):
        raise ParameterError("give either n, the number of people, or their answers")
    if answers is not None:
        codes = mechanism.domain.encode(answers)
        if not codes.size:
            raise ParameterError("there are no answers; give those of at least one person")
        return np.bincount(codes, minlength=size) / codes.size, int(codes.size)
    people = checked_count(n, "n", 1)
    fractions = np.full(size, 1 / size) if frequencies is None else np.asarray(frequencies, float)
    if fractions.shape != (size,) or (fractions < 0).any() or not abs(fractions.sum() - 1) < 1e-6:
        raise ParameterError(f"frequencies must be {size} fractions of at least 0 that sum to one")
    return fractions, people


def _grid(rates: ArrayLike | None, epsilon: float) -> list[float]:
    points = sorted(checked_rates(np.arange(1, 11) / 10 if rates is None else rates, epsilon))
    if points[0] == 0 or len(points) < 2:
        raise ParameterError(f"rates is {rates!r}; give at least two of them, above 0")
    return points


def _check(mechanism: LinearMechanism, error: str, methods: Sequence[str], repeats: int) -> None:
    if error not in get_args(Error):
        raise ParameterError(f"error is {error!r}; allowed are 'tv' and 'std_error'")
    known = list(Sampled(mechanism, rate=0.5).methods)
    if isinstance(methods, str) or not methods or not set(methods) <= set(known) - {"wang-c"}:
        raise ParameterError(
            f"methods is {methods!r}; give a list of unbiased ones, such as ['hajek'], out of "
            f"{', '.join(known)}"
        )
    checked_count(repeats, "repeats", 1)


def _predict(
    mechanism: LinearMechanism, rate: float, truth: Floats, n: int, method: str, error: str
) -> float:
    variance = Sampled(mechanism, rate=rate).variance(truth, n, method=method)
    if error == "tv":
        return float(np.sqrt(variance).sum() / math.sqrt(2 * math.pi))
    return math.sqrt(float(variance.mean()))


def _mark(
    ax: Axes,
    entries: Legend,
    mechanism: LinearMechanism,
    answers: Any,
    truth: Floats,
    grid: Sequence[float],
    method: str,
    error: str,
    repeats: int,
) -> None:
    """Run collections, and mark their errors."""
    means: dict[float, Floats] = {}
    for rate in grid:
        points = _run(Sampled(mechanism, rate=rate), answers, truth, method, repeats)
        if points:
            sizes = [[e.tv if error == "tv" else e.rmse for e in point] for point in points]
            means[rate] = np.mean(sizes, axis=0)
    raw, valid = np.reshape([*means.values()], (-1, 2)).T
    ways = "one collection" if repeats == 1 else f"mean of {repeats} collections"
    style: dict[str, Any] = {"markersize": 6.5, "markeredgecolor": "white", "zorder": 4}
    (entries[f"{method}, {ways}"],) = ax.plot(
        list(means), raw, marker="o", linestyle="", color=VERMILLION, **style
    )
    (entries["the same, projected"],) = ax.plot(
        list(means), valid, marker="s", linestyle=":", linewidth=1.0, color=GREEN, **style
    )


def _run(
    sampled: Sampled, answers: Any, truth: Floats, method: str, repeats: int
) -> list[tuple[Errors, Errors]]:
    """Errors of estimates from fresh reports, as they are and projected."""
    points = []
    for _ in range(repeats):
        counts = sampled.aggregate(sampled.randomise(answers))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UselessEstimateWarning)
                estimate = sampled.estimate(counts, method=method)
        except EstimateError:
            continue  # nobody happened to report
        points.append((estimate.error(truth), estimate.project().error(truth)))
    return points


def _axes(ax: Axes, grid: Sequence[float], n: int, error: str) -> None:
    ax.set(xlabel="fraction of people who report", ylabel=_NAMES[error], yscale="log")
    low, high = ax.get_ylim()
    if error == "tv" and low < 1 < high:
        ax.axhline(1, color=GREY, linewidth=0.9, linestyle="--", zorder=1)
        ax.annotate(
            "no two distributions are further apart",
            (0.01, 1),  # above it, where errors are largest, there is room
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            color=GREY,
            fontsize="small",
        )
    paint.log_ticks(ax.yaxis, (low, high))
    ax.xaxis.set_major_formatter(paint.percent)
    paint.line_axes(ax)
    # Reports are rate times people, so they need their own scale but no line.
    scales = (lambda rate: np.asarray(rate) * n, lambda reports: np.asarray(reports) / n)
    reports = ax.secondary_xaxis(-0.2, functions=scales)
    reports.set_xlabel("reports sent")
    reports.xaxis.set_major_formatter("{x:,.0f}")
