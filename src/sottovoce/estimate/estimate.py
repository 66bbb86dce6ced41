"""Estimates: values, how wrong they may be, and what they are.

Values are fractions of the population (means for numbers). Standard errors and intervals speak of
the people who reported, whose answers are taken as fixed: they measure the noise that privacy
adds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from statistics import NormalDist
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..domain.text import printable
from ..domain.values import Label
from ..errors import EstimateError, MissingExtraError, ParameterError
from ..promise.guarantee import Guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
ErrorFrom = Literal["exact", "plug-in", "bootstrap"]
Replicate = Callable[[Floats, np.random.Generator], Floats]
_MOST_COVARIANCE = 20_000
_MOST_HTML_ROWS = 50


class Interval(NamedTuple):
    """Lower and upper ends, one per value."""

    low: Floats
    high: Floats


class Errors(NamedTuple):
    """How far an estimate is from the truth.

    `mse` is the mean over values of the squared error and `total_l2` its sum, `rmse` the root of
    `mse`, `tv` the total variation distance (half the sum of absolute errors, also called AVD),
    `max` the largest absolute error.
    """

    mse: float
    total_l2: float
    rmse: float
    tv: float
    max: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimated distribution.

    Attributes
    ----------
    values : ndarray
        Fractions, in the order of `labels`. Unbiased ones may be negative; see `project`.
    spread : ndarray or callable
        Variance of each value, or a function that works it out when it is asked for.
    n : int
        How many people it speaks of; all of them reported unless `reports` says otherwise.
    reports : int, optional
        How many of them reported, where people were sampled.
    labels : sequence
        The values' names in order.
    name : str
        The attribute's name, empty when it has none.
    method : str
        How it was made; `mechanism.methods` explains the names.
    biased : bool
        Whether its expectation differs from the truth.
    error_from : {"exact", "plug-in", "bootstrap"}
        Where the variance comes from. ``"plug-in"``: the exact formula at the estimated values.
        ``"bootstrap"``: the mean squared change when counts drawn from the estimate itself are
        estimated again.
    converged : bool
        False when an iteration stopped early.
    shares : bool
        Whether the values are shares of people, which sum to one; False for means and variances,
        which are in the units of the question.
    raw : Estimate, optional
        The unbiased estimate that this one was projected from.
    assuming : str
        What must be true of people for the estimate to be right, beside what is promised to them.
    answer_variance : float, optional
        For a mean: how much people's answers vary, as estimated; shares tell it themselves.
    guarantee : Guarantee
        What was promised to the people whose reports these are.
    """

    values: Floats
    spread: Floats | Callable[[], Floats]
    n: int
    labels: Sequence[Label]
    guarantee: Guarantee
    name: str = ""
    method: str = "unbiased"
    biased: bool = False
    error_from: ErrorFrom = "plug-in"
    converged: bool = True
    shares: bool = True
    raw: Estimate | None = None
    assuming: str = ""
    reports: int | None = None
    answer_variance: float | None = None
    _covariance: Callable[[], Floats] | None = field(default=None, repr=False)
    _replicate: Replicate | None = field(default=None, repr=False)

    @cached_property
    def variance(self) -> Floats:
        """Variance of each value (for a biased one, the mean squared error of a bootstrap)."""
        return self.spread() if callable(self.spread) else self.spread

    @property
    def std_error(self) -> Floats:
        """Standard error of each value."""
        return np.sqrt(self.variance)

    @property
    def covariance(self) -> Floats | None:
        """Covariance matrix of the values, made when asked for; None where it is not known."""
        if self._covariance is None:
            return None
        if self.values.size > _MOST_COVARIANCE:
            raise EstimateError(
                f"a covariance matrix of {self.values.size:,} values would not fit in memory "
                f"(the most is {_MOST_COVARIANCE:,}); use .variance or .std_error"
            )
        return self._covariance()

    @property
    def counts(self) -> Floats:
        """Estimated numbers of people: values times n."""
        return self.values * self.n

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval around each value, by the normal approximation.

        For biased shares it is clipped to [0, 1].

        Parameters
        ----------
        confidence : float
            Between 0 and 1, for each value on its own.
        """
        half = normal_quantile(confidence) * self.std_error
        low, high = self.values - half, self.values + half
        if self.biased and self.shares:
            # A weighted estimate may lie outside; its interval still holds it.
            low = np.maximum(low, np.minimum(self.values, 0))
            high = np.minimum(high, np.maximum(self.values, 1))
        return Interval(low, high)

    def project(self, method: str = "norm-sub") -> Estimate:
        """A valid distribution near this one: no negative value, sum one. Biased, and marked so.

        Parameters
        ----------
        method : {"norm-sub", "simplex-weighted"}
            ``"norm-sub"`` subtracts one constant and clips at zero, so that the sum is one: the
            nearest distribution in Euclidean distance. ``"simplex-weighted"`` is nearest in the
            distance that divides each value by its standard error, so that uncertain values move
            more.

        Notes
        -----
        Standard errors come from a parametric bootstrap: counts drawn from the projected estimate
        are estimated and projected again.
        """
        if method not in PROJECTIONS:
            raise ParameterError(
                f"there is no projection {method!r}; available: {', '.join(map(repr, PROJECTIONS))}"
            )
        if self._replicate is None:
            raise EstimateError(
                "this estimate is no distribution, so it cannot be projected to one"
            )
        raw = self.raw or self
        values = PROJECTIONS[method](raw.values, raw.variance)
        again = partial(_projected_again, self._replicate, PROJECTIONS[method], raw.variance)
        return replace(
            self,
            values=values,
            spread=partial(bootstrap, values, again),
            method=f"{raw.method} + {method}",
            biased=True,
            error_from="bootstrap",
            raw=raw,
            _covariance=None,
        )

    def error(self, truth: ArrayLike | Mapping[Any, float]) -> Errors:
        """Distance to true fractions, given in the order of `labels` or as a mapping."""
        true = self._as_fractions(truth)
        gap = self.values - true
        mse = float(np.mean(gap**2))
        return Errors(
            mse=mse,
            total_l2=float(np.sum(gap**2)),
            rmse=float(np.sqrt(mse)),
            tv=float(np.abs(gap).sum() / 2),
            max=float(np.abs(gap).max()),
        )

    def rows(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """One plain dictionary per value, for tables and JSON."""
        low, high = self.interval(confidence)
        columns = (self.values, self.std_error, low, high)
        return [
            {
                "value": label,
                "estimate": float(estimate),
                "std_error": float(std_error),
                "low": float(a),
                "high": float(b),
            }
            for label, estimate, std_error, a, b in zip(self.labels, *columns, strict=True)
        ]

    def to_frame(self, confidence: float = 0.95, *, backend: str = "pandas") -> Any:
        """A data frame with columns value, estimate, std_error, low, high.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Which library's frame to make.
        """
        try:
            import narwhals as nw
        except ImportError as error:
            raise MissingExtraError.of("narwhals", "frame", "to_frame()") from error
        low, high = self.interval(confidence)
        columns = {
            "value": list(self.labels),
            "estimate": self.values,
            "std_error": self.std_error,
            "low": low,
            "high": high,
        }
        try:
            return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
        except ImportError as error:
            raise MissingExtraError.of(backend, "frame", f"a {backend} frame") from error
        except ValueError as error:
            raise ParameterError(
                f"backend is {backend!r}; allowed are 'pandas', 'polars' and 'pyarrow'"
            ) from error

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Bars with intervals; see `sottovoce.plot.estimate`."""
        from .. import plot

        axes: Axes = plot.estimate(self, ax=ax, **options)
        return axes

    def __str__(self) -> str:
        low, high = self.interval()
        shown = min(self.values.size, 20)
        labels = [printable(label) for label in self.labels[:shown]]
        width = max(5, *map(len, labels))
        lines = [self._title()]
        lines.append(f"{'value':<{width}}  estimate     95 % interval")
        lines += [
            f"{label:<{width}}  {self.values[k]:8.4f}  {low[k]:8.4f} to {high[k]:7.4f}"
            for k, label in enumerate(labels)
        ]
        if self.values.size > shown:
            lines.append(f"… and {self.values.size - shown:,} more values")
        if self.assuming:
            lines += wrap(f"Assuming: {printable(self.assuming)}.", 79, subsequent_indent="  ")
        return "\n".join(lines)

    def _title(self) -> str:
        of = "" if self.reports in (None, self.n) else f" from {self.n:,} people"
        sent = self.n if self.reports is None else self.reports
        return f"{printable(self.name) or 'estimate'}: {sent:,} reports{of}, {self.method}"

    def _repr_html_(self) -> str:
        """For notebooks: a table with bars, and the guarantee beneath."""
        rows = self.rows()
        most = max((abs(row["high"]) for row in rows), default=1.0) or 1.0
        body = "".join(
            f"<tr><td style='text-align:left'>{escape(printable(row['value']))}</td>"
            f"<td>{row['estimate']:.4g}</td><td>{row['low']:.4g} to {row['high']:.4g}</td>"
            "<td style='text-align:left'><div style='background:#0072B2;height:0.7em;"
            f"width:{max(0.0, row['estimate']) / most * 12:.2f}em'></div></td></tr>"
            for row in rows[:_MOST_HTML_ROWS]
        )
        more = len(rows) - _MOST_HTML_ROWS
        rest = f"<p>… and {more:,} more values</p>" if more > 0 else ""
        title = escape(self._title())
        claim = f"<p>Assuming: {escape(printable(self.assuming))}.</p>" if self.assuming else ""
        head = "<tr><th>value</th><th>estimate</th><th>95 % interval</th><th></th></tr>"
        return (
            f"<div><b>{title}</b><table>{head}{body}</table>{rest}{claim}"
            f"{self.guarantee._repr_html_()}</div>"
        )

    def _as_fractions(self, truth: ArrayLike | Mapping[Any, float]) -> Floats:
        if isinstance(truth, Mapping):
            if set(truth) != set(self.labels):
                raise ParameterError(
                    "the truth must name every value once; it differs in "
                    f"{sorted(map(str, set(truth) ^ set(self.labels)))[:6]}"
                )
            truth = [truth[label] for label in self.labels]
        true = np.asarray(truth, float)
        if true.shape != self.values.shape or not abs(true.sum() - 1) < 1e-6 or (true < 0).any():
            raise ParameterError(
                f"the truth must be {self.values.size} fractions from 0 on that sum to 1; "
                f"given were {true.size} numbers that sum to {true.sum():g}"
            )
        return true


