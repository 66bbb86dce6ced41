"""Projective geometry response: the error of subset selection with reports of a few bytes.

Outputs     the K = (w^t − 1)/(w − 1) points of a projective space: vectors of t integers modulo a
            prime w, up to a factor. Values are points as well, and the set of a value is the
            hyperplane of the s = (w^(t−1) − 1)/(w − 1) points orthogonal to it. Two sets have
            r = (w^(t−2) − 1)/(w − 1) points in common
Channel     uniform on the answer's set with probability p = s e^ε / (s e^ε + K − s), else uniform
            outside it; w and t are those with K ≥ d and the lowest total variance
Estimate    f̂_v = (c_v / n − q) / (p − q), c_v counts the reports in the set of v,
            q = r p / s + (s − r) (1 − p) / (K − s)
Covariance  variances as for every mechanism that supports the truth with probability p and any
            other value with probability q. Three sets have r points in common if their values lie
            on one line and r₃ = (w^(t−3) − 1)/(w − 1), at least 0, if not, so that
            n (p − q)² Cov(f̂_u, f̂_v) = b r + (a − b) (r₃ + (r − r₃) L) − q² − (f_u + f_v) q (p − q)
            exactly, with a = p / s, b = (1 − p) / (K − s) and L the fraction of the answers on the
            line through u and v
Guarantee   ε-LDP, tight; p is rounded down to a multiple of 2^-128

Feldman, Nelson, Nguyen, Talwar 2022 (arXiv:2203.00194), sections 3 and 4, for prime w. For d = K it
is subset selection with fewer sets, and t = 2 is GRR over K values. Linear, not pure: how often two
other values are supported together depends on whether the truth lies on their line.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..checks import checked_epsilon
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.values import Domain, Label, code_dtype
from ..errors import ParameterError, WireError
from ..estimate.intervals import Floats, ScoreInterval
from ..estimate.likelihood import Fit, em
from ..randomness import Probability, Source, exp
from .channel import Channel
from .linear import TINY, LinearMechanism
from .mechanism import TOO_SMALL, Method
from .registry import register

_MOST_OUTPUTS = 1 << 26  # an aggregate has a count for each: 512 MiB


@register("projective")
@dataclass(frozen=True, init=False)
class ProjectiveGeometryResponse(LinearMechanism):
    """Report a point of a projective space, likelier one on the answer's hyperplane.

    The error of subset selection for many values, with a few bytes per report; decoding takes about
    n + w t d steps.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    epsilon : float
        Privacy parameter.
    order : int, optional
        w, a prime; the one with the lowest total variance where it is not given.

    Examples
    --------
    >>> m = ProjectiveGeometryResponse(1000, epsilon=1.0)
    >>> m.order, m.dimension, m.cells
    (3, 7, 1093)
    """

    order: int

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        epsilon: float,
        study: bytes | None = None,
        order: int | None = None,
    ) -> None:
        values, epsilon = Domain.of(domain), checked_epsilon(epsilon)
        best = _best_order(epsilon, max(values.size, 2))
        object.__setattr__(self, "order", best if order is None else order)
        super().__init__(values, epsilon=epsilon, study=study)

    @property
    def parameters(self) -> dict[str, Any]:
        best = _best_order(self.epsilon, self.domain.size)
        return {**super().parameters, **({} if self.order == best else {"order": self.order})}

    def validate(self) -> None:
        super().validate()
        _check_order(self.order, self.domain.size)
        if self._gap <= 0:
            raise ParameterError(TOO_SMALL.format(epsilon=self.epsilon))

    @property
    def dimension(self) -> int:
        """t, how many coordinates a point has: the fewest with a point for every value."""
        return _dimension(self.order, self.domain.size)

    @property
    def cells(self) -> int:
        return points(self.order, self.dimension)

    @property
    def set_size(self) -> int:
        """s, how many outputs are in the set of a value."""
        return points(self.order, self.dimension - 1)

    @property
    def inside(self) -> Probability:
        """Probability that the report lies in the answer's set, as drawn."""
        return _inside(self.epsilon, self.order, self.dimension)

    @property
    def _outputs(self) -> tuple[Fraction, Fraction]:
        """a and b: probability of one output in the answer's set, and of one outside it."""
        p = self.inside.fraction
        return p / self.set_size, (1 - p) / (self.cells - self.set_size)

    @property
    def p(self) -> Fraction:
        """Probability that the truth is supported, exactly."""
        return self.inside.fraction

    @property
    def q(self) -> Fraction:
        """Probability that a given other value is supported, exactly."""
        common = points(self.order, self.dimension - 2)
        a, b = self._outputs
        return common * a + (self.set_size - common) * b

    @property
    def _gap(self) -> Fraction:
        return self.p - self.q

    @cached_property
    def _rounded(self) -> tuple[float, float, float, float]:
        """(q, p − q, noise of a value nobody holds, what holding it adds), each rounded once."""
        p, q, gap = self.p, self.q, self._gap
        return float(q), float(gap), float(q * (1 - q) / gap**2), float((1 - p - q) / gap)

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "unbiased": Method("Feldman, Nelson, Nguyen, Talwar 2022, section 3", biased=False),
            "mle": Method("maximum likelihood by EM, each step two transforms", biased=True),
        }

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column("y", code_dtype(self.cells).str),)

    def check(self, columns: Columns) -> None:
        y = columns["y"]
        if y.size and int(y.max()) >= self.cells:
            raise WireError(f"a report is {int(y.max())}; outputs end before {self.cells}")

    def draw(self, answers: Any, source: Source) -> Columns:
        """An output in the answer's set, or one outside it."""
        n, blocks = self.domain.blocks(answers)
        out = np.empty(n, code_dtype(self.cells))
        upper, lower = self.inside.words
        order, dimension = self.order, self.dimension
        draws = source.draws()
        for where, codes in blocks:
            target = out[where]

            def step(words: Any, part: slice, extra: Any, used: int) -> Any:
                inputs, outputs = codes[part], target[part]  # noqa: B023, called before the next
                return kernels.draw.projective_response(
                    words, inputs, order, dimension, upper, lower, outputs, extra, used
                )

            draws.each(codes.size, np.uint64, step)
        return {"y": out}

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        return kernels.count.histogram(reports.columns["y"], self.cells)

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        return kernels.count.histogram_by(group, reports.columns["y"], groups, self.cells)

    def support(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Σ of the counts of the outputs in the set of each value: exact for integers."""
        return kernels.count.projective_sums(
            np.ascontiguousarray(counts), self.order, self.dimension, self.domain.size
        )

    def debias(self, counts: NDArray[np.int64], n: int) -> Floats:
        q, gap, _, _ = self._rounded
        values: Floats = (self.support(counts) / n - q) / gap
        return values

    def _law(self, frequencies: Floats) -> Floats:
        """Probability of every output: Σ_x f_x P(y|x), by one transform."""
        a, b = self._outputs
        mirrored = np.zeros(self.cells)
        mirror = _mirror(self.order, self.dimension)
        mirrored[mirror[: self.domain.size]] = frequencies
        sums = kernels.count.projective_sums(mirrored, self.order, self.dimension, self.cells)
        law: Floats = np.empty(self.cells)
        law[mirror] = float(b) * frequencies.sum() + float(a - b) * sums
        return law

    def _back(self, weights: Floats) -> Floats:
        """Σ_y w_y P(y|x) for every value, by one transform."""
        a, b = self._outputs
        back: Floats = float(b) * weights.sum() + float(a - b) * self.support(weights)
        return back

    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        return em(counts, self._law, self._back, np.ones(self.domain.size))

    def score_interval(self, values: Floats, counts: NDArray[np.int64], n: int) -> ScoreInterval:
        _, gap, base, slope = self._rounded
        return ScoreInterval(values, base / n, slope / n, step=0.5 / (n * gap))

    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        _, _, base, slope = self._rounded
        result: Floats = (base + slope * np.asarray(frequencies, float)) / n
        return result

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        """Exact covariance matrix; it takes d² K steps."""
        f = np.asarray(frequencies, float)
        (a, b), q, gap = self._outputs, self.q, self._gap
        common, three = (points(self.order, self.dimension - k) for k in (2, 3))
        base = float((b * common + (a - b) * three - q * q) / gap**2)
        either = f[:, None] + f[None, :]
        matrix: Floats = base - float(q / gap) * either
        if common > three:
            sets = self._incidence()
            # Σ_x f_x |three sets in common| = r₃ Σ f + (r − r₃) L, summed over outputs first.
            unit = (self._law(f) - float(b) * f.sum()) / float(a - b)
            line = (sets * unit) @ sets.T - three * f.sum()
            matrix += float((a - b) / gap**2) * line
        matrix /= n
        np.fill_diagonal(matrix, self.variance(f, n))
        return matrix

    def propagate(self, variances: Floats, n: int, *, full: bool) -> Floats:
        moved = np.broadcast_to(np.asarray(variances, float), (self.cells,)) / (
            n * self._rounded[1]
        ) ** 2
        if not full:
            return self.support(moved)
        sets = self._incidence()
        return np.asarray((sets * moved) @ sets.T)

    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values; it does not depend on the data."""
        p, q, d = self.p, self.q, self.domain.size
        return float(d * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)) / n

    def _incidence(self) -> Floats:
        """1 where an output is in the set of a value, else 0: one row per value."""
        values = value_vectors(np.arange(self.domain.size), self.order, self.dimension)
        outputs = output_vectors(np.arange(self.cells), self.order, self.dimension)
        return ((values @ outputs.T) % self.order == 0).astype(float)

    def outcomes(self, reports: Reports, x: Label, y: Label) -> NDArray[Any]:
        values = value_vectors(self.domain.encode([x, y]), self.order, self.dimension)
        outputs = output_vectors(reports.columns["y"], self.order, self.dimension)
        return np.asarray((outputs @ values.T) % self.order == 0)

    def decode_steps(self, n: int) -> float:
        return n + self.cells * self.order * (self.dimension - 1)

    @property
    def marks_per_report(self) -> int:
        return 1

    def tiny(self) -> Self:
        # With an order for three coordinates where it can be: two would be GRR.
        return replace(self, domain=Domain(min(self.domain.size, TINY)), order=2)

    def every_report(self, way: Way | None = None) -> Reports:
        self.refuse_large(self.cells)
        outputs = np.arange(self.cells, dtype=code_dtype(self.cells))
        return Reports(self.id, self.digest, {"y": outputs})

    def channel(self, way: Way | None = None) -> Channel:
        self.refuse_large(self.cells)
        a, b = self._outputs
        rows = tuple(tuple(a if cell else b for cell in row) for row in self._incidence().tolist())
        return Channel(self.domain.labels, [str(y) for y in range(self.cells)], rows)


