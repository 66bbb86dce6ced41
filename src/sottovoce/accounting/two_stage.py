"""Two-stage sampling (TSS): everyone reports a random set of M of the N items.

A person enters the sample with probability p. The set A contains the person's own item with
probability α = M/N (uniform selection, and everyone outside the sample) or, inside the sample, with
p_χ = αγ/(αγ + 1 − α) (adaptive selection; γ = 1 is uniform). What is seen decides the account:

S1 alone       sees A_i: ε* = ln[((1−p)T + pγ)/((1−p)T + p)] ≤ ln γ, T = αγ + 1 − α, local privacy
S2 alone       sees the sums s_j and m_j, how many report j: at most what a sample of rate p shows
S2, m_j hidden sees the sums only: exactly a sample of rate p p_χ
With output    whoever sees senders (S1, elected or committee users) and the result knows who
               reported j, so that only holders with j ∈ A_i hide each other

With output a holder has j ∈ A with probability π = (1−p)α + p p_χ and then counts with probability
p' = p p_χ/π; h ~ Bin(c−1, π) of the other holders have j ∈ A. With B_m = Bin(m, p'):

Add-remove     δ→ = E_h Σ_s (π B_{h+1}(s) − e^ε α B_h(s))₊ + ((1−π) − e^ε(1−α))₊; δ← exchanged
Substitute     with u = π(N−M)/(N−1), v = (1−π)M/(N−1), h_a and h_b independent:
               δ = π(M−1)/(N−1) · E δ_sub(h_a+1, h_b+1; p')
                 + E Σ_s (u B_{h_a+1}(s) − e^ε v B_{h_a}(s))₊
                 + E Σ_s (v B_{h_b}(s) − e^ε u B_{h_b+1}(s))₊

For γ = 1 both are the formulas of uniform selection. The sum of the last line is ours: A shows
whether it contains a, b, both or neither; given that, everything else in it is uniform.

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", definition 3.1 and
theorems 3.3 and 3.4, corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..checks import checked_count, checked_loss, checked_rate, number
from ..errors import ParameterError
from ..noise.binomial import Floats, log_pmf, window
from .pairs import Pair, with_holder, without_holder
from .sampled_counts import (
    MOST_EXPONENT,
    Neighbours,
    check_neighbours,
    hidden_holders,
    sampled_counts_delta,
)

_MOST_CELLS = 1 << 20  # of the table over (h, s); beyond, neighbouring h are taken together
_LEAST_MISS = 100.0  # in large tables e^-100 may be left out


@dataclass(frozen=True)
class TwoStage:
    """The parameters of two-stage sampling, and the probabilities that follow from them.

    Attributes
    ----------
    rate : float
        p, the probability of entering the sample.
    items, reported : int
        N and M: everyone reports M of the N items.
    gamma : float
        How much likelier sets with the person's own item are; 1 is uniform selection.
    """

    rate: float
    items: int
    reported: int
    gamma: float = 1.0

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        checked_count(self.items, "items", 1)
        checked_count(self.reported, "reported", 1)
        if self.reported > self.items:
            raise ParameterError(f"reported is {self.reported}, but there are {self.items} items")
        number(self.gamma, "gamma", "a number of at least 1", lambda gamma: gamma >= 1)

    @property
    def fraction(self) -> float:
        """α = M/N."""
        return self.reported / self.items

    @cached_property
    def own_item(self) -> float:
        """p_χ: that someone in the sample reports their own item."""
        alpha = self.fraction
        return alpha * self.gamma / (alpha * self.gamma + 1 - alpha)

    @property
    def counted(self) -> float:
        """q_χ = p p_χ: that a holder is counted."""
        return self.rate * self.own_item

    @property
    def listed(self) -> float:
        """π: that a holder, in the sample or not, reports their own item."""
        return (1 - self.rate) * self.fraction + self.counted

    @property
    def epsilon_star(self) -> float:
        """ε*: what the set of reported items shows by itself; 0 for uniform selection."""
        if self.gamma == 1 or self.reported == self.items:
            return 0.0
        alpha, p = self.fraction, self.rate
        outside = (1 - p) * (alpha * self.gamma + 1 - alpha)
        return math.log1p(p * (self.gamma - 1) / (outside + p)) * (1 + 1e-12)

    def delta_alone(
        self, epsilon: float, count: int, *, neighbours: Neighbours = "substitute"
    ) -> float:
        """δ against an S2 that sees the sums and how many reported, and nobody's help.

        Not enough once the result reaches anyone who sees senders: `delta_with_output`.
        """
        return sampled_counts_delta(epsilon, count, self.rate, neighbours=neighbours)

    def delta_hidden_reporters(
        self, epsilon: float, count: int, *, neighbours: Neighbours = "substitute"
    ) -> float:
        """δ against an S2 that sees the sums only: a committee of fixed size hides m_j."""
        return sampled_counts_delta(epsilon, count, self.counted, neighbours=neighbours)

    def delta_with_output(
        self,
        epsilon: float,
        count: int,
        *,
        neighbours: Neighbours = "substitute",
        insiders: int = 0,
    ) -> float:
        """δ against whoever sees senders and the result: S1, elected and committee users.

        Parameters
        ----------
        epsilon : float
            From 0 on. For adaptive selection it covers what the reported sets show as well.
        count, neighbours
            As in `sampled_counts_delta`.
        insiders : int
            Holders who work together with whoever looks: they hide nobody.

        Examples
        --------
        >>> import math
        >>> uniform = TwoStage(1 - math.exp(-0.5), items=30, reported=12)
        >>> f"{uniform.delta_with_output(0.5, 100):.1e}"
        '7.6e-05'
        """
        epsilon = checked_loss(epsilon)
        check_neighbours(neighbours)
        more, fewer = _crowd(self, hidden_holders(count, insiders))
        if neighbours == "add-remove":
            removed = _one_record(more, self.listed, self.fraction)
            added = _one_record(fewer, self.fraction, self.listed)
            return max(removed.delta(epsilon), added.delta(epsilon))
        if self.items == 1:
            return 0.0
        others = self.items - 1
        both = self.listed * (self.reported - 1) / others
        own = self.listed * (self.items - self.reported) / others
        other = (1 - self.listed) * self.reported / others
        delta = both * more.delta_with(fewer, epsilon) if both else 0.0
        if own:  # then there are sets without the own item, too
            delta += more.scaled(own, other).delta(epsilon)
            delta += fewer.scaled(other, own).delta(epsilon)
        return min(1.0, delta)


def gamma_for(epsilon_star: float, rate: float, items: int, reported: int) -> float:
    """The largest γ whose sets of reported items keep ε*; infinite where any γ does.

    Examples
    --------
    >>> gamma = gamma_for(0.3, 0.5, 5, 2)
    >>> round(TwoStage(0.5, 5, 2, gamma).epsilon_star, 9)
    0.3
    """
    # ε* itself is rounded up; e^ε must stay a number.
    epsilon = min(checked_loss(epsilon_star), MOST_EXPONENT) * (1 - 4e-12)
    alpha = TwoStage(rate, items, reported).fraction
    if alpha == 1:
        return math.inf
    # In e^ε − 1, since at small rates the differences of what e^ε multiplies lose their digits.
    rest = math.expm1(epsilon)
    below = rate - (1 - rate) * alpha * rest
    if below <= 0:
        return math.inf
    above = (1 - rate) * (1 - alpha) * rest + rate * (rest + 1)
    return max(1.0, above / below * (1 - 1e-12))


def _crowd(design: TwoStage, count: int) -> tuple[Pair, Pair]:
    """Counts over everyone else who reports the item: with one holder more, and without.

    h ~ Bin(c−1, π), then the pair of Bin(h+1, p') and Bin(h, p'), whose h is seen.
    """
    rate = design.counted / design.listed
    sizes, log_weight, missed = _others(count - 1, design.listed, rate)

    def mix(law: Callable[[int, float], Pair]) -> Pair:
        joint = Pair.mixture(
            Pair(pair.log_mass + weight, pair.ratio, pair.missed)
            for pair, weight in zip((law(int(h) + 1, rate) for h in sizes), log_weight, strict=True)
        )
        return Pair(joint.log_mass, joint.ratio, joint.missed + missed)

    return mix(with_holder), mix(without_holder)


def _others(trials: int, chance: float, rate: float) -> tuple[Any, Floats, float]:
    """Values of h, logarithms of their probabilities, and a bound on what is left out.

    Where there are too many, neighbouring h count as the least of them, which hides less.
    """
    if chance == 1 or trials == 0:
        return np.array([trials]), np.zeros(1), 0.0
    low, high, missed = 0, trials, 0.0
    if trials * trials > _MOST_CELLS:
        low, high = window(trials, chance, _LEAST_MISS)
        missed = 0.0 if (low, high) == (0, trials) else 2 * math.exp(-_LEAST_MISS)
    values = np.arange(low, high + 1)
    log_weight = log_pmf(values, trials, chance)
    least, most = window(high, rate, 760.0)
    groups = max(32, _MOST_CELLS // (most - least + 1))
    if values.size > groups:
        first = np.arange(0, values.size, -(-values.size // groups))
        log_weight = np.logaddexp.reduceat(log_weight, first)
        values = values[first]
    return values, log_weight, missed


def _one_record(seen: Pair, first: float, second: float) -> Pair:
    """The item is reported with these probabilities; where it is not, nothing else is learnt."""
    parts = [seen.scaled(first, second)]
    if first < 1:
        unlisted = max(1 - second, 0.0) / (1 - first)
        parts.append(Pair(np.array([math.log(1 - first)]), np.array([unlisted])))
    return Pair.mixture(parts)
