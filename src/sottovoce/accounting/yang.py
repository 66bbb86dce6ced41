"""The published bounds for sampled counts, compared with the truth. They are not guarantees.

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", claim for N items
of which each has at least c = βn holders:

Theorem 3.1   p = 1 − e^−ε and c ≥ max((2π/δ)^{2/(N+1)}, (1/δ)^{2/N}) / (2π (e^−ε − e^−2ε))
Theorem 3.2   p = 1 − e^{−z−ε} and c ≥ e^{z+ε}/(2π (1−e^{−ε/2})²) ·
              max((2π/δ)^{2/(N+1)}/(1+e^{−ε/2})², (4π/δ)^{2/N}), for z not too large

Both bound the probability of the most likely single vector of counts. A neighbour changes one or
two of the N counts, so the true δ does not depend on N at all; it is up to 19 orders of magnitude
larger (maths page "secure-sampling", section a.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..checks import check_choice, checked_count, checked_epsilon, checked_loss, positive_delta
from ..errors import ParameterError
from .sampled_counts import Neighbours, check_neighbours, exact_delta, hidden_holders

Bound = Literal["yang-3.1", "yang-3.2"]
_MOST_Z = 20.0


@dataclass(frozen=True, slots=True)
class PublishedClaim:
    """What a published bound claims, and what is true.

    Attributes
    ----------
    bound : str
        Which theorem.
    epsilon, rate : float
        The epsilon of the claim, and the sampling rate that it prescribes.
    count : int
        Holders of every item.
    claimed_delta : float
        The published delta; 1 where the theorem claims nothing.
    true_delta : float
        The exact one, rounded up.
    """

    bound: str
    epsilon: float
    rate: float
    count: int
    claimed_delta: float
    true_delta: float

    @property
    def holds(self) -> bool:
        """Whether the claim happens to be true here."""
        return self.true_delta <= self.claimed_delta


def published_sampled_counts(
    epsilon: float,
    count: int,
    items: int,
    *,
    bound: Bound,
    z: float = 0.0,
    neighbours: Neighbours = "substitute",
) -> PublishedClaim:
    """What a published bound claims of sampled counts, beside the true delta.

    Examples
    --------
    >>> claim = published_sampled_counts(1.0, 20, 30, bound="yang-3.1", neighbours="add-remove")
    >>> f"claimed {claim.claimed_delta:.1e}, true {claim.true_delta:.1e}"
    'claimed 1.2e-22, true 2.6e-03'
    """
    epsilon, z = checked_epsilon(epsilon), _checked_z(bound, z)
    count, items = hidden_holders(count, 0), checked_count(items, "items", 2)
    check_neighbours(neighbours)
    rate = -math.expm1(-z - epsilon)
    if bound == "yang-3.1":
        spread = 2 * math.pi * count * (math.exp(-epsilon) - math.exp(-2 * epsilon))
        claimed = max(2 * math.pi * spread ** (-(items + 1) / 2), spread ** (-items / 2))
    else:
        half = math.exp(-epsilon / 2)
        spread = 2 * math.pi * count * (1 - half) ** 2 * math.exp(-z - epsilon)
        claimed = max(
            2 * math.pi * (spread * (1 + half) ** 2) ** (-(items + 1) / 2),
            4 * math.pi * spread ** (-items / 2),
        )
    true = exact_delta(epsilon, count, rate, neighbours)
    return PublishedClaim(bound, epsilon, rate, count, min(1.0, claimed), true)


def published_count(
    epsilon: float, delta: float, items: int, *, bound: Bound, z: float = 0.0
) -> float:
    """βn: how many holders the published bound asks for. Far too few; see `smallest_count`.

    Examples
    --------
    >>> round(published_count(0.1, 1e-7, 30, bound="yang-3.1"), 2)
    5.89
    """
    epsilon, z = checked_epsilon(epsilon), _checked_z(bound, z)
    delta, items = positive_delta(delta), checked_count(items, "items", 2)
    first = math.pow(2 * math.pi / delta, 2 / (items + 1))
    if bound == "yang-3.1":
        spread = 2 * math.pi * (math.exp(-epsilon) - math.exp(-2 * epsilon))
        return max(first, math.pow(delta, -2 / items)) / spread
    half = math.exp(-epsilon / 2)
    second = math.pow(4 * math.pi / delta, 2 / items)
    return (
        max(first / (1 + half) ** 2, second)
        * math.exp(z + epsilon)
        / (2 * math.pi * (1 - half) ** 2)
    )


def _checked_z(bound: Any, z: Any) -> float:
    check_choice(bound, "bound", get_args(Bound))
    if bound == "yang-3.1" and z != 0:
        raise ParameterError(f"z is {z!r}, but only bound='yang-3.2' takes one")
    if (loss := checked_loss(z)) > _MOST_Z:
        raise ParameterError(
            f"z is {z!r}; at most {_MOST_Z:g} is allowed, since beyond it practically everyone is "
            "in the sample and the published number of holders is astronomical"
        )
    return loss
