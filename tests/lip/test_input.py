"""What people write: priors of every shape, what is refused, what is said, and what is stored."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from sottovoce import LIP, Attribute, Domain, Range, Study
from sottovoce.errors import ParameterError, StudyError
from sottovoce.mechanisms.lip import VARIANTS
from sottovoce.promise import WHO_ANSWERED

GOOD = {
    "mapping": {"prior": {"infected": 0.1, "not": 0.9}},
    "list": {"prior": [0.1, 0.9]},
    "tuple": {"prior": (0.1, 0.9)},
    "array": {"prior": np.array([0.1, 0.9])},
    "series": {"prior": pd.Series([0.1, 0.9])},
    "generator": {"prior": (p for p in (0.1, 0.9))},
    "number": {"prior": 0.1},
    "numpy number": {"prior": np.float64(0.1)},
    "array of one number": {"prior": np.array(0.1)},
    "fraction": {"prior": Fraction(1, 10)},
}


@pytest.mark.parametrize("known", GOOD.values(), ids=GOOD.keys())
def test_a_prior_may_be_written_in_many_ways(known: dict) -> None:
    mechanism = LIP(**known, epsilon=1.0)
    assert mechanism.prior == pytest.approx((0.1, 0.9))
    assert [round(p.epsilon, 3) for p in mechanism.guarantee.promises] == [1.0, 1.212]


def test_labels_come_from_the_prior_or_the_values() -> None:
    assert LIP(prior={"a": 0.5, "b": 0.5}, epsilon=1).domain.labels == ("a", "b")
    assert LIP(prior=0.1, epsilon=1).domain.labels == ("yes", "no")
    assert list(LIP(prior=[0.2, 0.3, 0.5], epsilon=1).domain.labels) == [0, 1, 2]
    turned = LIP(["b", "a"], prior={"a": 0.1, "b": 0.9}, epsilon=1)
    assert turned.prior == (0.9, 0.1)
    assert LIP(["ill", "well"], prior=0.1, epsilon=1).prior == pytest.approx((0.1, 0.9))
    assert LIP(prior={1: 0.5, 2: 0.5}, epsilon=1).domain.labels == (1, 2)


def test_missing_answers() -> None:
    value = Domain(["a", "b"], missing="value")
    mechanism = LIP(value, prior={"a": 0.5, "b": 0.4, "no answer": 0.1}, epsilon=1.0)
    assert len(mechanism.randomise(["a", None, "b"])) == 3
    assert "'no answer' with 0.1" in " ".join(str(mechanism.guarantee).split())
    with pytest.raises(ParameterError, match="no answer"):
        LIP(value, prior={"a": 0.5, "b": 0.5}, epsilon=1.0)
    public = LIP(Domain(["a", "b"], missing="public"), prior=[0.5, 0.5], epsilon=1.0)
    assert len(public.randomise(["a", None, "b"])) == 2
    assert all(WHO_ANSWERED in promise.assuming for promise in public.guarantee.promises)


BAD = {
    "not summing to one": ({"prior": [0.5, 0.4]}, "sum to 0.9"),
    "negative": ({"prior": [1.5, -0.5]}, "at least 0"),
    "nan": ({"prior": [0.5, math.nan]}, "finite"),
    "infinite": ({"prior": math.inf}, "finite"),
    "huge": ({"prior": [10**400, 1]}, "finite"),
    "above one": ({"prior": 1.1}, "from 0 to 1"),
    "below zero": ({"prior": -0.1}, "from 0 to 1"),
    "text": ({"prior": "0.5"}, "one per value"),
    "bytes": ({"prior": b"ab"}, "one per value"),
    "texts": ({"prior": ["0.5", "0.5"]}, "one per value"),
    "bool": ({"prior": True}, "one per value"),
    "bools": ({"prior": [True, False]}, "one per value"),
    "complex": ({"prior": 1 + 0j}, "one per value"),
    "set": ({"prior": {0.4, 0.6}}, "one per value"),
    "nested": ({"prior": [[0.5, 0.5]]}, "one per value"),
    "none inside": ({"prior": [None, 1]}, "one per value"),
    "object": ({"prior": object()}, "one per value"),
    "wrong length": ({"domain": 3, "prior": [0.5, 0.5]}, "2 numbers; there are 3 values"),
    "one number for three values": ({"domain": 3, "prior": 0.5}, "there are 3 values"),
    "unknown label": ({"domain": ["a", "b"], "prior": {"a": 0.5, "c": 0.5}}, r"\['b', 'c'\]"),
    "one value": ({"prior": [1.0]}, "1 value"),
    "nothing": ({}, "give the values"),
    "half a box": ({"prior_low": [0.1, 0.1]}, "are needed together"),
    "the other half": ({"prior_high": [0.1, 0.1]}, "are needed together"),
    "prior and box": ({"prior": 0.5, "prior_low": [0, 0], "prior_high": [1, 1]}, "not both"),
    "empty box": ({"prior_low": [0.6, 0.6], "prior_high": [0.9, 0.9]}, "no distribution"),
    "box too low": ({"prior_low": [0, 0], "prior_high": [0.4, 0.4]}, "no distribution"),
    "box upside down": (
        {"prior_low": [0.5, 0.1], "prior_high": [0.4, 0.9]},
        "between 0 and its high",
    ),
    "box with nan": ({"prior_low": [math.nan, 0.2], "prior_high": [0.5, 0.9]}, "prior_low is"),
    "box of text": ({"prior_low": "ab", "prior_high": "cd"}, "prior_low is 'ab'"),
    "box of other labels": (
        {"prior_low": {"a": 0.1, "b": 0.2}, "prior_high": {"a": 0.9, "c": 0.8}},
        "prior_high must name every value",
    ),
    "unknown variant": ({"prior": 0.5, "variant": "best"}, "no variant 'best'"),
    "variant that is no text": ({"prior": 0.5, "variant": ["optimal"]}, "no variant"),
    "symmetric for three": ({"prior": [0.2, 0.3, 0.5], "variant": "symmetric"}, "two values"),
    "numbers": ({"domain": Range("age", 0, 120)}, "a set of values"),
    "too many for corners": ({"prior": [1 / 13] * 13, "variant": "mmse-optimal"}, "at most 12"),
    "too many for designs": ({"prior": [1 / 9] * 9, "variant": "a-optimal"}, "at most 8"),
}


@pytest.mark.parametrize(("given", "says"), BAD.values(), ids=BAD.keys())
def test_what_is_no_prior_is_refused_in_plain_words(given: dict, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        LIP(**given, epsilon=1.0)


@pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if v not in ("optimal", "context-free-ldp")]
)
def test_a_variant_that_needs_the_prior_itself_says_so(variant: str) -> None:
    for known in ({"domain": 2}, {"prior_low": [0.1, 0.1], "prior_high": [0.9, 0.9]}):
        with pytest.raises(ParameterError, match="needs the prior itself"):
            LIP(**known, epsilon=1.0, variant=variant)


# --- what is said -------------------------------------------------------------------------------


def flat(mechanism: LIP) -> str:
    return " ".join(str(mechanism.guarantee).split())


def test_the_words_of_the_promise() -> None:
    words = flat(LIP(prior={"infected": 0.1, "not": 0.9}, epsilon=1.0))
    for part in (
        "epsilon = 1: localised information privacy",
        "any answer stays between 1/2.72 and 2.72 times as likely as before",
        "'infected' with probability 0.1, 'not' with 0.9",
        "only the promise without a prior holds",
        "not learned from these answers",
        "epsilon = 1.21186: local differential privacy",
    ):
        assert part in words
    box = flat(LIP(prior_low=0.05, prior_high=0.2, epsilon=1.0))
    assert "'yes' with probability 0.05 to 0.2, 'no' with 0.8 to 0.95" in box
    many = flat(LIP(prior=[0.1] * 10, epsilon=1.0))
    assert "'5' with 0.1, … (4 more)" in many
    assert "localised" not in flat(LIP(4, epsilon=1.0))


def test_words_never_promise_more_than_the_number() -> None:
    mechanism = LIP(prior=0.1, epsilon=1.5)
    assert "between 1/4.49 and 4.49 times" in flat(mechanism)  # 4.4817


# --- what is stored -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "known",
    [{}, {"prior": [0.1, 0.2, 0.7]}, {"prior": {"a": 0.1, "b": 0.2, "c": 0.7}},
     {"prior": [1 / 3, 1 / 3, 1 / 3], "variant": "a-optimal"},
     {"prior_low": [0.0, 0.1, 0.2], "prior_high": [1.0, 0.5, 0.9]},
     {"prior": [0, 0, 1], "variant": "context-free-ldp"}],
    ids=str,
)  # fmt: skip
def test_a_study_comes_back_the_same(known: dict) -> None:
    mechanism = LIP(Attribute("q", ["a", "b", "c"]), epsilon=1, **known)
    study = Study("A study", (mechanism,))
    again = Study.from_toml(study.to_toml())
    assert again == study
    assert again.digest == study.digest
    assert again.to_toml() == study.to_toml()
    collection = again.mechanism("q")
    assert collection.matrix == pytest.approx(mechanism.matrix, abs=0)
    reports = collection.randomise(["a", "b", "c"] * 10)
    assert collection.aggregate(reports).reports == 30


def test_a_study_may_be_written_by_hand() -> None:
    head = 'format = 1\ntitle = "T"\n[[question]]\nname = "ill"\nmechanism = "lip"\nepsilon = 1\n'
    number = Study.from_toml(head + 'values = ["yes", "no"]\nprior = 0.1\n')
    listed = Study.from_toml(head + 'values = ["yes", "no"]\nprior = [0.1, 0.9]\n')
    named = Study.from_toml(head + 'values = ["yes", "no"]\nprior = {no = 0.9, yes = 0.1}\n')
    assert number.digest == listed.digest == named.digest
    with pytest.raises(StudyError, match=r"'ill'.*sum to 0.5"):
        Study.from_toml(head + 'values = ["yes", "no"]\nprior = [0.1, 0.4]\n')


def test_digests_are_stable_and_tell_priors_apart() -> None:
    same = [
        LIP(2, epsilon=1, prior=p) for p in ([0.25, 0.75], (0.25, 0.75), 0.25, np.float32(0.25))
    ]
    assert len({mechanism.digest for mechanism in same}) == 1
    assert same[0].digest.hex().startswith("24976f977c9511c8")
    other = [
        LIP(2, epsilon=1, prior=0.26),
        LIP(2, epsilon=1, prior=0.25, variant="symmetric"),
        LIP(2, epsilon=1, prior_low=[0.25, 0.75], prior_high=[0.25, 0.75]),
        LIP(2, epsilon=1),
    ]
    assert len({mechanism.digest for mechanism in (same[0], *other)}) == 5


def test_a_channel_found_otherwise_is_refused() -> None:
    # Optimisers change from release to release; a report must never be read by another channel.
    mechanism = LIP(prior=[0.5, 0.3, 0.2], epsilon=1.0, variant="a-optimal")
    mark = mechanism.parameters["fingerprint"]
    assert LIP(**mechanism.parameters) == mechanism
    assert LIP(prior=[0.5, 0.3, 0.2], epsilon=1.0).fingerprint is None
    with pytest.raises(ParameterError, match="another channel"):
        LIP(**{**mechanism.parameters, "fingerprint": mark[::-1]})
    with pytest.raises(ParameterError, match="another channel"):
        LIP(prior=[0.5, 0.3, 0.2], epsilon=1.0, fingerprint=mark)


def test_a_mechanism_is_a_value() -> None:
    a, b = (LIP(prior=[0.2, 0.8], epsilon=1.0) for _ in range(2))
    assert a == b
    assert hash(a) == hash(b)
    assert a != LIP(prior=[0.3, 0.7], epsilon=1.0)
    assert a.bind(bytes(32)).matrix == pytest.approx(a.matrix)


def test_of_many_values_the_first_few_make_the_tiny_one() -> None:
    tiny = LIP(prior=[0.0, 0.0, 0.0, 0.0, 0.5, 0.5], epsilon=1.0).tiny()
    assert tiny.prior == (0.25,) * 4
    tiny = LIP(prior=[0.1, 0.1, 0.2, 0.1, 0.25, 0.25], epsilon=1.0).tiny()
    assert tiny.prior == pytest.approx((0.2, 0.2, 0.4, 0.2))
    box = LIP(prior_low=[0.1] * 6, prior_high=[0.2] * 6, epsilon=1.0).tiny()
    assert sum(box.prior_high) >= 1
    assert box.domain.size == 4
