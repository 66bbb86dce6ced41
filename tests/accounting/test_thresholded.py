"""Suppressed counts: all true counts and all coins of insiders, enumerated."""

from __future__ import annotations

from functools import cache

import pytest

from sottovoce.accounting import smallest_threshold, thresholded_delta
from sottovoce.accounting import thresholded as account

from .reference import hockey_stick, masses

ZERO = {"neighbours": "add-remove"}


@cache
def released(holders: int, rate: float, threshold: int) -> dict:
    law: dict = {}
    for k, mass in enumerate(masses(holders, rate)):
        key = k if k >= threshold else "suppressed"
        law[key] = law.get(key, 0.0) + float(mass)
    return law


def with_insiders(holders: int, rate: float, threshold: int, insiders: int) -> dict:
    """What insiders see who know that x of their own coins are in the count."""
    law = {}
    for x, weight in enumerate(masses(insiders, rate)):
        for key, mass in released(holders, rate, threshold - x).items():
            law[x, key] = float(weight) * mass
    return law


@pytest.mark.parametrize(("rate", "threshold"), [(0.3, 1), (0.3, 4), (0.6, 6)])
@pytest.mark.parametrize("insiders", [0, 3])
def test_one_count_is_the_worst_of_all_true_counts(rate, threshold, insiders):
    for epsilon in (0.2, 1.0):
        worst = 0.0
        for c in range(1, 40):
            laws = [with_insiders(n, rate, threshold, insiders) for n in (c, c - 1)]
            worst = max(worst, hockey_stick(*laws, epsilon), hockey_stick(*laws[::-1], epsilon))
        delta = thresholded_delta(epsilon, rate, threshold, insiders=insiders, **ZERO)
        assert delta == pytest.approx(worst, rel=3e-6)


@pytest.mark.parametrize(("rate", "threshold"), [(0.3, 3), (0.6, 4)])
def test_a_substitution_is_the_worst_of_all_pairs_of_counts(rate, threshold):
    laws = [released(n, rate, threshold) for n in range(36)]
    for epsilon in (0.3, 1.0):
        worst = 0.0
        for a in range(1, 36):
            for b in range(1, 36):
                first = {(x, y): p * q for x, p in laws[a].items() for y, q in laws[b - 1].items()}
                second = {(x, y): p * q for x, p in laws[a - 1].items() for y, q in laws[b].items()}
                worst = max(worst, hockey_stick(first, second, epsilon))
        assert thresholded_delta(epsilon, rate, threshold) == pytest.approx(worst, rel=3e-6)


def test_smallest_thresholds_of_the_maths_page():
    for epsilon, delta, rate, threshold in [
        (1.0, 1e-5, 0.3, 14),
        (1.0, 1e-5, 0.632, 46),
        (0.5, 1e-5, 0.2, 14),
        (0.5, 1e-5, 0.393, 35),
        (0.1, 1e-7, 0.095, 46),
    ]:
        assert smallest_threshold(epsilon, delta, rate, **ZERO) == threshold


def test_insiders_of_the_maths_page():
    deltas = [thresholded_delta(1.0, 0.3, 14, insiders=n, **ZERO) for n in (0, 10, 20, 30, 50)]
    assert [f"{delta:.1e}" for delta in deltas] == ["6.4e-06", "4.1e-05", "5.8e-04", "2.5e-02",
                                                    "2.3e-01"]  # fmt: skip
    plain = thresholded_delta(1.0, 0.3, 14, **ZERO)
    for insiders in (1, 10, 50):
        raised = thresholded_delta(1.0, 0.3, 14 + insiders, insiders=insiders, **ZERO)
        assert raised <= plain * (1 + 1e-9)


def test_substitutions_of_the_maths_page(monkeypatch):
    assert f"{thresholded_delta(1.0, 0.3, 14):.1e}" == "6.7e-06"
    assert thresholded_delta(1.0, 0.6, 5, insiders=2) == thresholded_delta(1.0, 0.6, 3)
    monkeypatch.setattr(account, "_MOST_PAIRS", 1)
    assert f"{thresholded_delta(1.0, 0.3, 14):.1e}" == "4.6e-04"  # composed: an upper bound


def test_without_a_threshold_to_speak_of_nothing_is_hidden():
    assert thresholded_delta(1.0, 0.3, 5, insiders=5) >= 0.3
    assert thresholded_delta(1.0, 1.0, 5) == 1.0
