"""Symmetric unary encoding (basic RAPPOR without its Bloom filter).

Channel     every bit is kept with probability p = e^{ε/2} / (e^{ε/2} + 1), so q = 1 − p
Estimate    f̂_v = (c_v / n − q) / (p − q)
Covariance  diagonal: bits are independent given the answer, see `UnaryMechanism`
Guarantee   ε-LDP, tight; p is rounded down to a multiple of 2^-128

Erlingsson, Pihur, Korolova 2014 (RAPPOR), one-time version; Wang et al. 2017, section 4.2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ..randomness import BITS, Probability, exp
from .registry import register
from .unary import UnaryMechanism


@register("sue")
class SUE(UnaryMechanism):
    """Send one bit per value, each flipped with the same probability.

    Never better than OUE in error for rare values; here because the literature uses it.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    epsilon : float
        Privacy parameter.

    Examples
    --------
    >>> round(float(SUE(4, epsilon=2.0).p), 4)
    0.7311
    """

    @property
    def true_bit(self) -> Probability:
        return _keep(self.epsilon)

    @property
    def other_bit(self) -> Probability:
        return Probability((1 << BITS) - _keep(self.epsilon).numerator)


@lru_cache(maxsize=256)
def _keep(epsilon: float) -> Probability:
    root = exp(Fraction(epsilon) / 2)
    return Probability.at_most(root / (root + 1))
