"""Estimates: values, their errors, and what they describe.

Values are fractions of people (means for numbers). Standard errors and intervals refer to the
people who reported, whose answers are treated as fixed: they measure the noise that privacy adds.
`Estimate.for_population` adds that of drawing these people from a larger population.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..domain.values import Label
from ..errors import EstimateError, UselessEstimateWarning
from ..promise import Guarantee
from . import display
from .count_intervals import CountInterval, GroupedCountInterval
from .intervals import Floats, Interval, Later, ScoreInterval, normal_quantile
from .projection import PROJECTIONS, check_projection
from .simultaneous import MOST_CORRELATED, Simultaneous, correlation_of, simultaneous
from .summaries import Summaries
from .truth import Errors, errors_of, true_fractions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .contrasts import Contrast

ErrorFrom = Literal["exact", "plug-in", "bootstrap"]
_MOST_COVARIANCE = 20_000
_FAIR = 0.05  # a useful half-width of an interval, as a fraction of the range


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Summaries):
    """An estimated distribution.

    Attributes
    ----------
    values : ndarray
        Fractions, in the order of `labels`. Unbiased ones may be negative; see `project`.
    spread : ndarray or callable
        Variance of each value, or a function that computes it on demand.
    n : int
        How many people it describes; all of them reported unless `reports` says otherwise.
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
    fractions : bool
        Whether the values are fractions of people, which sum to one; False for means and variances,
        which are in the units of the question.
    exclusive : bool
        Whether everyone has exactly one of the values, so that fractions sum to one; False where
        several could be chosen.
    complete : bool
        Whether these are all values that people could answer; False for chosen ones, whose
        fractions sum to at most one.
    raw : Estimate, optional
        The unbiased estimate behind a biased one, whose errors and intervals are shown.
    assuming : str
        What must be true of people for the estimate to be right; separate from the guarantee.
    answer_variance : float, optional
        For a mean: how much people's answers vary, as estimated. For fractions it follows
        from the values.
    population : float, optional
        The size of the population to which errors and intervals refer (infinite for an unlimited
        one); None where they refer to the people who reported.
    guarantee : Guarantee
        What was promised to the people whose reports these are.
    """

    #: What titles say was counted.
    counted: ClassVar[str] = "reports"
    #: Whether the data decided which values it has, so that only its own intervals hold for them.
    selected: ClassVar[bool] = False
    #: Which function of `sottovoce.plot` draws it.
    picture: ClassVar[str] = "estimate"

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
    fractions: bool = True
    raw: Estimate | None = None
    assuming: str = ""
    reports: int | None = None
    answer_variance: float | None = None
    population: float | None = None
    exclusive: bool = True
    complete: bool = True
    _covariance: Callable[[], Floats] | None = field(default=None, repr=False)
    _interval: Callable[[float], Interval] | Later | None = field(default=None, repr=False)
    _origins: tuple[Any, ...] = field(default=(), repr=False)

    @cached_property
    def own_interval(self) -> Callable[[float], Interval] | None:
        """What gives its intervals from a confidence; None for normal ones."""
        return self._interval.make() if isinstance(self._interval, Later) else self._interval

    @property
    def noise_lines(self) -> ScoreInterval | None:
        """How its noise depends on the truth, for combinations of values; None if not known."""
        own = self.own_interval
        if isinstance(own, CountInterval | GroupedCountInterval):
            return own.lines
        return own if isinstance(own, ScoreInterval) else None

    @cached_property
    def variance(self) -> Floats:
        """Variance of each value; of a biased one, that of the unbiased estimate behind it."""
        return self.spread() if callable(self.spread) else self.spread

    @property
    def std_error(self) -> Floats:
        """Standard error of each value."""
        return np.sqrt(self.variance)

    @property
    def covariance(self) -> Floats | None:
        """Covariance matrix of the values, computed on demand; None where it is not known."""
        if self._covariance is None:
            return None
        if self.values.size > _MOST_COVARIANCE:
            raise EstimateError(
                f"a covariance matrix of {self.values.size:,} values would not fit in memory (the "
                f"limit is {_MOST_COVARIANCE:,}); use .variance or .std_error"
            )
        return self._covariance()

    @property
    def counts(self) -> Floats:
        """Estimated numbers of people: values times n."""
        return self.values * self.n

    @property
    def _sent(self) -> int:
        """How many people reported."""
        return self.n if self.reports is None else self.reports

    @property
    def _unbiased(self) -> Estimate:
        """Itself, or the unbiased estimate behind it."""
        return self if self.raw is None else self.raw

    @property
    def unit(self) -> str:
        """What the values are: "fraction", percentage "points", or "" for the question's units."""
        return "fraction" if self.fractions else ""

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """An interval around each value, for each value on its own or for all of them at once.

        That of a biased estimate is the interval of the unbiased one behind it (`raw`), which
        holds whatever the truth is; it is widened to include the value, and fractions are cut off
        at 0 and 1.

        Parameters
        ----------
        confidence : float
            Between 0 and 1.
        simultaneous : bool
            Whether all intervals hold together with this confidence; `simultaneous` says how.
        """
        normal_quantile(confidence)  # refuses an invalid one, whichever way the interval is found
        if simultaneous:
            confidence = self.simultaneous(confidence).confidence
        low, high = self._unbiased._own_interval(confidence)
        if not self.biased:
            return Interval(low, high)
        low, high = np.minimum(low, self.values), np.maximum(high, self.values)
        if self.unit == "fraction":
            # A weighted estimate may lie outside; its interval still includes it.
            low = np.maximum(low, np.minimum(self.values, 0))
            high = np.minimum(high, np.maximum(self.values, 1))
        return Interval(low, high)

    def simultaneous(self, confidence: float = 0.95) -> Simultaneous:
        """The confidence each interval needs for all to hold at once, and the method behind it.

        ``"max-|z|"`` takes the correlation of the values into account; ``"Bonferroni"`` is used
        where it is not known, or for more than a thousand values.
        """
        normal_quantile(confidence)  # refuses an invalid one
        return simultaneous(confidence, self.values.size, self._unbiased._correlation)

    @cached_property
    def _correlation(self) -> Floats | None:
        if self._covariance is None or self.values.size > MOST_CORRELATED:
            return None
        return correlation_of(self._covariance(), self._own_variance)

    def _correlation_of(self, places: Any) -> Floats | None:
        """The correlation of some values; None where it is not known."""
        own = self._own_variance
        return correlation_of(self._covariance_of(places), None if own is None else own[places])

    @property
    def _own_variance(self) -> Floats | None:
        """The variance, where the covariance is an upper bound: where several may be chosen."""
        return None if self.exclusive else self.variance

    def _covariance_of(self, places: Any) -> Floats | None:
        """The covariance of some values; None where it is not known."""
        if self._covariance is None or self.values.size > 4 * MOST_CORRELATED:
            return None
        return self._covariance()[np.ix_(places, places)]

    def contrast(self, weights: Mapping[Any, float]) -> Contrast:
        """A linear combination of values, with an interval and a test.

        Parameters
        ----------
        weights : mapping
            From values to their weights; of a table, from tuples with a value of each attribute.

        Examples
        --------
        >>> import sottovoce as sv
        >>> est = sv.ask(["yes", "no", "yes"] * 999, values=["yes", "no"], epsilon=1.0)
        >>> lead = est.contrast({"yes": 1, "no": -1})
        >>> lead.labels[0], lead.unit
        ('yes − no', 'points')
        """
        from .contrasts import contrast

        return contrast(self, weights)

    def __sub__(self, other: object) -> Contrast:
        """The difference of two estimates of the same values from different reports.

        Their errors are independent, so their variances add up. The guarantee is that of someone
        who may be in both.
        """
        from .contrasts import difference

        return difference(self, other) if isinstance(other, Estimate) else NotImplemented

    @property
    def roots(self) -> frozenset[int]:
        """Marks of the reports it was made from, as far as they are known."""
        return frozenset(map(id, self._sources))

    @property
    def _sources(self) -> tuple[Any, ...]:
        """Objects that stand for the reports; kept, so that no other gets their identity."""
        return self._origins or (self._unbiased.values,)

    def _cells(self) -> Mapping[Any, int]:
        """Where each value is."""
        return {label: k for k, label in enumerate(self.labels)}

    def _own_interval(self, confidence: float) -> Interval:
        if self.own_interval is not None:
            return self.own_interval(confidence)
        half = normal_quantile(confidence) * self.std_error
        return Interval(self.values - half, self.values + half)

    def project(self, method: str = "norm-sub") -> Estimate:
        """A valid distribution near this one, marked as biased: no negative value, sum one.

        Parameters
        ----------
        method : {"norm-sub", "simplex-weighted"}
            ``"norm-sub"`` subtracts one constant and clips at zero, so that the sum is one: the
            nearest distribution in Euclidean distance. ``"simplex-weighted"`` is nearest in the
            distance that divides each value by its standard error, so that uncertain values move
            more.

        Notes
        -----
        Errors and intervals stay those of the unbiased estimate: projecting lowers the error on
        average, but not for every value, and how much is not known from the data. Fractions of
        options, of which people may choose several, are moved to 0 or 1 where they lie outside.
        Those of chosen values need not sum to one: negative ones are moved to 0, and only where
        the rest sums to more than one is it projected as above.
        """
        check_projection(method)
        if not self.fractions:
            raise EstimateError(
                "this estimate is not a distribution, so it cannot be projected onto one"
            )
        values, name = np.clip(self.values, 0.0, 1.0), "clipped"
        if self.exclusive and (self.complete or values.sum() > 1):
            values, name = PROJECTIONS[method](self.values, self.variance), method
        return replace(
            self,
            values=values,
            method=f"{self.method} + {name}",
            biased=True,
            raw=self._unbiased,
            _covariance=None,
            _interval=None,
        )

    def error(self, truth: ArrayLike | Mapping[Any, float]) -> Errors:
        """Distance to true fractions, given in the order of `labels` or as a mapping."""
        return errors_of(self.values - true_fractions(self, truth))

    def columns(self, confidence: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """The columns of a tidy table: what a value is, then estimate, std_error, low and high."""
        low, high = self.interval(confidence, simultaneous=simultaneous)
        numbers = {"estimate": self.values, "std_error": self.std_error, "low": low, "high": high}
        return {**self._label_columns(), **numbers}

    def _label_columns(self) -> dict[str, list[Label]]:
        return {"value": list(self.labels)}

    def rows(self, confidence: float = 0.95, *, simultaneous: bool = False) -> list[dict[str, Any]]:
        """One plain dictionary per value, for tables and JSON."""
        columns = self.columns(confidence, simultaneous=simultaneous)
        plain = [x.tolist() if isinstance(x, np.ndarray) else x for x in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]

    def to_frame(
        self, confidence: float = 0.95, *, simultaneous: bool = False, backend: str = "pandas"
    ) -> Any:
        """A tidy data frame: value (or a column per attribute), estimate, std_error, low, high.

        Parameters
        ----------
        confidence, simultaneous
            Of the intervals; see `interval`.
        backend : {"pandas", "polars", "pyarrow"}
            Which library's frame to make.
        """
        return display.to_frame(self.columns(confidence, simultaneous=simultaneous), backend)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Bars with intervals; see `sottovoce.plot.estimate`, for numbers `histogram`."""
        from .. import plot

        axes: Axes = getattr(plot, self.picture)(self, ax=ax, **options)
        return axes

    def __str__(self) -> str:
        return display.to_text(self)

    def __repr__(self) -> str:
        return display.to_line(self)

    def _repr_html_(self) -> str:
        """For notebooks: a table with bars, and the guarantee beneath."""
        return display.to_html(self)


def join_claims(claims: Iterable[str]) -> str:
    """What parts assume is assumed of the whole as well, and said once."""
    return "; ".join(dict.fromkeys(filter(None, claims)))


@contextmanager
def parts_may_be_useless() -> Iterator[None]:
    """While estimates of parts are combined: only the whole is worth a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UselessEstimateWarning)
        yield


def warn_if_useless(estimate: Estimate, span: float) -> None:
    """Warn when the widest 95 % interval is wider than the range of possible values, `span`."""
    half = 1.96 * float(estimate.std_error.max())
    if 2 * half > span:
        enough = math.ceil(estimate.n * (half / (_FAIR * span)) ** 2)
        warnings.warn(
            f"{estimate._sent:,} reports are too few: an interval of ± {half:.3g} is wider than "
            f"the whole range of {span:g}. About {enough:,} people would give ± "
            f"{_FAIR * span:.3g}; ask more people or choose a larger epsilon (sottovoce.plan "
            "computes it)",
            UselessEstimateWarning,
            stacklevel=3,
        )
