"""Pictures of estimates, with matplotlib.

`estimate` shows one, `compare` several of the same values. Both draw on the axes they are given,
or on a new figure of fitting size, and return the axes; neither opens a window.
"""

from __future__ import annotations

from .compare import compare
from .estimate import estimate

__all__ = ["compare", "estimate"]
