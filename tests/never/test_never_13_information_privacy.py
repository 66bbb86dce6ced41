"""Never use LIP's published optimum outside 1/(e^ε+1) ≤ P1 ≤ e^ε/(e^ε+1), and never add LIP levels
up as if they composed like LDP.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest

import sottovoce
from sottovoce import LIP, Study
from sottovoce.accounting.information import lip_level, lip_level_repeated
from sottovoce.errors import GuaranteeError
from sottovoce.promise import LDP, Guarantee
from sottovoce.promise import LIP as LIP_NOTION

SKEWED = [0.001, 0.01, 0.1, 0.2, 0.8, 0.9, 0.99, 0.999]
SOURCE = Path(sottovoce.__file__).parent


@pytest.mark.parametrize("p", SKEWED)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_outside_its_range_the_default_is_not_the_published_channel(
    p: float, epsilon: float
) -> None:
    ours, published = (
        LIP(2, prior=p, epsilon=epsilon, variant=variant)
        for variant in ("optimal", "jiang-theorem2")
    )
    assert lip_level(published.matrix, [p, 1 - p]) > epsilon + 1e-6
    assert lip_level(ours.matrix, [p, 1 - p]) <= epsilon + 1e-12
    assert np.abs(ours.matrix - published.matrix).max() > 1e-6


def test_inside_its_range_it_is() -> None:
    for p in (1 / (math.e + 1), 0.3, 0.5, 0.7):
        pair = (LIP(2, prior=p, epsilon=1.0, variant=v) for v in ("optimal", "jiang-theorem2"))
        ours, published = (mechanism.matrix for mechanism in pair)
        assert ours == pytest.approx(published, abs=1e-12)


@pytest.mark.parametrize("p", SKEWED)
def test_the_published_channel_never_goes_by_the_level_claimed_for_it(p: float) -> None:
    mechanism = LIP(2, prior=p, epsilon=1.0, variant="jiang-theorem2")
    by_notion = {promise.notion: promise.epsilon for promise in mechanism.guarantee.promises}
    assert by_notion[LIP_NOTION] >= lip_level(mechanism.matrix, [p, 1 - p]) - 1e-12
    assert by_notion[LIP_NOTION] > 1.0
    assert by_notion[LDP] >= by_notion[LIP_NOTION]


def test_nothing_uses_it_but_by_name() -> None:
    # Its formula and its name live where channels are made and compared, and nowhere else.
    named = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value == "jiang-theorem2"
    }
    assert named <= {
        "mechanisms/lip.py",
        "mechanisms/prior_channels.py",
        "published/information_privacy.py",
        "cli/lip.py",
    }
    assert LIP(2, prior=0.1, epsilon=1.0).variant == "optimal"


def test_levels_under_a_prior_are_never_added_up() -> None:
    guarantee = LIP(prior=1 / (math.e + 1), epsilon=1.0).guarantee
    assert LIP_NOTION not in {promise.notion for promise in (guarantee + guarantee).promises}
    alone = Guarantee(guarantee.promises[:1])
    with pytest.raises(GuaranteeError, match="do not add up"):
        alone + alone


def test_repeating_costs_what_it_costs_and_not_k_times() -> None:
    mechanism = LIP(prior=1 / (math.e + 1), epsilon=1.0)
    for k in (2, 3, 5):
        true = lip_level_repeated(mechanism.matrix, mechanism.centre, k)
        said = mechanism.guarantee.times(k).promises[0].epsilon
        assert k < true <= said


def test_a_study_of_two_questions_says_nothing_under_a_prior() -> None:
    questions = tuple(
        LIP(sottovoce.Attribute(name, ["yes", "no"]), prior=0.1, epsilon=1.0) for name in "ab"
    )
    total = Study("Two", questions).guarantee
    assert [promise.notion for promise in total.promises] == [LDP]
    assert total.epsilon == pytest.approx(2 * questions[0].ldp_epsilon)
