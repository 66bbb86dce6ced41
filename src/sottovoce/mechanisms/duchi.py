"""Duchi's mechanism for the mean of numbers: one bit.

Channel     t in [−1, 1]: P(1) = ½ + t (e^ε − 1) / (2 (e^ε + 1)); drawn as an unbiased rounding of t
            to ±1 and randomised response on it, which is the same law
Estimate    mean of ± (e^ε + 1) / (e^ε − 1), rescaled
Variance    ((e^ε + 1) / (e^ε − 1))² − t² for each person
Guarantee   ε-LDP, tight

Duchi, Jordan, Wainwright 2018, "Minimax optimal procedures for locally private estimation".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from .grid import Grid
from .numeric import NumericMechanism
from .registry import register


@register("duchi")
class Duchi(NumericMechanism):
    """One bit per person for the mean; best at small ε.

    Parameters
    ----------
    domain : Range, or (low, high)
        The public bounds.
    epsilon : float
        Privacy parameter.

    Examples
    --------
    >>> m = Duchi((0, 100), epsilon=1.0)
    >>> m.estimate(m.aggregate(m.randomise([20, 40, 60]))).labels
    ('mean',)
    """

    @property
    def grids(self) -> Mapping[str, Grid]:
        return {"bits": Grid(self.epsilon, 1, 1)}

    def tiny(self) -> Self:
        return self
