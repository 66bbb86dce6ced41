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
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..contract.collection import Columns
from ..domain.values import Domain, Label
from ..estimate.intervals import Floats
from .categorical import Drawing, SetResponse, SupportMechanism
from .linear import TINY
from .mechanism import Method
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

_ROOM = 1 << 20  # counts of outputs that are added up together


@register("projective")
@dataclass(frozen=True, init=False)
class ProjectiveGeometryResponse(SetResponse, SupportMechanism):
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
        if self.order is not None:
            check_order(self.order, self.domain.size)
        super().validate()

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
        return points(self.prime, self.dimension - 1)

    @property
    def q(self) -> Fraction:
        common = points(self.prime, self.dimension - 2)
        a, b = self.laws
        return common * a + (self.set_size - common) * b

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "unbiased": Method("Feldman, Nelson, Nguyen, Talwar 2022", biased=False),
            "mle": Method("maximum likelihood by EM, each step two transforms", biased=True),
        }

    @property
    def drawing(self) -> Drawing:
        parameters = (self.prime, self.dimension, *self.inside.words)
        return np.uint64, kernels.draw.projective_response, parameters

    def support(self, counts: NDArray[Any]) -> NDArray[Any]:
        # Of a table with a row per output, a row per value.
        return kernels.count.projective_sums(counts, self.prime, self.dimension, self.domain.size)

    def debias(self, counts: NDArray[Any], n: float) -> Floats:
        return self.fractions(self.support(counts), n)

    def debias_rows(self, counts: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
        step = 1 + _ROOM // self.cells
        parts = [slice(start, start + step) for start in range(0, n.size, step)]
        support = [self.support(counts[part].T).T for part in parts]
        return self.fractions(np.concatenate(support), n[:, None])

    def holders(self, frequencies: Floats) -> Floats:
        mirrored, sums = np.zeros(self.cells), np.empty(self.cells)
        places = mirror(self.prime, self.dimension)
        mirrored[places[: self.domain.size]] = frequencies
        sums[places] = kernels.count.projective_sums(
            mirrored, self.prime, self.dimension, self.cells
        )
        return sums

    def score_of(self, weights: Floats) -> Floats:
        return self.holders(weights) / self.rounded[1]

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        """Exact covariance matrix; it takes d² K steps."""
        f = np.asarray(frequencies, float)
        (a, b), q, gap = self.laws, self.q, self.p - self.q
        common, three = (points(self.prime, self.dimension - k) for k in (2, 3))
        base = float((b * common + (a - b) * three - q * q) / gap**2)
        either = f[:, None] + f[None, :]
        matrix: Floats = base - float(q / gap) * either
        if common > three:
            sets = self._incidence()
            # Σ_x f_x |three sets in common| = r₃ Σ f + (r − r₃) L, summed over outputs first.
            line = (sets * self.holders(f)) @ sets.T - three * f.sum()
            matrix += float((a - b) / gap**2) * line
        matrix /= n
        np.fill_diagonal(matrix, self.variance(f, n))
        return matrix

    def propagate(self, variances: Floats, n: int, *, full: bool) -> Floats:
        moved = (
            np.broadcast_to(np.asarray(variances, float), (self.cells,))
            / (n * self.rounded[1]) ** 2
        )
        if not full:
            return self.support(moved)
        sets = self._incidence()
        return np.asarray((sets * moved) @ sets.T)

    def _incidence(self) -> Floats:
        """1 where an output is in the set of a value, else 0: one row per value."""
        outputs, values = np.arange(self.cells), np.arange(self.domain.size)
        return self.supports({"y": outputs}, values).T.astype(float)

    def supports(self, columns: Columns, codes: NDArray[np.int64]) -> NDArray[Any]:
        values = value_vectors(codes, self.prime, self.dimension)
        outputs = output_vectors(columns["y"], self.prime, self.dimension)
        return np.asarray((outputs @ values.T) % self.prime == 0)

    def decode_steps(self, n: int) -> float:
        return n + self.cells * self.prime * (self.dimension - 1)

    def tiny(self) -> Self:
        # With an order for three coordinates where it can be: two would be GRR.
        return replace(self, domain=Domain(min(self.domain.size, TINY)), order=2)
