"""Figure 5: the weights with GRR and OUE for frequencies, with Duchi and PM for means."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import AlikeWarning, UselessEstimateWarning
from sottovoce.reproduce import Data

from .groups import DEFAULT, PLAIN, POOLED, SETTINGS, STRICTEST, WEIGHTED
from .people import in_intervals

MECHANISMS = {"GRR": sv.GRR, "OUE": sv.OUE, "Duchi": sv.Duchi, "PM": sv.Piecewise}
ITEMS = 30


def mechanisms(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """People with standard normal numbers in four privacy levels: at random, or sorted by number.

    Frequencies are those of 30 intervals over [−3, 3]; means those of the numbers clipped to
    [−3, 3] and divided by 3. Groups are drawn anew in every repeat.
    """
    kind, epsilons = MECHANISMS[setting["mechanism"]], SETTINGS[setting["levels"]]
    names = [f"level {k}" for k in range(1, len(epsilons) + 1)]
    rng = np.random.default_rng(seed)
    numbers = np.sort(rng.normal(size=setting["size"]))
    frequencies = kind in (sv.GRR, sv.OUE)
    answers = in_intervals(numbers, ITEMS) if frequencies else np.clip(numbers / 3, -1, 1)
    domain: Any = ITEMS if frequencies else (-1.0, 1.0)
    truth = answers.mean()
    if frequencies:
        truth = np.bincount(answers, minlength=ITEMS) / answers.size
    menu = sv.Levels(
        {name: kind(domain, epsilon=e) for name, e in zip(names, epsilons, strict=True)}
    )
    chosen = np.repeat(names, answers.size // len(names))
    strictest = menu.strictest()
    measured: dict[str, list[float]] = {}
    with testing.seeded(seed) as source, warnings.catch_warnings():
        # That weights assume the levels alike, and that 10,000 people are too few for GRR at these
        # levels, is what the figure shows.
        warnings.simplefilter("ignore", AlikeWarning)
        warnings.simplefilter("ignore", UselessEstimateWarning)
        for _ in range(repeats):
            level = chosen if setting["sorted"] else rng.permutation(chosen)
            counts = menu.aggregate(menu.randomise(answers, level=level, source=source))
            alone = strictest.aggregate(strictest.randomise(answers, source=source))
            for name, estimate in (
                (WEIGHTED, menu.estimate(counts, method="yang-variance")),
                (PLAIN, menu.estimate(counts, method="unweighted")),
                (POOLED, menu.estimate(counts, method="pooled")),
                (DEFAULT, menu.estimate(counts)),
                (STRICTEST, strictest.estimate(alone)),
            ):
                measured.setdefault(name, []).append(float(((estimate.values - truth) ** 2).sum()))
    return measured
