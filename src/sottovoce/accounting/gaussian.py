"""Gaussian noise on a number or a vector that a trusted server releases.

Delta     δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = Δ/σ
Sigma     the smallest σ with δ(ε) ≤ δ

Rounds    of releases that each lose ρ in concentrated privacy: Σρ, and
          δ(ε) ≤ inf_α e^{(α−1)(αΣρ−ε)} (1 − 1/α)^α / (α − 1). Gaussian noise loses μ²/2, on the
          real line and on every lattice alike

Balle, Wang 2018 (arXiv:1805.06530), theorem 8. Canonne, Kamath, Steinke 2020 (arXiv:2004.00010),
theorem 4 and corollary 13, for rounds. The classical σ = Δ √(2 ln(1.25/δ))/ε is proven for
ε < 1 only; it fails for large ε, and wastes accuracy for small ε.
"""

from __future__ import annotations

import math

from ..checks import checked_loss, checked_positive, positive_delta
from .search import MARGIN, from_zero

_ROUND_OFF = 1e-14  # of each of the two terms, whose difference is taken


def delta_gaussian(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """The delta that Gaussian noise keeps at epsilon, rounded up.

    Parameters
    ----------
    epsilon : float
        From 0 on.
    sigma : float
        Standard deviation of the noise.
    sensitivity : float
        How far (in Euclidean distance) one person can move the released vector.

    Examples
    --------
    >>> f"{delta_gaussian(1.0, 3.7306):.2e}"
    '1.00e-05'
    """
    epsilon = checked_loss(epsilon)
    sigma = checked_positive(sigma, "sigma")
    return _delta(epsilon, checked_positive(sensitivity, "sensitivity") / sigma)


def sigma_analytic(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The smallest standard deviation of Gaussian noise that keeps (epsilon, delta), rounded up.

    Examples
    --------
    >>> round(sigma_analytic(1.0, 1e-5), 4)
    3.7306
    """
    epsilon, delta = checked_loss(epsilon), positive_delta(delta)
    sensitivity = checked_positive(sensitivity, "sensitivity")
    least = from_zero(lambda sigma: _delta(epsilon, 1 / sigma) if sigma else 1.0, delta)
    return math.nextafter(least * sensitivity, math.inf)


def concentrated_delta(epsilon: float, rho: float) -> float:
    """The delta of releases that together lose rho in concentrated privacy: an upper bound.

    Discrete Gaussian noise loses no more than continuous noise, whatever its lattice; so rounds
    whose noise is on different lattices add up here.

    Examples
    --------
    >>> sigma = sigma_analytic(1.0, 1e-6)
    >>> f"{concentrated_delta(1.0, 2 / (2 * sigma**2)):.1e}"  # two rounds
    '7.4e-04'
    """
    epsilon, rho = checked_loss(epsilon), checked_positive(rho, "rho") * MARGIN

    def log_delta(odds: float) -> float:
        above = math.exp(odds)  # α − 1
        power = above * ((1 + above) * rho - epsilon)
        return power - odds - (1 + above) * math.log1p(1 / above)

    # Every α gives a bound. The logarithm has one minimum, which is found where bounds are small.
    odds = min(range(-40, 81), key=lambda k: log_delta(k / 4)) / 4
    best = min(log_delta(odds + k / 64) for k in range(-16, 17))
    return max(math.ulp(0.0), math.exp(min(0.0, best)) * MARGIN)


def _delta(epsilon: float, mu: float) -> float:
    """With e^ε φ(b) = φ(a) both terms share a factor, so that neither overflows."""
    from scipy.special import erfcx, ndtr

    mu = max(mu, math.ulp(0.0))
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    common = math.exp(-a * a / 2) / 2
    first = float(ndtr(a)) if a > 0 else common * float(erfcx(-a / math.sqrt(2)))
    second = common * float(erfcx(-b / math.sqrt(2)))
    at_zero = mu / math.sqrt(2 * math.pi)  # a little above δ(0), which no δ(ε) exceeds
    bound = min(1.0, at_zero * (1 + _ROUND_OFF), max(0.0, first - second) + _ROUND_OFF * first)
    return max(math.ulp(0.0), bound)
