"""Compiled loops: arrays in, arrays out. They know nothing of privacy.

`draw` has what participants run, `count` what a collector and an analyst run; `use` lets another
engine count. A kernel is interpreted for the first small inputs; numba is imported when one is
compiled, not with the package.

numba does not check bounds: every kernel that indexes by a value guards it first. A kernel that
meets a value out of range returns its position, and −1 where there is none.
"""

from __future__ import annotations

from . import count, draw
from .count import use

__all__ = ["count", "draw", "use"]
