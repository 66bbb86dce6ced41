"""Variances as Biswas, Cormode and Maple published them, to compare with the right ones.

"Impact of Sampling on Locally Differentially Private Data Collection", sections 3 and 5. With p
and q of a pure mechanism, n people of whom a fraction f hold the value, each drawn with probability
π, and r = q + f (p − q); variances are those of a number of people, as in the paper:

g_actual      n [f p(1−p) + (1−f) q(1−q) + r²(1−π)] / (π (p−q)²)   proof of Theorem 3.2
g_limit       n (q − q²π) / ((p−q)² π)                             Theorem 3.2, f → 0
c_limit       n π (q − q²π) / (p−q)²                               proof of Theorem 3.2, f → 0
c_hat         g_actual + n (1−π) q² / (π (p−q)²)                   proof of Theorem 3.5
t_limit       n² Σ q π_j (1 − q π_j) / ((Σ π_j)² (p−q)²)           Theorem 5.1, f → 0
g_norm        (q − q²π) / ((p−q)² π³ n)                            Theorem 3.3

Nothing here is used by an estimate or a plan: `Sampled.variance` has the exact values, for
fractions instead of numbers of people (divided by n²).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ParameterError
from ..mechanisms.categorical import PureMechanism


def g_actual(mechanism: PureMechanism, f: float, *, n: int, rate: float) -> float:
    """The "actual variance" of g; it leaves out n f(1−f)(1−π)/π, who of the holders is drawn.

    The right one is ``n**2 * Sampled(…).variance(fractions, n, method="biswas-g")``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> m, fractions = sv.GRR(100, epsilon=4), [0.3] + [0.7 / 99] * 99
    >>> right = sv.Sampled(m, rate=0.1).variance(fractions, 5_000, method="biswas-g")[0]
    >>> round(g_actual(m, 0.3, n=5_000, rate=0.1)), round(5_000**2 * right)
    (34652, 44102)
    """
    p, q = _pair(mechanism, f, n, rate)
    r = q + f * (p - q)
    noise = f * p * (1 - p) + (1 - f) * q * (1 - q)
    return n * (noise + r * r * (1 - rate)) / (rate * (p - q) ** 2)


def g_limit(mechanism: PureMechanism, *, n: int, rate: float) -> float:
    """Var* of g, its variance for a value nobody holds; right there, too small for every other.

    The right one for any fraction is ``n**2 * Sampled(…).variance(…, method="biswas-g")``.
    """
    p, q = _pair(mechanism, 0.0, n, rate)
    return n * (q - q * q * rate) / ((p - q) ** 2 * rate)


def c_limit(mechanism: PureMechanism, *, n: int, rate: float) -> float:
    """Var* of c; right as a variance, but c is biased under sampling, so it is not the error.

    The right one for any fraction is ``n**2 * Sampled(…).variance(…, method="wang-c")``.
    """
    p, q = _pair(mechanism, 0.0, n, rate)
    return n * rate * (q - q * q * rate) / (p - q) ** 2


def c_hat(mechanism: PureMechanism, f: float, *, n: int, rate: float) -> float:
    """Variance of ĉ by Theorem 3.5; it drops the covariance of A and S, and so ranks backwards.

    The right one is ``n**2 * Sampled(…).variance(fractions, n, method="biswas-c-hat")``, and is at
    most that of g.

    Examples
    --------
    >>> import sottovoce as sv
    >>> m, fractions = sv.GRR(4, epsilon=1), [0.8, 0.1, 0.05, 0.05]
    >>> s = sv.Sampled(m, rate=0.1)
    >>> methods = ("biswas-g", "biswas-c-hat")
    >>> right = [s.variance(fractions, 5_000, method=name)[0] for name in methods]
    >>> [round(5_000**2 * one) for one in right], round(c_hat(m, 0.8, n=5_000, rate=0.1))
    ([219605, 162462], 227647)
    """
    p, q = _pair(mechanism, f, n, rate)
    drawn = n * (1 - rate) * q * q / (rate * (p - q) ** 2)
    return g_actual(mechanism, f, n=n, rate=rate) + drawn


def t_limit(mechanism: PureMechanism, *, n: ArrayLike, rate: ArrayLike) -> float:
    """Var* of T; right for f → 0, but T is biased where rates go with answers, which it omits.

    The right one for any fraction is ``n**2 * Sampled(…).variance(…, method="biswas-t")``; the
    estimates to use are "post-stratified" and "horvitz-thompson".

    Parameters
    ----------
    n, rate : array-like
        How many people there are at each rate, and the rates.
    """
    people, rates = np.broadcast_arrays(np.asarray(n, float), np.asarray(rate, float))
    for many, one in zip(people.flat, rates.flat, strict=True):
        _pair(mechanism, 0.0, float(many), float(one))
    p, q = float(mechanism.p), float(mechanism.q)
    spread = float((people * q * rates * (1 - q * rates)).sum())
    size, reports = float(people.sum()), float((people * rates).sum())
    return size**2 * spread / (reports * (p - q)) ** 2


def g_norm(mechanism: PureMechanism, *, n: int, rate: float) -> float:
    """Normalised variance of g; it divides by n π what estimates n f already, 1/π² too much.

    The right one is that of g / n, ``Sampled(…).variance(…, method="biswas-g")``, which
    grows as 1/(π n): sampling costs what a smaller n costs. By Definition 3.1, Var/E, it would
    not exist for f → 0.

    Examples
    --------
    >>> import sottovoce as sv
    >>> m = sv.GRR(100, epsilon=2)
    >>> right = g_limit(m, n=1_000, rate=0.1) / 1_000**2
    >>> round(1_000 * g_norm(m, n=1_000, rate=0.1)), round(1_000 * right, 1)
    (2604, 26.0)
    """
    p, q = _pair(mechanism, 0.0, n, rate)
    return (q - q * q * rate) / ((p - q) ** 2 * rate**3 * n)


def _pair(mechanism: PureMechanism, f: float, n: float, rate: float) -> tuple[float, float]:
    """(p, q), where the formulas hold at all."""
    if not isinstance(mechanism, PureMechanism):
        raise ParameterError(
            f"{mechanism!r} does not support sets of values; the published variances are those of "
            "pure "
            "mechanisms, such as GRR or OUE"
        )
    if not (0 <= f <= 1 and n >= 1 and 0 < rate <= 1):
        raise ParameterError(
            f"fraction {f!r}, people {n!r} and rate {rate!r}; a fraction lies between 0 and 1, "
            "people are 1 or more, and a rate is above 0 and at most 1"
        )
    return float(mechanism.p), float(mechanism.q)
