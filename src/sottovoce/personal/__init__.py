"""Everyone chooses: how loudly to speak (`Levels`), and how often to be heard (`Sampled`)."""

from __future__ import annotations

from .levels import Levels
from .rates import best_rates
from .sampled import Sampled

__all__ = ["Levels", "Sampled", "best_rates"]
