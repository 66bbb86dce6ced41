"""The piecewise mechanism for numbers, on a grid.

Channel     see `grid`, with M steps (a power of two, 1,024 by default) and a window of
            w = max(1, round(M e^{−ε/2})) cells
Estimate    mean of the unbiased scores
Variance    as M grows, t² / (e^{ε/2} − 1) + (e^{ε/2} + 3) / (3 (e^{ε/2} − 1)²) for t in [−1, 1]
Guarantee   ε-LDP, tight

Wang, Xiao, Yang, et al. 2019, "Collecting and analyzing multidimensional data with local
differential privacy", section III.B; there with real numbers, here with integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from ..domain.values import Domain, Label
from ..errors import ParameterError
from ..randomness import exp
from .grid import Grid
from .numeric import NumericMechanism
from .registry import register

STEPS = 1024
TINY_STEPS = 2


@dataclass(frozen=True, init=False)
class SteppedMechanism(NumericMechanism):
    """A mechanism for numbers whose grid has a chosen number of steps."""

    steps: int = STEPS

    def __init__(
        self,
        domain: Domain | int | Sequence[Label] | Sequence[float],
        *,
        epsilon: float,
        study: bytes | None = None,
        steps: int = STEPS,
    ) -> None:
        whole = isinstance(steps, int) and not isinstance(steps, bool)
        if not whole or not 2 <= steps <= 1 << 15 or steps & (steps - 1):
            raise ParameterError(f"steps is {steps!r}; it must be a power of two from 2 to 32,768")
        object.__setattr__(self, "steps", steps)
        super().__init__(domain, epsilon=epsilon, study=study)

    @property
    def parameters(self) -> dict[str, Any]:
        return {**super().parameters, **({} if self.steps == STEPS else {"steps": self.steps})}

    def tiny(self) -> Self:
        return replace(self, steps=TINY_STEPS)


@register("piecewise")
class Piecewise(SteppedMechanism):
    """Report a number probably near the answer; best at large ε, and estimates distributions.

    Parameters
    ----------
    domain : Range, or (low, high)
        The public bounds.
    epsilon : float
        Privacy parameter.
    steps : int
        Grid steps, a power of two.

    Examples
    --------
    >>> m = Piecewise((0, 100), epsilon=2.0)
    >>> list(m.methods)
    ['unbiased', 'variance', 'distribution']
    """

    @property
    def grids(self) -> Mapping[str, Grid]:
        return {"cells": piecewise_grid(self.epsilon, self.steps)}


@lru_cache(maxsize=64)
def piecewise_grid(epsilon: float, steps: int) -> Grid:
    """The grid whose window is M e^{−ε/2} cells wide."""
    width = steps / exp(Fraction(epsilon) / 2)
    return Grid(epsilon, steps, max(1, round(width)))
