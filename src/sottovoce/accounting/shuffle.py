"""How much privacy a trusted shuffler adds: each report hides among the others.

Others who report by chance alone form the crowd: B of them, B ~ Bin(n − 1, γ), each a uniformly
random one of d values. The person hides among them with a report of randomised response:

Numerical  d = 2, γ = e^−ε: any mechanism that keeps ε locally (the clones of Feldman, McMillan,
           Talwar 2020, arXiv:2012.12803, section 3)
Grr        the d values of GRR, γ = d/(e^ε + d − 1) (the blanket of Balle, Bell, Gascón, Nissim
           2019, arXiv:1903.02837): an upper bound for all answers of the others
Closed     theorem 3.1 of the clones, in the larger form of its authors' code:
           ε' = ln(1 + (1 − e^−ε)/(1 + e^{−ε−s}) (a + c)), s = ln(1 + a + c),
           a = 8 √(e^ε ln(4/δ)/n), c = 8 e^ε/n, only where ε ≤ ln(n/(16 ln(4/δ)))

Of the m = B + 1 messages let T be among the two answers x, x' to be distinguished, and A of these
x. Given (m, T) the law of A is that of fair coins, bent by h = (e^ε − 1)T / ((e^ε − 1)T + 2m):

    P(A = a) = Bin(a; T, ½)(1 − h + 2ha/T)  under x,   Bin(a; T, ½)(1 + h − 2ha/T)  under x'

and δ(ε') = E Σ_a (P − e^{ε'} P')⁺ is a difference of tails. It falls with m and, h kept, with T,
since everyone can add uniform messages; it grows with h. So neighbouring m and T are grouped, at
the least m, the least T and the largest h of the group, which never makes δ smaller.

The larger γ of "stronger" clones (arXiv:2208.04591) has an erratum and is not used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice, checked_count, checked_delta, checked_epsilon, checked_loss
from ..errors import GuaranteeError, ParameterError
from ..noise.binomial import Floats, at_least, pmf, window
from ..promise import DP, OWN_DEVICE, Against, Promise
from ..promise.assumptions import SHUFFLER, SHUFFLER_LABELS
from .rounding import named
from .search import MARGIN, upper_end

Bound = Literal["numerical", "grr", "closed-form"]

_MOST_PEOPLE = 100_000_000
_MOST_CELLS = 16_000
_MOST_PAIRS = 500
_LEAST_GROUPS = 32
_TAILS = 17.0  # e^-17 of delta may lie in each tail that is left out
_DEEP = 120.0  # tails of e^-120 when no delta is given
_CLOSE = 1e-14  # relative error of the count from which on the first answer is likelier
_ROUND_OFF = 1e-14  # relative error of binomial probabilities, times the root of the trials


def shuffle(
    epsilon: float,
    people: int,
    delta: float,
    *,
    bound: Bound = "numerical",
    d: int | None = None,
    labelled: bool = False,
    crowd: int | None = None,
) -> Promise:
    """What is promised when a trusted shuffler mixes everyone's reports.

    Parameters
    ----------
    epsilon : float
        Everyone's local promise; one report each, all by the same mechanism.
    people : int
        How many report. Those who work together with whoever sees the reports do not count.
    delta : float
        Above 0: shuffling alone never gives a smaller pure epsilon. Choose it far below 1/people.
    bound : {"numerical", "grr", "closed-form"}
        For any mechanism; for GRR over `d` values; or the published formula, refused where it was
        not proven.
    d : int, optional
        Number of values, for GRR.
    labelled : bool
        Whether reports carry something that distinguishes people, such as a level of privacy, a
        mechanism or a rate. Then `crowd` must be given.
    crowd : int, optional
        How many people carry the same label, in the smallest such group.

    Returns
    -------
    Promise
        Of differential privacy against those who see the shuffled reports; never more than the
        local epsilon.

    Examples
    --------
    >>> round(shuffle(2.0, 5_000, 1e-6).epsilon, 3)
    0.225
    >>> round(shuffle(2.0, 5_000, 1e-6, bound="grr", d=100).epsilon, 4)
    0.0425
    """
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    check_choice(bound, "bound", get_args(Bound))
    values = _values(bound, d)
    hidden = _crowd(people, labelled, crowd)
    if delta == 0:
        raise GuaranteeError(
            "delta is 0; shuffled reports keep a smaller epsilon only with a delta above 0, "
            "such as 1e-6"
        )
    if bound == "closed-form":
        least = _closed_form(epsilon, hidden, delta)
    else:
        law = _Law.of(epsilon, hidden, bound, values, _TAILS - math.log(delta))
        least = upper_end(law.delta, delta, epsilon)
    which = f"GRR over {values:,} values" if bound == "grr" else "the same mechanism"
    return Promise(
        DP,
        min(least, epsilon),
        delta,
        against=Against.SHUFFLED,
        assuming=(
            OWN_DEVICE,
            f"{hidden:,} people{' with the same label' if labelled else ''} use {which} with "
            f"{named(epsilon)}, send one report each and do not work together with anyone who sees "
            "the reports",
            SHUFFLER_LABELS if labelled else SHUFFLER,
        ),
    )


def shuffle_delta(
    local_epsilon: float,
    people: int,
    epsilon: float,
    *,
    bound: Literal["numerical", "grr"] = "numerical",
    d: int | None = None,
) -> float:
    """The delta that shuffled reports keep at a given central epsilon, rounded up.

    Parameters
    ----------
    local_epsilon : float
        Everyone's local promise.
    people : int
        How many report, all alike and without labels.
    epsilon : float
        The central epsilon; from the local one on, delta is 0.
    bound, d
        As in `shuffle`.

    Examples
    --------
    >>> f"{shuffle_delta(2.0, 5_000, 0.225):.1e}"
    '1.0e-06'
    """
    local_epsilon, epsilon = checked_epsilon(local_epsilon), checked_loss(epsilon)
    check_choice(bound, "bound", ("numerical", "grr"))
    values, n = _values(bound, d), _crowd(people, False, None)
    if epsilon >= local_epsilon:
        return 0.0
    # First with tails for the smallest deltas; then with those that fit, in finer groups.
    rough = _Law.of(local_epsilon, n, bound, values, _DEEP).delta(epsilon)
    fine = _Law.of(local_epsilon, n, bound, values, _TAILS - math.log(rough)).delta(epsilon)
    return min(1.0, fine * MARGIN)


def closed_form_limit(people: int, delta: float) -> float:
    """The largest local epsilon for which the closed form was proven; may be negative."""
    return math.log(people / (16 * math.log(4 / delta)))


def _closed_form(epsilon: float, people: int, delta: float) -> float:
    limit = closed_form_limit(people, delta)
    if not epsilon <= limit * (1 - 1e-12):
        raise GuaranteeError(
            f"epsilon is {epsilon:g}; for {people:,} people and delta = {delta:g} the closed form "
            f"holds only up to ln(n / (16 ln(4/delta))) = {limit:.3g}; use the numerical bound"
        )
    a = 8 * math.sqrt(math.exp(epsilon) * math.log(4 / delta) / people)
    c = 8 * math.exp(epsilon) / people
    weight = -math.expm1(-epsilon) / (1 + math.exp(-epsilon) / (1 + a + c))
    return math.log1p(weight * (a + c)) * (1 + 1e-12)


@dataclass(frozen=True)
class _Law:
    """Groups of (m, T): messages in the pair, bend and probability; nothing central in it."""

    pair: Floats
    bend: Floats
    weight: Floats
    missed: float

    @classmethod
    def of(cls, local: float, people: int, bound: str, values: int, log_miss: float) -> _Law:
        # More people only help; so many are enough, and the sums stay short.
        others = min(people, _MOST_PEOPLE) - 1
        rate = values / (math.exp(local) + values - 1) if bound == "grr" else math.exp(-local)
        rate = math.nextafter(rate, 0)
        low, high = window(others, rate, log_miss)
        likely = window(round(others * rate), 2 / values, log_miss)
        per_m = 1 if values == 2 else min(likely[1] - likely[0] + 1, _MOST_PAIRS)
        counts = np.arange(low, high + 1)
        first = _starts(counts.size, max(_LEAST_GROUPS, _MOST_CELLS // per_m))
        mass = np.add.reduceat(pmf(counts, others, rate), first)
        parts = [
            _pairs(int(m), values, local, log_miss, probability)
            for m, probability in zip(counts[first] + 1, mass, strict=True)
        ]
        pair, bend, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls(pair, bend, weight, 4 * math.exp(-log_miss))

    def delta(self, epsilon: float) -> float:
        """δ at a central epsilon."""
        t, h, power, rest = self.pair, self.bend, math.exp(epsilon), math.expm1(epsilon)
        where = t * (h * (1 + power) + rest) / (2 * h * (1 + power))
        # The sum over a ≥ first is largest at the right first, which rounding may miss by one.
        sums = [
            self._from(np.floor(where * (1 + off)) + 1, power, rest) for off in (-_CLOSE, _CLOSE)
        ]
        return float(self.weight @ np.maximum(*sums)) + self.missed

    def _from(self, first: Floats, power: float, rest: float) -> Floats:
        """Σ (P − e^ε P')⁺ over a ≥ first in every group, rounded up."""
        t, h = self.pair, self.bend
        # Σ a Bin(a; t) over a ≥ first is (t/2) Pr(A ≥ first) + (first/2) Bin(first; t).
        gain = h * (1 + power) * (first / t) * pmf(first, t, 0.5)
        cost = rest * at_least(first, t, 0.5)
        # Near the local epsilon the two cancel, and what remains is their round-off.
        return np.maximum(gain - cost, 0.0) + _ROUND_OFF * (1 + np.sqrt(t)) * gain


def _pairs(
    m: int, values: int, local: float, log_miss: float, probability: float
) -> tuple[Floats, Floats, Floats]:
    """For m messages the groups of T: least T, largest bend, probability."""
    excess = math.expm1(local)
    if values == 2:
        return np.array([float(m)]), np.array([excess / (excess + 2)]), np.array([probability])
    low, high = window(m - 1, 2 / values, log_miss)
    t = np.arange(max(low, 1), high + 2)  # without any in the pair nothing is distinguished
    hit = (excess + 2) / (excess + values)  # that the person's own report is in the pair
    mass = hit * pmf(t - 1, m - 1, 2 / values) + (1 - hit) * pmf(t, m - 1, 2 / values)
    first = _starts(t.size, _MOST_PAIRS)
    last = np.append(first[1:], t.size) - 1
    bend = excess * t[last] / (excess * t[last] + 2 * m)
    return t[first].astype(float), bend, probability * np.add.reduceat(mass, first)


def _starts(size: int, most: int) -> NDArray[np.intp]:
    """Where the groups begin when so many in a row make at most `most` groups."""
    return np.arange(0, size, -(-size // most))


def _values(bound: str, d: Any) -> int:
    if bound == "grr":
        if d is None:
            raise ParameterError("bound='grr' needs d, the number of values")
        return checked_count(d, "d", 2)
    if d is not None:
        raise ParameterError(f"d is {d!r}, but only bound='grr' takes a number of values")
    return 2


def _crowd(people: Any, labelled: Any, crowd: Any) -> int:
    """How many people a report hides among, its own included."""
    n = checked_count(people, "people", 1)
    if not isinstance(labelled, bool):
        raise ParameterError(f"labelled is {labelled!r}; it must be True or False")
    if labelled and crowd is None:
        raise GuaranteeError(
            "labelled reports hide only among those with the same label (level, mechanism, rate); "
            "give the size of the smallest such group as crowd, or remove the labels"
        )
    if crowd is not None:
        if not labelled:
            raise ParameterError("crowd needs labelled=True; without labels everyone counts")
        n = checked_count(crowd, "crowd", 1)
        if n > people:
            raise ParameterError(f"crowd is {n:,}, but there are only {people:,} people")
    if n == 1:
        raise GuaranteeError("1 person has nobody to hide among; shuffling needs at least 2")
    return n
