"""Ways to take part: privacy levels that people choose, and rates at which they report."""

from __future__ import annotations

from .levels import Levels, Sampled
from .participation import Participation
from .rates import best_rates

__all__ = ["Levels", "Participation", "Sampled", "best_rates"]
