"""Optimised unary encoding: one bit per value.

Channel     bit v is 1 with probability p = ½ if v is the answer, else q = 1 / (e^ε + 1)
Estimate    f̂_v = (c_v / n − q) / (p − q)
Covariance  diagonal: bits are independent given the answer, see `UnaryMechanism`
Guarantee   ε-LDP, tight; q is rounded up to a multiple of 2^-128

Wang, Blocki, Li, Jha 2017, "Locally differentially private protocols for frequency estimation",
section 4.3.
"""

from __future__ import annotations

from functools import lru_cache

from ..randomness import BITS, Probability, exp
from .registry import register
from .unary import UnaryMechanism

_HALF = Probability(1 << (BITS - 1))


@register("oue")
class OUE(UnaryMechanism):
    """Send one bit per value: the true one is a fair coin flip, the others are rarely set.

    d/8 bytes per report; the error of a value does not grow with the number of values.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    epsilon : float
        Privacy parameter.

    Examples
    --------
    >>> m = OUE(128, epsilon=1.0)
    >>> float(m.p), round(float(m.q), 4)
    (0.5, 0.2689)
    """

    @property
    def true_bit(self) -> Probability:
        return _HALF

    @property
    def other_bit(self) -> Probability:
        return _other(self.epsilon)


@lru_cache(maxsize=256)
def _other(epsilon: float) -> Probability:
    return Probability.at_least(1 / (exp(epsilon) + 1))
