"""What mechanisms for values have in common: what a report is, and how values are estimated.

A report is one number (`OutputMechanism`), or supports a set of values (`SetMechanism`), or both
(`SetResponse`). Where every other value is supported equally often (`SupportMechanism`), estimate
and variance have closed forms, and so has the covariance where support is what is counted
(`PureMechanism`).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.values import Codes, Label, code_dtype
from ..errors import ParameterError, WireError
from ..estimate.intervals import Ends, Floats, ScoreInterval, Terms
from ..estimate.likelihood import Fit, em, fit_support
from ..randomness import Draws, Probability, Source
from .channel import Channel, set_probability, set_row
from .linear import LinearMechanism, Size
from .mechanism import TOO_SMALL, Method

#: The words that a kernel takes, the kernel, and its arguments between answers and reports.
Drawing = tuple[type[np.uint32] | type[np.uint64], Callable[..., Any], tuple[Any, ...]]

_MOST_SCORES = 1 << 24  # of outputs in all combinations of values whose noise is asked for
_FEW = 50  # reports of which a single one can still move a combination noticeably
_STEPS = 60  # of a report, as `over_ranges` counts them: about three nanoseconds


class OutputMechanism(LinearMechanism):
    """A report is one number below `cells`, and these are what is counted."""

    #: What the reports' column is called; stored, so it never changes.
    column: ClassVar[str] = "value"

    counted_by = frozenset({"histogram", "histogram_by"})

    @property
    @abstractmethod
    def drawing(self) -> Drawing:
        """How a report is drawn."""

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column(self.column, code_dtype(self.cells).str),)

    @property
    def marks_per_report(self) -> int | None:
        return 1

    def check(self, columns: Columns) -> None:
        outputs = columns[self.column]
        if outputs.size and int(outputs.max()) >= self.cells:
            raise WireError(
                f"a report names value {int(outputs.max())}; there are {self.cells} values, "
                "counted from 0"
            )

    def draw(self, answers: Any, source: Source) -> Columns:
        """One output for everyone."""
        n, blocks = self.domain.blocks(answers)
        out = np.empty(n, self.layout[0].dtype)
        drawing = self.drawing  # computed before there are threads

        def some(draws: Draws, people: slice) -> None:
            for where, codes in blocks(people):
                draw_outputs(draws, codes, drawing, out[where])

        source.over_ranges(some, n, work=_STEPS * n)
        return {self.column: out}

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        return kernels.count.histogram(reports.columns[self.column], self.cells)

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        return kernels.count.histogram_by(group, reports.columns[self.column], groups, self.cells)

    @property
    def tally_key(self) -> Hashable:
        return None if self.candidates is not None else self.column

    def every_report(self, way: Way | None = None) -> Reports:
        self.refuse_large(self.cells)
        outputs = np.arange(self.cells, dtype=self.layout[0].dtype)
        return Reports(self.id, self.digest, {self.column: outputs})


class ScoredMechanism(OutputMechanism):
    """A report adds a score to each combination of values; none has noise known from pairs."""

    def sum_line(self, values: Floats, n: float, weights: Floats, ends: Ends) -> Terms | None:
        """Base and slope as of F max s_x over the answers in the sum + (1 − F) max s_x over others.

        s_x is the variance of the score of someone who answered x. Its mean, which is the noise, is
        estimated from the reports as any mean of scores: where two standard errors above that is
        less, it is taken instead, with no slope. Weights between the ends lie on the same line, or
        below it. The step is half the most that a report can move the combination, while reports
        are few.
        """
        if self.candidates is not None or not self.knows_scores(len(weights)):
            return None
        span = ends[1] - ends[0]
        each = self.scores_of(weights) / span[:, None]
        noise = self.noise_of(each)
        part = (weights - ends[0][:, None]) / span[:, None]
        base, slope = _line_above(part, noise)
        error = np.sqrt(self.noise_of(self.scores_of(noise)).max(axis=1) / n)
        shown = np.maximum(noise @ values + 2 * error, noise.min(axis=1))
        less = shown < base + slope * np.clip((weights @ values - ends[0]) / span, 0, 1)
        step = 0.5 * np.ptp(each, axis=1) / n if n <= _FEW else None
        return np.where(less, shown, base) / n, np.where(less, 0.0, slope) / n, step

    @abstractmethod
    def knows_scores(self, many: int) -> bool:
        """Whether the scores of so many combinations can be computed in a short time."""

    @abstractmethod
    def scores_of(self, weights: Floats) -> Floats:
        """What a report of each output adds to Σ w_v f_v, a row for each row of weights."""

    @abstractmethod
    def noise_of(self, scores: Floats) -> Floats:
        """The variance of each row of scores, given each answer."""


class SetMechanism(LinearMechanism):
    """A report supports a set of values, the truth with probability p.

    It is uniform among the reports that support the truth, and among the others, unless `channel`
    says otherwise.
    """

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that the truth is supported, exactly."""

    @abstractmethod
    def supports(self, columns: Columns, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Whether each report (rows) supports each of the values with these codes (columns)."""

    def outcomes(self, reports: Reports, x: Label, y: Label) -> NDArray[Any]:
        return self.supports(reports.columns, self.domain.encode([x, y]).astype(np.int64))

    def report_names(self, reports: Reports) -> list[str]:
        """What the outputs of the channel are called."""
        return [str(y) for y in range(len(reports))]

    def channel(self, way: Way | None = None) -> Channel:
        reports = self.every_report()
        sets = self.supports(reports.columns, np.arange(self.domain.size)).T.tolist()
        rows = tuple(set_row(self.p, row) for row in sets)
        return Channel(self.domain.labels, self.report_names(reports), rows)


class SetResponse(ScoredMechanism, SetMechanism):
    """The answer has a set of s of the K outputs, and the report lies in it with probability p.

    P(y|x) = a = p / s in the set and b = (1 − p) / (K − s) outside, p = s e^ε / (s e^ε + K − s)
    """

    column: ClassVar[str] = "y"

    @property
    @abstractmethod
    def set_size(self) -> int:
        """s, how many outputs are in the set of a value."""

    @abstractmethod
    def support(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Σ of the counts of the outputs in the set of each value: exact for integers."""

    @abstractmethod
    def holders(self, frequencies: Floats) -> Floats:
        """For every output, the fraction of answers in whose set it is."""

    @cached_property
    def inside(self) -> Probability:
        """Probability that the report lies in the answer's set, as drawn."""
        return set_probability(self.epsilon, self.set_size, self.cells - self.set_size)

    @property
    def p(self) -> Fraction:
        return self.inside.fraction

    @cached_property
    def laws(self) -> tuple[Fraction, Fraction]:
        """a and b: probability of one output in the answer's set, and of one outside it."""
        return self.p / self.set_size, (1 - self.p) / (self.cells - self.set_size)

    def output_law(self, frequencies: Floats) -> Floats:
        """Σ_x f_x P(y|x) for every output."""
        a, b = self.laws
        return np.asarray(float(b) * frequencies.sum() + float(a - b) * self.holders(frequencies))

    @abstractmethod
    def score_of(self, weights: Floats) -> Floats:
        """What a report of each output adds to Σ w_v f_v."""

    def knows_scores(self, many: int) -> bool:
        return many * self.cells <= _MOST_SCORES

    def scores_of(self, weights: Floats) -> Floats:
        return np.stack([self.score_of(row) for row in weights])

    def noise_of(self, scores: Floats) -> Floats:
        squares = np.stack([self.expected(row) for row in scores**2])
        means = np.stack([self.expected(row) for row in scores])
        return np.maximum(squares - means**2, 0.0)

    def expected(self, weights: Floats) -> Floats:
        """Σ_y w_y P(y|x) for every value."""
        a, b = self.laws
        return np.asarray(float(b) * weights.sum() + float(a - b) * self.support(weights))

    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        return em(counts, self.output_law, self.expected, np.ones(self.domain.size))


class SupportMechanism(SetMechanism):
    """A report supports the truth with probability p and any other value with probability q.

    With c_v of n reports supporting v,

    Estimate    f_v = (c_v / n - q) / (p - q)                                   (unbiased)
    Variance    n Var f_v = [q (1 - q) + f_v (p - q) (1 - p - q)] / (p - q)^2   (fixed data)
    """

    def validate(self) -> None:
        super().validate()
        if self.p <= self.q:  # not even 128 bits can distinguish the truth from the rest
            raise ParameterError(TOO_SMALL.format(epsilon=self.epsilon))

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a given other value is supported, exactly."""

    @cached_property
    def rounded(self) -> tuple[float, float, float, float]:
        """(q, p − q, noise of a value nobody holds, what holding it adds), each rounded once."""
        p, q = self.p, self.q
        base, slope = q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q)
        return float(q), float(p - q), float(base), float(slope)

    def fractions(self, support: NDArray[Any], n: float | NDArray[np.int64]) -> Floats:
        """The estimate from how many of n reports support each value."""
        q, gap, _, _ = self.rounded
        fractions: Floats = support / n
        fractions -= q  # in place: under a menu of levels and rates there are many
        fractions /= gap
        return fractions

    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        _, _, base, slope = self.rounded
        result: Floats = (base + slope * np.asarray(frequencies, float)) / n
        return result

    def variance_rows(self, frequencies: Floats) -> Floats:
        return self.variance(frequencies, 1)

    def score_interval(self, values: Floats, counts: NDArray[Any], n: Size) -> ScoreInterval:
        _, gap, base, slope = self.rounded
        return ScoreInterval(values, base / n, slope / n, step=0.5 / (n * gap))

    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values; it does not depend on the data."""
        return float(noise_of_all(self.p, self.q, self.domain.size)) / n


class PureMechanism(SupportMechanism):
    """A mechanism whose supported values are exchangeable, and counted.

    Estimate and variance as for every `SupportMechanism`, and

    Covariance  n Cov(f_u, f_v) = [(t - q^2) + (f_u + f_v) (s - p q - t + q^2)] / (p - q)^2

    where s is the probability that a report supports the truth and one given other value, and t
    that it supports two given other values. Wang et al. 2017, section 3, for the estimate; the
    covariance is the average over people of that of their support indicators.
    """

    table: ClassVar[str] = "support"

    @property
    @abstractmethod
    def pair(self) -> tuple[Fraction, Fraction]:
        """(s, t): both of two values supported, one of them the truth or neither."""

    @cached_property
    def rounded_pair(self) -> tuple[float, float]:
        """(covariance of two values nobody holds, what holding either adds), each rounded once."""
        p, q = self.p, self.q
        s, t = self.pair
        return float((t - q * q) / (p - q) ** 2), float((s - p * q - t + q * q) / (p - q) ** 2)

    @abstractmethod
    def support(self, reports: Reports) -> NDArray[np.int64]:
        """How many reports support each value."""

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "unbiased": Method("Wang et al. 2017, section 3", biased=False),
            "mle": Method(
                "maximum of the support counts' likelihood, bits treated separately", biased=True
            ),
        }

    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        return fit_support(counts.astype(float), n, float(self.p), float(self.q))

    def restricted(self, candidates: NDArray[np.int64] | None) -> Self:
        if candidates is None:
            return self
        view = copy.copy(self)
        object.__setattr__(view, "candidates", candidates)
        return view

    @property
    def cells(self) -> int:
        return self.domain.size

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        return self.support(reports)

    def debias(self, counts: NDArray[Any], n: float) -> Floats:
        return self.fractions(counts, n)

    def debias_rows(self, counts: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
        return self.fractions(counts, n[:, None])

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        base, slope = self.rounded_pair
        f = np.asarray(frequencies, float)
        matrix: Floats = (base + slope * (f[:, None] + f[None, :])) / n
        np.fill_diagonal(matrix, self.variance(f, n))
        return matrix

    def score_interval(self, values: Floats, counts: NDArray[Any], n: Size) -> ScoreInterval:
        line = super().score_interval(values, counts, n)
        if not self.domain.exclusive:  # who chose two values together is not known
            return line
        return replace(line, pairs=(self.rounded_pair[0] / n, self.rounded_pair[1] / n))

    def propagate(self, variances: Floats, n: int, *, full: bool) -> Floats:
        # Each count moves its own value only.
        moved = np.asarray(variances) / (n * self.rounded[1]) ** 2
        return np.diag(moved) if full else moved


def _line_above(part: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Base and slope of a line that no noise exceeds, from the most at part 0 to that at part 1."""
    low = np.max(noise, axis=1, where=part <= 0, initial=0.0)
    high = np.max(noise, axis=1, where=part >= 1, initial=0.0)
    above = noise - low[:, None] - (high - low)[:, None] * part
    return low + np.maximum(above.max(axis=1), 0.0), high - low


def draw_outputs(draws: Draws, codes: Codes, drawing: Drawing, out: Codes) -> None:
    """An output for each code, into `out`."""
    word, kernel, parameters = drawing

    def step(words: Any, part: slice, extra: Any, used: int) -> Any:
        return kernel(words, codes[part], *parameters, out[part], extra, used)

    draws.each(codes.size, word, step)


def noise_of_all(p: Fraction, q: Fraction, size: int) -> Fraction:
    """Sum of the variances over `size` values from one report; a huge number where p ≤ q."""
    if p <= q:
        return Fraction(1 << 200)
    return size * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)
