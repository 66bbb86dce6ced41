"""The same counting on other machinery: a GPU.

`counting` chooses the engine for everything that is counted inside it. Counts are the same
integers whatever the engine; participants' draws have no engine.
"""

from __future__ import annotations

from .engines import ENGINES, counting

__all__ = ["ENGINES", "counting"]
