"""The hybrid mechanism for numbers: piecewise or Duchi, by a public coin flip.

Channel     for ε > 0.61 the piecewise mechanism with probability α = 1 − e^{−ε/2}, else Duchi's;
            for smaller ε Duchi's alone. Which one it was is part of the report.
Estimate    mean of each report's own unbiased score
Variance    α times the piecewise one plus 1 − α times Duchi's; α makes it the same for every
            answer as the grid grows finer
Guarantee   ε-LDP, tight: the coin does not depend on the answer

Wang, Xiao, Yang, et al. 2019, section III.C.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from ..randomness import Probability, exp
from .grid import Grid
from .piecewise import SteppedMechanism, piecewise_grid
from .registry import register

_DUCHI_ALONE = 0.61


@register("hybrid")
class Hybrid(SteppedMechanism):
    """Piecewise or Duchi's mechanism, by a public coin flip: the lowest error up to ε = 8.

    Its largest variance over all answers is at most that of either mechanism up to ε = 8; beyond,
    that of `Piecewise` is smaller.

    Parameters
    ----------
    domain : Range, or (low, high)
        The public bounds.
    epsilon : float
        Privacy parameter.
    steps : int
        Grid steps of the piecewise part, a power of two.

    Examples
    --------
    >>> list(Hybrid((0, 1), epsilon=1.0).grids), list(Hybrid((0, 1), epsilon=0.5).grids)
    (['bits', 'cells'], ['bits'])
    """

    @property
    def grids(self) -> Mapping[str, Grid]:
        coarse = {"bits": Grid(self.epsilon, 1, 1)}
        if self.epsilon <= _DUCHI_ALONE:
            return coarse
        return {**coarse, "cells": piecewise_grid(self.epsilon, self.steps)}

    @property
    def finest_fraction(self) -> Probability | None:
        return None if self.epsilon <= _DUCHI_ALONE else _alpha(self.epsilon)


@lru_cache(maxsize=64)
def _alpha(epsilon: float) -> Probability:
    return Probability.at_most(1 - 1 / exp(Fraction(epsilon) / 2))
