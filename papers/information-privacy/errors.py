"""Figures 5 to 7: errors of posterior means, computed from the channels as in the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce.published.information_privacy import yes_error
from sottovoce.reproduce import Data

from .reports import person_error

#: Of a series: the channel, and the part of ε that it is designed for.
MODELS = {
    "context-free LDP": ("context-free-ldp", 1.0),
    "ε-Opt-LDP": ("opt-ldp", 1.0),
    "ε-Opt-LIP as published": ("jiang-theorem2", 1.0),
    "ε/2-Opt-LIP as published": ("jiang-theorem2", 0.5),
    "ε/2-symmetric LIP": ("symmetric", 0.5),
    "ε-LIP, corrected": ("optimal", 1.0),
    "ε/2-LIP, corrected": ("optimal", 0.5),
}
#: What is also measured with reports, and how that series is called.
FROM_REPORTS = {
    "ε-Opt-LDP": "ε-Opt-LDP, from reports",
    "ε-Opt-LIP as published": "ε-Opt-LIP as published, from reports",
    "ε-LIP, corrected": "ε-LIP, corrected, from reports",
}
PEOPLE = 100_000

Floats = NDArray[np.float64]


def error(priors: float | Floats, epsilon: float, model: str) -> float:
    """√(E / N): root of the expected squared error of a person's answer, over everyone."""
    variant, part = MODELS[model]
    return math.sqrt(float(np.mean(yes_error(priors, part * epsilon, variant))))


def same_prior(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, Any]:
    """Everyone has one prior; some of the models also with reports of 100,000 people."""
    prior, epsilon = setting["prior"], setting["epsilon"]
    measured: dict[str, Any] = {model: error(prior, epsilon, model) for model in setting["models"]}
    if setting.get("reports"):
        rng = np.random.default_rng(seed)
        answers = [rng.random(PEOPLE) < prior for _ in range(repeats)]
        for model, name in FROM_REPORTS.items():
            measured[name] = person_error(prior, epsilon, MODELS[model][0], answers, seed)
    return measured


def own_priors(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, dict[float, list[float]]]:
    """Each user has a prior of their own, uniform in [0, 1]; a repeat draws them anew."""
    rng = np.random.default_rng(seed)
    draws = [rng.random(setting["people"]) for _ in range(repeats)]
    return {
        model: {epsilon: [error(priors, epsilon, model) for priors in draws]
                for epsilon in setting["epsilons"]}
        for model in setting["models"]
    }  # fmt: skip


def crossings(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, float | list[float]]:
    """Whether, and up to which ε, the curve of ε/2-LIP lies below that of ε-Opt-LDP."""
    models = {"by the published formula": "ε/2-Opt-LIP as published",
              "by the corrected one": "ε/2-LIP, corrected"}  # fmt: skip
    if "prior" in setting:
        return {name: _largest_better(setting["prior"], model) for name, model in models.items()}
    rng = np.random.default_rng(seed)
    draws = [rng.random(setting["people"]) for _ in range(repeats)]
    return {
        name: [float(any(error(p, e, model) < error(p, e, "ε-Opt-LDP") * (1 - 1e-9)
                         for e in setting["epsilons"])) for p in draws]
        for name, model in models.items()
    }  # fmt: skip


def _largest_better(prior: float, model: str) -> float:
    """The largest ε of 0 to 10 at which the model has the smaller error, to 0.01; 0 if none."""
    grid = np.arange(1, 1_001) / 100
    better = [e for e in grid if error(prior, e, model) < error(prior, e, "ε-Opt-LDP") * (1 - 1e-9)]
    return float(max(better, default=0.0))


def levels(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, dict[float, float]]:
    """What a channel that is designed for ε really promises, with the prior and without."""
    measured: dict[str, dict[float, float]] = {}
    for epsilon in setting["epsilons"]:
        published = sv.LIP(prior=setting["prior"], epsilon=epsilon, variant="jiang-theorem2")
        corrected = sv.LIP(prior=setting["prior"], epsilon=epsilon)
        for series, level in {
            "Theorem 2: LIP level": published.lip_epsilon,
            "Theorem 2: LDP level": published.ldp_epsilon,
            "corrected: LIP level": corrected.lip_epsilon,
            "corrected: LDP level": corrected.ldp_epsilon,
        }.items():
            measured.setdefault(series, {})[epsilon] = float(level)
    return measured
