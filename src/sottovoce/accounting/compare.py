"""Shuffled GRR against a trusted server with Gaussian noise, at the same (ε, δ).

Both release the fractions of d values among n people, neighbours being one changed answer. Shuffled
GRR has the standard error of an average fraction of GRR at the local ε. The server adds noise with
σ = `sigma_analytic` (ε, δ, √2/n) to each of them, since one changed answer moves two by 1/n, and
makes them sum to one again, as those of GRR do: σ √(1 − 1/d). For comparison there is GRR that
keeps the central ε locally: what the same promise costs when nobody is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import ParameterError
from .gaussian import sigma_analytic
from .shuffle import shuffle

EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One local epsilon, what it becomes, and what it costs.

    Attributes
    ----------
    values, people : int
        How many values, and how many people.
    local_epsilon : float
        Everyone's own promise, which needs no trust.
    epsilon, delta : float
        What shuffling makes of it; the Gaussian noise keeps the same.
    shuffled_error, gaussian_error, local_error : float
        Standard error of an average fraction: of shuffled GRR, the trusted server, and GRR that
        keeps `epsilon` with nobody's help.
    """

    values: int
    people: int
    local_epsilon: float
    epsilon: float
    delta: float
    shuffled_error: float
    gaussian_error: float
    local_error: float

    @property
    def ratio(self) -> float:
        """How many times the error of the trusted server."""
        return self.shuffled_error / self.gaussian_error

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {**asdict(self), "ratio": self.ratio}


def compare(
    d: int, people: int, delta: float, epsilons: Iterable[float] = EPSILONS
) -> list[Comparison]:
    """What hiding in a crowd costs compared with a server that may see everything.

    Parameters
    ----------
    d : int
        Number of values.
    people : int
        How many report.
    delta : float
        Of both.
    epsilons : iterable of float
        Local epsilons of GRR.

    Returns
    -------
    list of Comparison
        One for each local epsilon, in the order given.

    Examples
    --------
    >>> row, = compare(10, 10_000, 1e-6, [2.0])
    >>> round(row.epsilon, 3), round(row.ratio, 2)
    (0.08, 1.18)
    """
    if isinstance(epsilons, (str, int, float)) or not isinstance(epsilons, Iterable):
        raise ParameterError(f"epsilons is {epsilons!r}; give a list, such as [1, 2, 4]")
    rows = [_row(d, people, delta, epsilon) for epsilon in epsilons]
    if not rows:
        raise ParameterError("epsilons is empty; give at least one local epsilon")
    return rows


def _row(d: int, people: int, delta: float, epsilon: float) -> Comparison:
    promise = shuffle(epsilon, people, delta, bound="grr", d=d)
    if promise.epsilon == 0:
        raise ParameterError(
            f"delta is {delta:g}; with a delta this large there is nothing to compare; choose one "
            f"far below 1/people, such as {0.01 / people:.0e}"
        )
    return Comparison(
        d,
        people,
        float(epsilon),
        promise.epsilon,
        promise.delta,
        _grr_error(epsilon, d, people),
        sigma_analytic(promise.epsilon, promise.delta, math.sqrt(2) / people)
        * math.sqrt(1 - 1 / d),
        _grr_error(promise.epsilon, d, people),
    )


def _grr_error(epsilon: float, d: int, people: int) -> float:
    """Standard error of an average fraction, from p − q and 1 − p − q without the denominator."""
    gap, total = math.expm1(epsilon), math.exp(epsilon) + d - 1
    return math.sqrt(((total - 1) / gap**2 + (d - 2) / gap / d) / people)
