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
        (["a"], ["a", "b"], (NOTHING_ELSE, "b")),
        (["a", "c"], ["b", "c"], ("a", "b")),
        ("c", [], ("c", NOTHING_ELSE)),
    ],
)
def test_the_option_that_only_one_set_has_is_looked_at(
    first, second, expected, monkeypatch
) -> None:
    seen = []
    inner = type(MECHANISM.inner)
    monkeypatch.setattr(inner, "outcomes", lambda self, reports, x, y: seen.append((x, y)))
    MECHANISM.outcomes(MECHANISM.randomise([["a"]]), first, second)
    assert seen == [expected]
