"""Split columns: how far each method's table lies from the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sottovoce.reproduce import Data

from .opened import budgets_of, columns_study, distance, solve_columns
from .people import codes_of, count_cells

OURS, GUARDED = "pbs-gls (ours)", "pbs-gls (ours), all but one may collude"
#: The methods of the paper, by the names in its legend.
PUBLISHED = {"PBS": "pbs", "MV": "mv", "SAV": "sav"}


def measure(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """Total variation distance of a random table with one attribute of each party."""
    rng = np.random.default_rng(seed)
    codes, sizes = codes_of(setting["data"], data)
    groups: tuple[int, int, int] = tuple(setting["groups"])
    budgets = budgets_of(setting["least"], groups)
    distances: dict[str, list[float]] = {}
    for _ in range(repeats):
        axes = rng.choice(len(sizes), len(budgets), replace=False)
        shape = tuple(sizes[a] for a in axes)
        table = count_cells(codes[:, axes], shape)
        studies = {OURS: columns_study(shape, budgets, "pbs-gls")}
        studies |= {
            series: columns_study(shape, budgets, name) for series, name in PUBLISHED.items()
        }
        studies[GUARDED] = columns_study(shape, budgets, "pbs-gls", len(budgets) - 1)
        noise = int(rng.integers(1 << 62))
        for series, study in studies.items():
            values = solve_columns(study, table, np.random.default_rng(noise))
            distances.setdefault(series, []).append(distance(values, table / len(codes)))
    return distances
