"""Pictures of estimates and plans, with matplotlib.

`estimate` shows one, `compare` several of the same values, `heatmap` the joint distribution of two
attributes, `plan` predicted errors. All draw on
the axes they are given, or on a new figure of fitting size, and return them; none opens a window.
"""

from __future__ import annotations

from .compare import compare
from .estimate import estimate
from .heatmap import heatmap
from .plan import plan

__all__ = ["compare", "estimate", "heatmap", "plan"]
