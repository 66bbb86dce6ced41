"""Figure 8: Kosarak and Gowalla, as far as we have them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.published.information_privacy import flips
from sottovoce.reproduce import Data

from .errors import FROM_REPORTS, MODELS, error
from .reports import person_error

SERIES = ("ε-Opt-LDP", "ε-Opt-LIP as published", "ε/2-Opt-LIP as published", "ε-LIP, corrected",
          "ε/2-LIP, corrected")  # fmt: skip
POPULAR = 1_515  # 15,000 clicks of the whole file, for its first 100,000 of 990,002 streams
_REPORTS_UP_TO = 5.0  # beyond it errors are too rare to be measured with a few runs

Floats = NDArray[np.float64]


def kosarak(data: Data) -> NDArray[np.bool_]:
    """Of each page that occurs: whether it is popular."""
    pages = np.array(" ".join(data("kosarak")["items"]).split(), np.int64)
    clicks = np.bincount(pages)
    return clicks[clicks > 0] > POPULAR


def last_seen(data: Data) -> NDArray[np.bool_]:
    """Of each user with a known last check-in: whether it is in the secret region."""
    table = data("gowalla_last")
    return _in_region(table["lat"], table["lon"])


def visits(data: Data) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each user: how many check-ins there are, and how many of them in the region."""
    table = data("gowalla")
    user = table["user"].astype(np.int64)
    many = table["checkins"].astype(np.int64)
    inside = _in_region(table["lat"], table["lon"])
    return np.bincount(user, many).astype(np.int64), np.bincount(user, many * inside).astype(
        np.int64
    )


def _in_region(latitude: Any, longitude: Any) -> NDArray[np.bool_]:
    """(50, 0) to (55, −5): most of the United Kingdom."""
    north, east = latitude.astype(float), longitude.astype(float)
    return (north >= 50) & (north <= 55) & (east >= -5) & (east <= 0)


def measure(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, dict[float, Any]]:
    """All models of one panel, over ε."""
    return _PANELS[setting["kind"]](setting["epsilons"], repeats, seed, data)


def _one_prior(answers: NDArray[np.bool_], epsilons: Any, repeats: int, seed: int) -> Any:
    """Everyone has the fraction of yes as prior; exact, and with reports of the real answers."""
    prior = float(answers.mean())
    curves: dict[str, dict[float, Any]] = {
        model: {e: error(prior, e, model) for e in epsilons} for model in SERIES
    }
    for model in ("ε-Opt-LDP", "ε-LIP, corrected"):
        curves[FROM_REPORTS[model]] = {
            e: person_error(prior, e, MODELS[model][0], [answers] * repeats, seed)
            for e in epsilons
            if e <= _REPORTS_UP_TO and e == int(e)
        }
    return curves


def _kosarak(epsilons: Any, repeats: int, seed: int, data: Data) -> Any:
    return _one_prior(kosarak(data), epsilons, repeats, seed)


def _gowalla_last(epsilons: Any, repeats: int, seed: int, data: Data) -> Any:
    return _one_prior(last_seen(data), epsilons, repeats, seed)


def _gowalla_priors(epsilons: Any, repeats: int, seed: int, data: Data) -> Any:
    """As if each user's answer were drawn from their own prior, which is what the paper plots."""
    total, inside = visits(data)
    priors = inside / total
    return {model: {e: error(priors, e, model) for e in epsilons} for model in SERIES}


def _gowalla_drawn(epsilons: Any, repeats: int, seed: int, data: Data) -> Any:
    """One check-in of each user is the answer, the others are the prior; exact over the noise."""
    total, inside = visits(data)
    rng = np.random.default_rng(seed)
    curves: dict[str, dict[float, list[float]]] = {model: {e: [] for e in epsilons}
                                                   for model in SERIES}  # fmt: skip
    for _ in range(repeats):
        answers = rng.random(total.size) < inside / total
        priors = (inside - answers) / (total - 1)
        for model, curve in curves.items():
            variant, part = MODELS[model]
            for e, values in curve.items():
                values.append(_given_answers(answers, priors, part * e, variant))
    return curves


def _given_answers(
    answers: NDArray[np.bool_], priors: Floats, epsilon: float, variant: str
) -> float:
    """√ of the mean over users of Σ_y Q(y|x) (x − E[X|y])²."""
    q0, q1 = flips(priors, epsilon, variant)
    says_yes = np.where(answers, 1 - q1, q0)
    yes = priors * (1 - q1) + (1 - priors) * q0
    # Where a report cannot come under the prior, nothing is learnt from it: the prior stays.
    after_yes = np.divide(priors * (1 - q1), yes, out=priors.copy(), where=yes > 0)
    after_no = np.divide(priors * q1, 1 - yes, out=priors.copy(), where=yes < 1)
    squares = says_yes * (answers - after_yes) ** 2 + (1 - says_yes) * (answers - after_no) ** 2
    return math.sqrt(float(squares.mean()))


_PANELS = {"kosarak": _kosarak, "gowalla-last": _gowalla_last, "gowalla-priors": _gowalla_priors,
           "gowalla-drawn": _gowalla_drawn}  # fmt: skip
