"""Integer noise: laws that are drawn exactly and that know their own probabilities.

No floating-point number takes part in drawing. Parameters are rational (a float counts as the exact
number that it is); a coin compares random bits with the bits of its probability until they differ,
however many that takes; everything else is integer arithmetic.
"""

from __future__ import annotations

from .laws import Binomial, DiscreteGaussian, DiscreteLaplace, Law, Polya

__all__ = ["Binomial", "DiscreteGaussian", "DiscreteLaplace", "Law", "Polya"]
