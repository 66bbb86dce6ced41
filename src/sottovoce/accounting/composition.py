"""Many rounds: what is lost when the same person reports again.

Basic     k rounds of (ε, δ) keep (kε, kδ)
Optimal   k rounds keep (ε', 1 − (1 − δ)^k (1 − δ')) for every ε' and
          δ' = Σ_j C(k,j) (e^{jε} − e^{ε' + (k−j)ε})⁺ / (1 + e^ε)^k,
          and no smaller δ' holds for all mechanisms

Kairouz, Oh, Viswanath 2015 (arXiv:1311.0776), theorem 3.3, whose points are those where ε' is kε,
(k − 2)ε, …; in between, the line through them is attained too. Randomised response, repeated, loses
all of it: δ' = Pr(X ≥ j) − e^{ε'} Pr(k − X ≥ j), X binomial with p = e^ε/(1 + e^ε), j the least
with (2j − k)ε > ε'.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ..checks import checked_count, checked_delta, float_above
from ..errors import GuaranteeError, ParameterError
from ..noise.binomial import at_least
from ..promise import Guarantee, Promise
from .search import upper_end

_ROUND_OFF = 1e-11  # of each of the two tails, whose difference is taken


def rounds(promise: Promise, k: int, *, slack: float = 0.0) -> Promise:
    """What is promised to someone who takes part in k rounds with fresh noise.

    Parameters
    ----------
    promise : Promise
        Of one round. What a round does may depend on what earlier rounds showed.
    k : int
        How many rounds.
    slack : float
        What is added to delta in exchange for a smaller epsilon. With 0, epsilons add up.

    Returns
    -------
    Promise
        About the same thing as the one given, with its assumptions. With slack the smallest epsilon
        that holds for every mechanism; where that is no less than kε, the slack is not spent.

    Examples
    --------
    >>> from sottovoce.promise import LDP, Promise
    >>> rounds(Promise(LDP, 0.1), 100).epsilon
    10.0...
    >>> round(rounds(Promise(LDP, 0.1), 100, slack=1e-6).epsilon, 3)
    4.775
    """
    if not isinstance(promise, Promise):
        raise ParameterError(
            f"a promise is needed, not {promise!r}; take it from guarantee.promises or an account"
        )
    k, slack = checked_count(k, "k", 1), checked_delta(slack, "slack")
    if not promise.notion.adds_up:
        raise GuaranteeError(
            f"promises of {promise.notion} do not add up over rounds; state them side by side"
        )
    basic = Guarantee((promise,)).times(k).promises[0]
    if slack == 0 or k == 1 or not 0 < basic.epsilon < math.inf:
        return basic
    least = upper_end(lambda total: _delta(promise.epsilon, k, total), slack, basic.epsilon)
    if least >= basic.epsilon:
        return basic
    # kδ + slack is a little more than 1 − (1 − δ)^k (1 − slack), and exact.
    spent = min(1.0, float_above(Fraction(basic.delta) + Fraction(slack)))
    return replace(basic, epsilon=least, delta=spent)


def _delta(epsilon: float, k: int, total: float) -> float:
    """δ' of k rounds at ε' = total."""
    least = math.floor((k + total / epsilon) / 2) + 1
    truth = 1 / (1 + math.exp(-epsilon))
    lie = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    if least > k:
        return 0.0
    high, low = float(at_least(least, k, truth)), float(at_least(least, k, lie))
    # e^ε' alone may overflow; its product with so rare an event does not.
    rare = math.exp(min(total + math.log(low), 0.0)) if low > 0 else 0.0
    return max(0.0, high - rare) + _ROUND_OFF * high
