"""Audits of sets of options: an option that only one of two sets has distinguishes them."""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce.mechanisms.choose_all import NOTHING_ELSE

MECHANISM = sv.ChooseAll(sv.Options("uses", ["a", "b", "c"], most=2), epsilon=1.0)


@pytest.mark.parametrize("inputs", [[["a"], ["b", "c"]], [[], ["b"]], ["a; b", "c"]])
def test_sets_may_be_named(inputs) -> None:
    (finding,) = sv.audit(MECHANISM, inputs=inputs, trials=20_000, confidence=0.999999)
    assert not finding.broken


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["a"], ["a", "b"], ["b", NOTHING_ELSE]),
        (["a", "c"], ["b", "c"], ["a", "b"]),
        ("c", [], ["c", NOTHING_ELSE]),
        (["b"], ["b"], [NOTHING_ELSE]),
    ],
)
def test_the_options_that_only_one_set_has_are_looked_at(
    first, second, expected, monkeypatch
) -> None:
    seen = []
    inner = type(MECHANISM.inner)
    monkeypatch.setattr(inner, "supports", lambda self, columns, codes: seen.append(codes.tolist()))
    MECHANISM.outcomes(MECHANISM.randomise([["a"]]), first, second)
    assert seen == [MECHANISM.inner.domain.encode(expected).tolist()]


@pytest.mark.parametrize(("size", "most"), [(3, 3), (5, 3), (3, 1)])
def test_by_default_sets_are_compared_that_differ_in_everything(size, most) -> None:
    options = sv.Options("uses", [f"option {k}" for k in range(size)], most=most)
    (finding,) = sv.audit(sv.ChooseAll(options, epsilon=2.0))
    assert finding.epsilon > 1.7
    assert not finding.broken