def points(order: int, dimension: int) -> int:
    """How many points have that many coordinates."""
    return (order**dimension - 1) // (order - 1) if dimension > 0 else 0


def output_vectors(outputs: NDArray[Any], order: int, dimension: int) -> NDArray[np.int64]:
    """The coordinates of outputs, one row each; the first that is not 0 is 1."""
    node = outputs.astype(np.int64)
    vectors = np.zeros((node.size, dimension), np.int64)
    for k in range(dimension - 1, -1, -1):
        vectors[:, k] = np.where(node > 0, (node - 1) % order, node == 0)
        node = np.where(node > 0, (node - 1) // order, -1)
    return vectors


def value_vectors(codes: NDArray[Any], order: int, dimension: int) -> NDArray[np.int64]:
    """The coordinates of values, one row each; the last that is not 0 is 1."""
    code = codes.astype(np.int64)
    vectors = np.zeros((code.size, dimension), np.int64)
    for last in range(dimension):
        start = points(order, last)
        rows = (code >= start) & (code < start + order**last)
        vectors[rows, last] = 1
        digits = code[rows] - start
        for k in range(last - 1, -1, -1):
            vectors[rows, k] = digits % order
            digits //= order
    return vectors


@lru_cache(maxsize=4)
def _mirror(order: int, dimension: int) -> NDArray[np.int64]:
    """For every value, the output whose coordinates are those of the value in reverse.

    Since ⟨u, v⟩ does not change when both are reversed, it turns sums over the outputs of each
    value into sums over the values of each output.
    """
    vectors = value_vectors(np.arange(points(order, dimension)), order, dimension)
    node = np.full(len(vectors), -1, np.int64)
    for k in range(dimension - 1, -1, -1):
        digit = vectors[:, k]
        node = np.where(node >= 0, node * order + 1 + digit, digit - 1)
    return node


@lru_cache(maxsize=256)
def _inside(epsilon: float, order: int, dimension: int) -> Probability:
    s = points(order, dimension - 1)
    power = s * exp(epsilon)
    return Probability.at_most(power / (power + points(order, dimension) - s))


def _dimension(order: int, size: int) -> int:
    dimension = 2
    while points(order, dimension) < size:
        dimension += 1
    return dimension


def _check_order(order: int, size: int) -> None:
    if isinstance(order, bool) or not isinstance(order, int):
        raise ParameterError(f"order is {order!r}; it must be a whole number, a prime")
    if not 2 <= order < _MOST_OUTPUTS or _first_prime(range(order, order + 1)) is None:
        raise ParameterError(f"order is {order}; it must be a prime below {_MOST_OUTPUTS:,}")
    cells = points(order, _dimension(order, size))
    if cells > _MOST_OUTPUTS:
        raise ParameterError(
            f"order is {order}: {size:,} values then need {cells:,} outputs, and at most "
            f"{_MOST_OUTPUTS:,} are counted; choose another prime or leave it out"
        )


@lru_cache(maxsize=256)
def _best_order(epsilon: float, size: int) -> int:
    """The prime with the lowest total variance, and of those the one with the fewest outputs."""
    power = exp(epsilon)
    less = power - 1
    if less == 0:
        raise ParameterError(TOO_SMALL.format(epsilon=epsilon))

    def total(order: int) -> tuple[Fraction, int]:
        dimension = _dimension(order, size)
        cells, s, common = (points(order, dimension - k) for k in range(3))
        b = 1 / (s * power + cells - s)
        p, q, gap = s * power * b, (common * less + s) * b, (s - common) * less * b
        return size * q * (1 - q) / gap**2 + (1 - p - q) / gap, cells

    choices = set(_orders(1 + math.floor(power), size))
    if not choices:
        raise ParameterError(
            f"{size:,} values need more than {_MOST_OUTPUTS:,} outputs, a count for each of which "
            "would have to be kept; use 'hadamard' or 'grr'"
        )
    return min(choices, key=total)


def _orders(target: int, size: int) -> Iterator[int]:
    """For every t the smallest prime with enough points, and the primes next to the target.

    The variance of a value falls with w up to about e^ε + 1 and rises from there.
    """
    primes = range(2, _MOST_OUTPUTS)
    for dimension in range(2, _MOST_OUTPUTS.bit_length()):
        many = partial(points, dimension=dimension)
        least = 2 + bisect_left(primes, size, key=many)
        most = 1 + bisect_right(primes, _MOST_OUTPUTS, key=many)
        middle = min(max(target, least), most)
        upward = (_first_prime(range(start, most + 1)) for start in (least, middle))
        downward = _first_prime(range(middle, least - 1, -1))
        yield from (order for order in (*upward, downward) if order is not None)


@lru_cache(maxsize=4096)
def _first_prime(numbers: range) -> int | None:
    primes = (n for n in numbers if all(n % k for k in range(2, math.isqrt(n) + 1)))
    return next(primes, None)
