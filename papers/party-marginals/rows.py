"""Split rows: how far each method's table lies from the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sottovoce.reproduce import Data

from .opened import budgets_of, by_party, distance, rows_study, solve_rows
from .people import codes_of, count_cells, divide

OURS, GUARDED = "sjs (ours)", "sjs (ours), all but one may collude"
UNIFIED = "reference: ε = 1 for everyone"
#: What is compared, in the order of the legend, and the method behind it.
METHODS = {
    OURS: "sjs",
    "MM, equal start": "mm",
    "MM, random start": "mm-random",
    "STH": "sth",
    "SAH": "sah",
    "MH": "mh",
    "Independent": "independent",
    "Product": "product",
    GUARDED: "sjs",
    "MM, noisy local start": "mm-noisy-local",
    UNIFIED: "mh",
}
#: The methods of the paper, by the names in its legend.
PUBLISHED = tuple(series for series in METHODS if series not in (OURS, GUARDED, UNIFIED))


def measure(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """Total variation distance of a random marginal, over random splits of the rows.

    Every repeat draws one marginal and one split, the same for all methods, and the same seed for
    their noise. The marginal gets all of every party's ε.
    """
    rng = np.random.default_rng(seed)
    codes, sizes = codes_of(setting["data"], data)
    groups: tuple[int, int, int] = tuple(setting["groups"])
    budgets = budgets_of(setting["least"], groups)
    alone = (max(budgets),) * len(budgets)
    others = len(budgets) - 1
    distances: dict[str, list[float]] = {}
    for _ in range(repeats):
        axes = rng.choice(len(sizes), setting["ways"], replace=False)
        shape = tuple(sizes[a] for a in axes)
        parts = divide(codes, setting["split"], len(budgets), rng)
        local = [count_cells(codes[part][:, axes], shape) for part in parts]
        truth = np.sum(local, axis=0) / len(codes)
        tables = by_party(local)
        noise = int(rng.integers(1 << 62))
        for series, method in METHODS.items():
            everyone = alone if series == UNIFIED else budgets
            study = rows_study(shape, everyone, method, others if series == GUARDED else 0)
            values = solve_rows(study, tables, np.random.default_rng(noise))
            distances.setdefault(series, []).append(distance(values, truth))
    return distances
