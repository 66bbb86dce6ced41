"""Pictures of estimates, plans and accounts, with matplotlib.

`estimate` shows one, `compare` several of the same values, `difference` two and how they differ,
`histogram` the distribution of a number, `heatmap` the joint distribution of two attributes, `plan`
predicted errors, `communication` the cost of asking only some people to report, `shuffle` the
benefit of a shuffler, `lip` that of a prior. All draw on the axes they are given, or on a new
figure of fitting size, and return them; none opens a window.
"""

from __future__ import annotations

from .communication import communication
from .compare import compare, difference
from .curves import lip, plan, shuffle
from .estimate import estimate
from .heatmap import heatmap
from .histogram import histogram

__all__ = [
    "communication",
    "compare",
    "difference",
    "estimate",
    "heatmap",
    "histogram",
    "lip",
    "plan",
    "shuffle",
]
