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

Feldman, Nelson, Nguyen, Talwar 2022 (arXiv:2203.00194), here for prime w; the covariance is ours.
For d = K it is subset selection with fewer sets, and t = 2 is GRR over K values. Linear, not pure:
how often two other values are supported together depends on whether the truth lies on their line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.values import Domain, Label, code_dtype
from ..errors import ParameterError, WireError
from ..estimate.intervals import Floats, ScoreInterval
from ..estimate.likelihood import Fit, em
from ..randomness import Draws, Probability, Source, exp
from .channel import Channel
from .linear import TINY, LinearMechanism
from .mechanism import TOO_SMALL, Method
from .projective_space import (
    best_order,
    check_order,
    least_dimension,
    mirror,
    output_vectors,
    points,
    value_vectors,
)
from .registry import register


@register("projective")
@dataclass(frozen=True, init=False)
class ProjectiveGeometryResponse(LinearMechanism):
    """Report a point of a projective space, likelier one on the answer's hyperplane.

    The error of subset selection for many values, with a few bytes per report; decoding takes
    about n + w t K steps.

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
    >>> m.prime, m.dimension, m.cells
    (3, 7, 1093)
    """

    order: int | None = None

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        epsilon: float,
        study: bytes | None = None,
        order: int | None = None,
    ) -> None:
        object.__setattr__(self, "order", int(order) if isinstance(order, np.integer) else order)
        super().__init__(domain, epsilon=epsilon, study=study)

    def validate(self) -> None:
        super().validate()
        if self.order is not None:
            check_order(self.order, self.domain.size)
        if self._gap <= 0:
            raise ParameterError(TOO_SMALL.format(epsilon=self.epsilon))

    @property
    def parameters(self) -> dict[str, Any]:
        own = {} if self.order is None else {"order": self.order}
        return {**super().parameters, **own}

    @property
    def prime(self) -> int:
        """w, the order of the field."""
        return best_order(self.epsilon, self.domain.size) if self.order is None else self.order

    @property
    def dimension(self) -> int:
        """t, how many coordinates a point has: the fewest with a point for every value."""
        return least_dimension(self.prime, self.domain.size)

    @property
    def cells(self) -> int:
        return points(self.prime, self.dimension)

    @property
    def set_size(self) -> int:
        """s, how many outputs are in the set of a value."""
        return points(self.prime, self.dimension - 1)

    @property
    def inside(self) -> Probability:
        """Probability that the report lies in the answer's set, as drawn."""
        return _inside(self.epsilon, self.prime, self.dimension)

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
        common = points(self.prime, self.dimension - 2)
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
            "unbiased": Method("Feldman, Nelson, Nguyen, Talwar 2022", biased=False),
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
        prime, dimension = self.prime, self.dimension

        def some(draws: Draws, people: slice) -> None:
            for where, codes in blocks(people):
                target = out[where]

                def step(words: Any, part: slice, extra: Any, used: int) -> Any:
                    inputs, outputs = codes[part], target[part]  # noqa: B023, called at once
                    return kernels.draw.projective_response(
                        words, inputs, prime, dimension, upper, lower, outputs, extra, used
                    )

                draws.each(codes.size, np.uint64, step)

        source.over_ranges(some, n, work=100 * n)
        return {"y": out}

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        return kernels.count.histogram(reports.columns["y"], self.cells)

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        return kernels.count.histogram_by(group, reports.columns["y"], groups, self.cells)

    def support(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Σ of the counts of the outputs in the set of each value: exact for integers."""
        return kernels.count.projective_sums(
            np.ascontiguousarray(counts), self.prime, self.dimension, self.domain.size
        )

    def debias(self, counts: NDArray[np.int64], n: int) -> Floats:
        q, gap, _, _ = self._rounded
        values: Floats = (self.support(counts) / n - q) / gap
        return values

    def _supported(self, frequencies: Floats) -> Floats:
        """For every output, the fraction of answers in whose set it is: Σ f_x over these x."""
        mirrored, sums = np.zeros(self.cells), np.empty(self.cells)
        places = mirror(self.prime, self.dimension)
        mirrored[places[: self.domain.size]] = frequencies
        sums[places] = kernels.count.projective_sums(
            mirrored, self.prime, self.dimension, self.cells
        )
        return sums

    def _law(self, frequencies: Floats) -> Floats:
        """Probability of every output: Σ_x f_x P(y|x), by one transform."""
        a, b = self._outputs
        law: Floats = float(b) * frequencies.sum() + float(a - b) * self._supported(frequencies)
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
        common, three = (points(self.prime, self.dimension - k) for k in (2, 3))
        base = float((b * common + (a - b) * three - q * q) / gap**2)
        either = f[:, None] + f[None, :]
        matrix: Floats = base - float(q / gap) * either
        if common > three:
            sets = self._incidence()
            # Σ_x f_x |three sets in common| = r₃ Σ f + (r − r₃) L, summed over outputs first.
            line = (sets * self._supported(f)) @ sets.T - three * f.sum()
            matrix += float((a - b) / gap**2) * line
        matrix /= n
        np.fill_diagonal(matrix, self.variance(f, n))
        return matrix

    def propagate(self, variances: Floats, n: int, *, full: bool) -> Floats:
        moved = (
            np.broadcast_to(np.asarray(variances, float), (self.cells,))
            / (n * self._rounded[1]) ** 2
        )
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
        values = value_vectors(np.arange(self.domain.size), self.prime, self.dimension)
        outputs = output_vectors(np.arange(self.cells), self.prime, self.dimension)
        return np.asarray((values @ outputs.T) % self.prime == 0, float)

    def outcomes(self, reports: Reports, x: Label, y: Label) -> NDArray[Any]:
        values = value_vectors(self.domain.encode([x, y]), self.prime, self.dimension)
        outputs = output_vectors(reports.columns["y"], self.prime, self.dimension)
        return np.asarray((outputs @ values.T) % self.prime == 0)

    def decode_steps(self, n: int) -> float:
        return n + self.cells * self.prime * (self.dimension - 1)

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


@lru_cache(maxsize=256)
def _inside(epsilon: float, order: int, dimension: int) -> Probability:
    s = points(order, dimension - 1)
    power = s * exp(epsilon)
    return Probability.at_most(power / (power + points(order, dimension) - s))
