"""Example 1 of the paper, without any noise: three parties with 100 people each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.reproduce import Data

from .opened import rows_study

_PATIENTS, _PEOPLE = (50, 30, 20), 100
_BUDGETS = (Fraction("0.1"), Fraction("0.3"), Fraction("0.5"))


def measure(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, float]:
    """Sampling rates of Section 5.1, or the fraction of patients that each method finds."""
    most = float(max(_BUDGETS))
    rates = [math.expm1(float(e)) / math.expm1(most) for e in _BUDGETS]
    if setting["what"] == "rates":
        return {f"p_{k + 1}": rate for k, rate in enumerate(rates)}
    sampled = np.dot(rates, _PATIENTS) / (_PEOPLE * sum(rates))
    stretched = {series: _exact(rows_study((2,), _BUDGETS, name))
                 for series, name in (("STH", "sth"), ("MM, equal start", "mm"),
                                      ("MM, random start", "mm-random"))}  # fmt: skip
    truth = sum(_PATIENTS) / (_PEOPLE * len(_PATIENTS))
    return {"truth": truth, "SAH": float(sampled), **stretched}


def _exact(study: sv.parties.Horizontal) -> float:
    """The fraction of patients from sums without noise."""
    rows = dict.fromkeys(study.parties, _PEOPLE)
    (design,), ((release,),) = study.designs(rows), study.releases(rows)
    weights = np.array([release.weights[party] for party in study.parties])
    patients = int(weights @ _PATIENTS)
    sums = np.array([patients, int(weights.sum()) * _PEOPLE - patients])
    return float(study.method.solve(design, [sums]).values[0])
