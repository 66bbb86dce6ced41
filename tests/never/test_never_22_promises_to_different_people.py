"""Never lose or merge promises that speak of different people when adding guarantees."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import GuaranteeError
from sottovoce.promise import LDP, LIP, Guarantee, Neighbours, Promise, Unit, composed

ANSWERS = ["yes", "no", "yes"] * 200


def asked(epsilon: float) -> sv.Estimate:
    return sv.ask(ANSWERS, values=["yes", "no"], epsilon=epsilon)


def combined(groups: object, method: str = "post-stratified") -> Guarantee:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sv.errors.UselessEstimateWarning)
        return sv.combine(groups, method=method).guarantee


def test_each_group_keeps_its_own_promise() -> None:
    once = combined([asked(2.0), asked(0.5)])
    assert [p.unit.group for p in once.promises] == ["group 1", "group 2"]
    for twice in (once + once, once.times(2), composed([once, once])):
        assert [p.epsilon for p in twice.promises] == [4.0, 1.0]
        assert [p.unit.group for p in twice.promises] == ["group 1", "group 2"]


def test_groups_carry_the_names_that_were_given() -> None:
    once = combined({"north": asked(2.0), "south": asked(0.5)})
    assert [p.unit.group for p in once.promises] == ["north", "south"]
    assert "one person in 'north'" in str(once)
    with pytest.raises(GuaranteeError, match="different things"):
        once + combined([asked(2.0), asked(0.5)])


def test_equal_promises_to_two_groups_are_two() -> None:
    once = combined([asked(1.0), asked(1.0)])
    assert [p.epsilon for p in (once + once).promises] == [2.0, 2.0]


def test_groups_of_groups_stay_apart() -> None:
    inner = sv.combine([asked(2.0), asked(0.5)], method="post-stratified")
    once = combined({"north": inner, "south": asked(1.0)})
    assert [p.epsilon for p in (once + once).promises] == [4.0, 1.0, 2.0]
    assert len({p.unit for p in once.promises}) == 3


def test_levels_inside_groups_stay_apart() -> None:
    menu = {"strong": 0.5, "weak": 2.0}
    level = ["strong", "weak", "weak"] * 200
    group = sv.ask(ANSWERS, values=["yes", "no"], levels=menu, level=level)
    group = group if group.raw is None else group.raw
    promises = [group.guarantee.in_group(name).promises for name in ("a", "b")]
    both = Guarantee((*promises[0], *promises[1]))
    assert [p.epsilon for p in (both + both).promises] == [1.0, 4.0, 1.0, 4.0]


def test_whoever_changes_the_level_is_not_promised_twice_the_stricter_one() -> None:
    """Of two waves ε = 1 is promised to those who chose ½ in both, not to who chose ½ once."""
    menu = Guarantee((Promise(LDP, 0.5, unit=Unit(level="strong")), Promise(LDP, 2.0)))
    for both in (menu + menu, menu.times(2)):
        strong, everyone = both.promises
        assert strong.epsilon == 1.0
        assert sum("every time" in sentence for sentence in strong.assuming) == 1
        assert not any("every time" in sentence for sentence in everyone.assuming)
    assert not any("every time" in sentence for sentence in menu.promises[0].assuming)


def test_two_promises_about_the_same_people_cannot_stand_side_by_side() -> None:
    # The fault of old: addition kept only the last of them.
    for epsilons in ((2.0, 0.5), (1.0, 1.0)):
        with pytest.raises(GuaranteeError, match="are about the same thing"):
            Guarantee(tuple(Promise(LDP, epsilon) for epsilon in epsilons))
    menu = Guarantee((Promise(LDP, 1.0), Promise(LDP, 2.0, unit=Unit(level="weak"))))
    with pytest.raises(GuaranteeError, match="are about the same thing"):
        menu.about(Unit())  # a larger unit never merges them


def test_a_promise_under_a_prior_is_left_out_only_where_its_people_keep_another() -> None:
    under = Promise(LIP, 1.0, neighbours=Neighbours.BELIEFS, unit=Unit(group="a"))
    other = Guarantee((under, Promise(LDP, 1.0, unit=Unit(group="b"))))
    with pytest.raises(GuaranteeError, match="do not add up"):
        other + other
    kept = Guarantee((*other.promises, Promise(LDP, 1.5, unit=Unit(group="a"))))
    assert {p.unit.group: p.epsilon for p in (kept + kept).promises} == {"a": 3.0, "b": 2.0}


UNITS = st.builds(
    Unit,
    level=st.sampled_from([None, "strong", "weak"]),
    group=st.sampled_from([None, "north", "south"]),
    attribute=st.sampled_from([None, "age"]),
)


@given(st.dictionaries(UNITS, st.floats(0.01, 5), min_size=1, max_size=8))
def test_addition_keeps_every_promise(epsilons: dict[Unit, float]) -> None:
    once = Guarantee(tuple(Promise(LDP, e, unit=unit) for unit, e in epsilons.items()))
    twice = once + Guarantee(once.promises[::-1])
    assert {p.unit: p.epsilon for p in twice.promises} == {u: 2 * e for u, e in epsilons.items()}
    assert twice.times(2).promises == once.times(4).promises
