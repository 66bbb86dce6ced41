"""Everyone chooses: how loudly to speak (`Levels`), and how often to be heard (`Sampled`)."""

from __future__ import annotations

from .levels import Levels
from .rates import best_rates
from .records import Records
from .sampled import Sampled

__all__ = ["Levels", "Records", "Sampled", "best_rates"]
