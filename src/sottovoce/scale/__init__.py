"""The same counting on other machinery: the cores, a cluster (Dask, Spark), a GPU.

`aggregate` counts files where an engine runs, `joint_tables` estimates many tables there, and
`counting` chooses between CPU and GPU for everything that is counted inside it. Counts are the same
integers whatever the engine; participants' draws have no engine.
"""

from __future__ import annotations

from .clusters import CLUSTERS, connected
from .dataset import aggregate, count_dataset, count_on
from .engines import ENGINES, counting
from .tables import joint_tables

__all__ = [
    "CLUSTERS",
    "ENGINES",
    "aggregate",
    "connected",
    "count_dataset",
    "count_on",
    "counting",
    "joint_tables",
]
