"""Paper 000: each counterexample contradicts its claim, by at least as much as the page shows."""

from __future__ import annotations

import math

import pytest

from .fair_frequency_protocols import PAPER

N = PAPER.numbers


def test_published_bounds_are_far_below_the_true_delta() -> None:
    first, experiment, second = N("F1"), N("F2"), N("F3")
    assert first["asked"] <= first["count"] - 1  # the condition of the theorem is met
    assert first["true"] > 1e6 * first["claimed"]
    assert (round(first["true"], 3), first["needed"]) == (0.160, 81)
    assert experiment["true"] > 1e19 * experiment["claimed"]
    assert second["true"] > 1e3 * second["claimed"]
    assert second["needed"] > 5 * second["asked"]


def test_what_the_bounds_assume() -> None:
    alone, users = N("F4"), N("F5")
    assert alone["true"] == pytest.approx(alone["rate"], rel=2e-6)
    assert alone["at_fifteen"] == pytest.approx(alone["rate"], rel=2e-6)
    assert users["alone"] < users["some"] < users["all"]
    assert users["all"] == pytest.approx(1 - math.exp(-0.5), rel=2e-6)


def test_gaussian_noise() -> None:
    divided, classical = N("F6"), N("F7")
    assert divided["true"] > 0.99
    assert round(divided["level"], 1) == 48.4
    assert classical["broken"] > 2 * classical["delta"]
    assert round(classical["waste"], 2) == 1.69


def test_comparisons_with_gaussian_noise() -> None:
    metric, fair, figure = N("F8"), N("F9"), N("F10")
    assert metric["same"] == pytest.approx(30 * metric["printed"])
    assert fair["claimed"] < fair["gaussian"] < fair["sampling"]
    assert figure["few"] < figure["many"] < 0.6


def test_figures_against_the_paper_s_own_lemma() -> None:
    total, size, least, normal = N("F11"), N("F12"), N("F21"), N("F22")
    assert round(total["total"], 2) == 0.01
    assert total["mean"] < 0.001
    assert size["law"] == 5 != round(size["printed"])
    assert least["least"] > 2 * 0.000952
    assert normal["normal"] < normal["uniform"] < 1.02 * normal["normal"]


def test_protocols() -> None:
    seen, partial, repeated, lost = N("F13"), N("F14"), N("F15"), N("F16")
    assert seen["seen"] > 1000 * seen["alone"]
    assert partial["chance"] == pytest.approx(partial["least"])  # uniform
    assert partial["right"] == partial["true"]
    assert round(repeated["few"], 3) == 0.097
    assert lost["mean"] == 504
    assert lost["survives"] < 1e-4


def test_costs_of_real_runs() -> None:
    two_stage, everyone = N("F17"), N("F18")
    assert two_stage["sent"] == pytest.approx(5 * (5 / 12 * 300 + 1), rel=0.02)
    assert two_stage["printed"] > 1.5 * two_stage["sent"]
    assert everyone["sent"] == everyone["shares"] + everyone["sums"] < everyone["printed"]


def test_weights() -> None:
    without, differ = N("F19"), N("F20")
    assert without["right"] < without["plain"] < without["weighted"] / 200
    assert differ["weighted"] > 5 * differ["plain"]


def test_groups_and_coalitions() -> None:
    gain, coalition, variances, groups = N("F24"), N("F25"), N("F26"), N("F27")
    assert round(gain["gain"]) == 88
    assert coalition["uniform"] == 0 < coalition["star"] < 1
    assert variances["holder"] > 2 * variances["other"]
    assert groups["true"] > 10 * groups["delta"]
    assert groups["level"] == math.inf


def test_adaptive_selection() -> None:
    selection = N("F23")
    assert selection["printed"] > 3
    assert selection["own"] == pytest.approx(selection["lemma"])
