"""Pictures of estimates, plans and accounts, with matplotlib.

`estimate` shows one, `compare` several of the same values, `heatmap` the joint distribution of two
attributes, `plan` predicted errors, `communication` what it costs that only some people report,
`shuffle` what a shuffler is worth, `lip` what a prior is. All draw on the axes they are given, or
on a new figure of fitting size, and return them; none opens a window.
"""

from __future__ import annotations

from .accounts import shuffle
from .communication import communication
from .compare import compare
from .estimate import estimate
from .heatmap import heatmap
from .lip import lip
from .plan import plan

__all__ = ["communication", "compare", "estimate", "heatmap", "lip", "plan", "shuffle"]
