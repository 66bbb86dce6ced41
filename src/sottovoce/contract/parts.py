"""Reports of several groups of people, taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.values import code_dtype
from .reports import Reports


def parts_of(reports: Reports, group: NDArray[Any], groups: int) -> Iterator[tuple[int, Reports]]:
    """The reports of each group that has some, in the order of the groups."""
    # Sorting small integers takes linear time, which is why they are made small.
    order = np.argsort(group.astype(code_dtype(groups), copy=False), kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups)).tolist()
    columns = {name: column[order] for name, column in reports.columns.items()}
    start = 0
    for k, end in enumerate(ends):
        if end > start:
            part = {name: column[start:end] for name, column in columns.items()}
            yield k, Reports(reports.mechanism, reports.digest, part, reports.seeded)
        start = end
