"""Pictures of estimates and plans, with matplotlib.

`estimate` shows one, `compare` several of the same values, `plan` predicted errors, `lip` those of
randomised response that knows a prior. All draw on the axes they are given, or on a new figure of
fitting size, and return them; none opens a window.
"""

from __future__ import annotations

from .compare import compare
from .estimate import estimate
from .lip import lip
from .plan import plan

__all__ = ["compare", "estimate", "lip", "plan"]
