"""Never show a weighted estimate over self-chosen privacy levels without saying that it assumes
the levels alike; the default (James–Stein) does not.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from sottovoce import GRR, Duchi, Estimate, Levels, Sampled, combine
from sottovoce.errors import AlikeWarning
from sottovoce.estimate.combine import METHODS
from sottovoce.estimate.groups import ALIKE

MENU = Levels.of(GRR, ["yes", "no", "maybe", "other"], {"strong": 0.5, "weak": 4})
NUMBERS = Levels.of(Duchi, (0, 1), {"strong": 0.5, "weak": 4})
#: Those that need no word: they are right, or look how alike the levels are.
SAFE = {"james-stein", "random-effects", "hybrid", "adaptive", "post-stratified"}
weighted = pytest.mark.parametrize("method", ["pooled", "yang-variance", "yang-optimised"])


def collected(menu: Levels) -> Any:
    """Whoever answers the first value, or a small number, chose the strong level."""
    first, last = (0.1, 0.9) if menu is NUMBERS else ("yes", "no")
    answers = [first] * 1000 + [last] * 3000
    reports = menu.randomise(answers, level=["strong"] * 1000 + ["weak"] * 3000)
    return menu.aggregate(reports)


def silenced(menu: Levels, method: str) -> Estimate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlikeWarning)
        return menu.estimate(collected(menu), method=method)


def test_there_are_weights_to_be_tested() -> None:
    assert set(METHODS) - SAFE == {"pooled", "yang-variance", "yang-optimised", "unweighted"}
    assert {name for name, (_, biased) in METHODS.items() if not biased} <= SAFE


@pytest.mark.parametrize("menu", [MENU, NUMBERS], ids=["shares", "numbers"])
def test_the_default_does_not_assume_it(menu: Levels) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", AlikeWarning)
        estimate = menu.estimate(collected(menu))
        by_hand = combine(menu.estimates(collected(menu)))
    assert estimate.method == by_hand.method == "james-stein"
    assert ALIKE not in estimate.assuming
    assert "shrunk towards each other" in estimate.assuming


@pytest.mark.parametrize("method", sorted(SAFE))
def test_what_does_not_assume_it_does_not_say_so(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", AlikeWarning)
        assert ALIKE not in MENU.estimate(collected(MENU), method=method).assuming


@weighted
@pytest.mark.parametrize("menu", [MENU, NUMBERS], ids=["shares", "numbers"])
def test_weights_warn_and_the_estimate_says_what_it_assumes(menu: Levels, method: str) -> None:
    aggregate = collected(menu)
    with pytest.warns(AlikeWarning, match="answer alike"):
        estimate = menu.estimate(aggregate, method=method)
    assert ALIKE in estimate.assuming
    assert estimate.biased


def test_counting_every_report_the_same_is_a_weighting_where_people_are_sampled() -> None:
    assert MENU.estimate(collected(MENU), method="unweighted").assuming == ""
    menu = Levels({"often": Sampled(GRR(2, epsilon=1), rate=0.9), "all": GRR(2, epsilon=1)})
    reports = menu.randomise([0, 1] * 1000, level=["often"] * 1500 + ["all"] * 500)
    with pytest.warns(AlikeWarning, match="'unweighted' weighs the groups as if"):
        estimate = menu.estimate(menu.aggregate(reports), method="unweighted")
    assert ALIKE in estimate.assuming


@weighted
def test_with_the_warning_silenced_it_is_still_written_wherever_it_is_shown(method: str) -> None:
    estimate = silenced(MENU, method)
    for shown in (estimate, estimate.project()):
        assert "Assuming: people of all groups answer alike" in str(shown)
        assert "Assuming: people of all groups answer alike" in shown._repr_html_()
        assert shown.biased


def test_it_is_still_written_when_the_estimate_is_part_of_a_larger_one() -> None:
    sampled = Sampled(MENU, rate=[0.5, 1])
    answers = np.array(["yes", "no"])[np.random.default_rng(1).integers(0, 2, 4000)]
    reports = sampled.randomise(
        answers, level=np.where(np.arange(4000) % 3, "strong", "weak"), rate=[0.5, 1] * 2000
    )
    with pytest.warns(AlikeWarning):
        estimate = sampled.estimate(sampled.aggregate(reports), method="pooled")
    assert ALIKE in estimate.assuming


def test_the_assumption_is_not_idle() -> None:
    """Here it fails, and weights are off by more than ten of their own standard errors."""
    truth = np.array([0.25, 0.75, 0.0, 0.0])
    wrong, right = silenced(MENU, "yang-variance"), silenced(MENU, "post-stratified")
    assert (np.abs(wrong.values - truth) / wrong.std_error).max() > 10
    assert (np.abs(right.values - truth) / right.std_error).max() < 6  # 2e-9 per value
