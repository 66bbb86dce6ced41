"""Guarantees as data: they travel whole, and malformed ones are refused."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import Guarantee, Promise
from sottovoce.errors import GuaranteeError
from sottovoce.promise import DP, LDP, Against, Neighbours, Notion, Protected, Unit

from .guarantees import NAMES, lip, one

UNITS = st.one_of(
    st.builds(Unit, level=NAMES, group=NAMES, attribute=NAMES),
    st.builds(
        Unit,
        st.just(Protected.RECORD),
        NAMES,
        NAMES,
        answers=st.none() | st.integers(min_value=1, max_value=2**40),
    ),
    st.builds(Unit, st.sampled_from(Protected)),
)
PROMISES = st.builds(
    Promise,
    st.sampled_from([LDP, DP]),
    st.floats(min_value=0),
    st.floats(0, 1),
    st.sampled_from([n for n in Neighbours if n is not Neighbours.BELIEFS]),
    UNITS,
    st.sampled_from(Against),
    st.lists(st.text(max_size=9), max_size=3).map(tuple),
) | st.builds(lip, st.floats(min_value=0), unit=UNITS)


@given(st.lists(PROMISES, max_size=4, unique_by=lambda p: p.subject), st.text(max_size=9))
def test_guarantees_travel_as_json_and_pickle(promises: list[Promise], reason: str) -> None:
    guarantee = Guarantee(tuple(promises), reason)
    data = json.loads(json.dumps(guarantee.as_dict(), allow_nan=False))
    assert Guarantee.from_dict(data) == guarantee
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee
    # Words decide nothing: they may be missing, or say anything.
    del data["words"]
    for promise in data["promises"]:
        promise["words"] = "No privacy at all."
    assert Guarantee.from_dict(data) == guarantee
    assert Guarantee.from_dict(data).as_dict() == guarantee.as_dict()


def test_codes_are_stable() -> None:
    codes = {kind.__name__: [k.value for k in kind] for kind in (Notion, Neighbours, Against)}
    assert codes == {
        "Notion": ["ldp", "dp", "lip"],
        "Neighbours": ["substitution", "add-remove", "beliefs", "unstated"],
        "Against": [
            *("reports", "shuffled-reports", "result", "aggregator", "s1", "s2"),
            *("senders-and-result", "helpers", "coalition", "curator-and-parties"),
        ],
    }
    assert [unit.value for unit in Protected] == [
        "answer",
        "record",
        "study",
        "contribution",
        "participation",
        "party-record",
    ]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("notion",), "local differential privacy"),
        (("notion",), None),
        (("notion",), ["ldp"]),
        (("neighbours",), "BELIEFS"),
        (("neighbours",), "beliefs"),
        (("against",), "whoever sees the report"),
        (("unit",), "one answer of one person"),
        (("unit", "protects"), "everything"),
        (("unit", "level"), 3),
        (("unit", "answers"), 3),
        (("unit", "more"), None),
        (("epsilon",), math.nan),
        (("epsilon",), math.inf),
        (("epsilon",), -1.0),
        (("epsilon",), "1"),
        (("epsilon",), True),
        (("epsilon",), None),
        (("epsilon",), [1.0]),
        (("delta",), -0.1),
        (("delta",), 1.5),
        (("delta",), math.nan),
        (("delta",), "infinite"),
        (("assuming",), "a sentence"),
        (("assuming",), [1]),
        (("more",), 1),
    ],
    ids=str,
)
def test_malformed_data_is_refused(path: tuple[str, ...], value: object) -> None:
    data = one(1.0).as_dict()
    place = data["promises"][0]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(GuaranteeError):
        Guarantee.from_dict(data)


@pytest.mark.parametrize("name", one(1.0).promises[0].as_dict())
def test_only_words_may_be_missing(name: str) -> None:
    data = one(1.0).promises[0].as_dict()
    del data[name]
    if name == "words":
        assert Promise.from_dict(data) == one(1.0).promises[0]
        return
    with pytest.raises(GuaranteeError, match=name):
        Promise.from_dict(data)


def test_data_that_is_no_guarantee_is_refused() -> None:
    good = one(1.0).as_dict()
    promise = good["promises"][0]
    for wrong in (None, [], "x", {}, good | {"more": 1}, good | {"reason": None},
                  good | {"promises": {}}, good | {"promises": [promise, promise]},
                  good | {"promises": [None]}):  # fmt: skip
        with pytest.raises(GuaranteeError):
            Guarantee.from_dict(wrong)


@pytest.mark.parametrize(
    ("answers", "line", "words"),
    [
        (1, "the one reported answer of a person", "the one reported answer of one person"),
        (2, "both reported answers of a person together", "both reported answers of one person, t"),
        (
            3,
            "all 3 reported answers of a person together",
            "all 3 reported answers of one person, ",
        ),
    ],
)
def test_how_many_answers_are_protected_in_words(answers: int, line: str, words: str) -> None:
    promise = Promise(LDP, 1.0, unit=Unit(Protected.RECORD, answers=answers))
    assert f"ε = 1 for {line}, against" in Guarantee((promise,)).line()
    assert str(promise.unit).startswith(words)


@given(st.fractions(min_value=0, max_value=20), st.fractions(min_value=0, max_value=1))
def test_exact_numbers_are_rounded_up(epsilon: Fraction, delta: Fraction) -> None:
    promise = Promise(DP, epsilon, delta)  # type: ignore[arg-type]
    assert Fraction(promise.epsilon) >= epsilon
    assert Fraction(promise.delta) >= delta
