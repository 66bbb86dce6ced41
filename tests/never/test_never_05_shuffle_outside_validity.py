"""Never claim shuffle amplification outside its validity region, or with reports labelled by
epsilon, protocol or rate (then the crowd is only the identically labelled group).
"""

from __future__ import annotations

import math

import pytest

from sottovoce.accounting import fixed_size, shuffle
from sottovoce.accounting.shuffle import closed_form_limit
from sottovoce.errors import GuaranteeError, ParameterError
from sottovoce.promise import Against

BOUNDS = [{}, {"bound": "grr", "d": 4}, {"bound": "closed-form"}]
each = pytest.mark.parametrize("bound", BOUNDS, ids=["numerical", "grr", "closed-form"])


@pytest.mark.parametrize(("people", "epsilon"), [(1000, 2.0), (100, 0.1), (10**6, 10.0), (2, 1.0)])
def test_the_closed_form_is_refused_where_it_was_not_proven(people: int, epsilon: float) -> None:
    with pytest.raises(GuaranteeError, match=r"holds only up to ln\(n / \(16 ln\(4/delta\)\)\)"):
        shuffle(epsilon, people, 1e-6, bound="closed-form")
    # The bound that holds everywhere promises something, and never more than the local epsilon.
    assert 0 < shuffle(epsilon, people, 1e-6).epsilon <= epsilon


@pytest.mark.parametrize("people", [2_000, 10**5, 10**7])
def test_the_border_is_the_stricter_one(people: int) -> None:
    limit = math.log(people / (16 * math.log(4 / 1e-6)))
    assert closed_form_limit(people, 1e-6) == pytest.approx(limit)
    assert limit < math.log(people / (16 * math.log(2 / 1e-6)))
    assert shuffle(limit * (1 - 1e-9), people, 1e-6, bound="closed-form").epsilon > 0
    with pytest.raises(GuaranteeError):
        shuffle(limit * (1 + 1e-9), people, 1e-6, bound="closed-form")


@each
def test_a_pure_epsilon_is_never_amplified(bound) -> None:
    with pytest.raises(GuaranteeError, match="delta is 0"):
        shuffle(1.0, 10**6, 0.0, **bound)


@each
def test_a_single_person_has_no_crowd(bound) -> None:
    with pytest.raises(GuaranteeError, match="nobody to hide among"):
        shuffle(0.001, 1, 0.5, **bound)
    with pytest.raises(GuaranteeError, match="nobody to hide among"):
        shuffle(0.001, 10**6, 0.5, labelled=True, crowd=1, **bound)


@each
def test_labelled_reports_need_the_size_of_their_group(bound) -> None:
    with pytest.raises(GuaranteeError, match="same label"):
        shuffle(1.0, 10**6, 1e-6, labelled=True, **bound)


@each
def test_with_labels_the_crowd_is_the_group(bound) -> None:
    labelled = shuffle(1.0, 10**6, 1e-6, labelled=True, crowd=5_000, **bound)
    alone = shuffle(1.0, 5_000, 1e-6, **bound)
    everyone = shuffle(1.0, 10**6, 1e-6, **bound)
    assert labelled.epsilon == alone.epsilon > 5 * everyone.epsilon
    said = " ".join(labelled.words().split())
    assert "5,000 people with the same label" in said
    assert "1,000,000" not in said


def test_a_group_is_not_larger_than_everyone() -> None:
    with pytest.raises(ParameterError, match="only 100 people"):
        shuffle(1.0, 100, 1e-6, labelled=True, crowd=101)


@each
def test_the_shuffler_is_named_as_trusted(bound) -> None:
    for options in ({}, {"labelled": True, "crowd": 10**5}):
        stated = shuffle(1.0, 10**6, 1e-6, **bound, **options)
        assert any("trusted shuffler" in assumption for assumption in stated.assuming)
        assert stated.against is Against.SHUFFLED


@each
def test_nothing_larger_than_the_local_epsilon_is_shown(bound) -> None:
    for epsilon in (1e-6, 0.5, 1.5):
        assert shuffle(epsilon, 3_000, 1e-6, **bound).epsilon <= epsilon


def test_a_secret_sample_of_shuffled_reports_is_accounted_on_its_own_size() -> None:
    # ε of the shuffled sample is that of its s messages, not of all n people.
    inside = shuffle(1.0, 1_000, 1e-6)
    stated = fixed_size(inside.epsilon, 1_000, 10**5, delta=inside.delta)
    assert stated.epsilon < inside.epsilon
    with pytest.raises(GuaranteeError, match="server picks the sample"):
        fixed_size(inside.epsilon, 1_000, 10**5, delta=inside.delta, sample="picked")
