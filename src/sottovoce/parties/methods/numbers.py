"""The reach of noise, which the methods share."""

from __future__ import annotations

import math

from ...estimate.intervals import normal_quantile


def reach(confidence: float) -> float:
    """How many standard deviations an interval of integer Laplace noise and its sums needs.

    h = max(z, ln(1/α)/√2): the second is exact for one Laplace variable, and larger than the
    normal z for α up to .09. Sums of several such variables lie between the two laws.
    """
    return max(normal_quantile(confidence), -math.log1p(-confidence) / math.sqrt(2))