def normal_quantile(confidence: float) -> float:
    """How many standard errors an interval of this confidence reaches to either side."""
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise ParameterError(
            f"confidence is {confidence!r}; it must lie strictly between 0 and 1, such as 0.95"
        )
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def normally_again(
    spread: Floats | Callable[[], Floats], frequencies: Floats, generator: np.random.Generator
) -> Floats:
    """An estimate of such a population with normal noise of a known variance, for bootstraps."""
    variance = spread() if callable(spread) else spread
    again: Floats = frequencies + np.sqrt(variance) * generator.standard_normal(frequencies.size)
    return again


def bootstrap(values: Floats, again: Replicate, replicates: int | None = None) -> Floats:
    """Mean squared change of `values` when data drawn from them are estimated again.

    It spends no privacy, being computed from the released estimate alone, and needs no secrecy:
    the generator is seeded by the values, so that the same estimate has the same error.
    """
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).digest()
    generator = np.random.default_rng(int.from_bytes(digest[:16], "little"))
    rounds = replicates or (200 if values.size <= 4096 else 20)
    total = np.zeros(values.size)
    for _ in range(rounds):
        total += (again(values, generator) - values) ** 2
    mean: Floats = total / rounds
    return mean


def _projected_again(
    replicate: Replicate,
    projection: Callable[[Floats, Floats], Floats],
    variance: Floats,
    values: Floats,
    generator: np.random.Generator,
) -> Floats:
    return projection(replicate(values, generator), variance)


def _norm_sub(values: Floats, variance: Floats) -> Floats:
    """max(values - c, 0) with the c that makes the sum one."""
    return _simplex(values, np.ones_like(values))


def _simplex_weighted(values: Floats, variance: Floats) -> Floats:
    """max(values - c variance, 0) with the c that makes the sum one."""
    return _simplex(values, np.maximum(variance, np.finfo(float).tiny))


def _simplex(values: Floats, weight: Floats) -> Floats:
    """Minimise Σ (x - values)² / weight over distributions x.

    The solution is max(values - c weight, 0); with values sorted by values / weight, those kept
    are the first k for the largest k whose last one stays positive.
    """
    order = np.argsort(-values / weight, kind="stable")
    c = (np.cumsum(values[order]) - 1) / np.cumsum(weight[order])
    kept = np.flatnonzero(values[order] > c * weight[order])[-1]
    projected: Floats = np.maximum(values - c[kept] * weight, 0.0)
    return projected


PROJECTIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "norm-sub": _norm_sub,
    "simplex-weighted": _simplex_weighted,
}
