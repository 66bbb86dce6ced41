"""Domains, attributes and schemas."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import GRR, Attribute, Domain, Options, Piecewise, Range, Schema
from sottovoce.domain.text import Text
from sottovoce.errors import AnswerError, ParameterError

LABELS = st.lists(st.one_of(st.text(), st.integers()), min_size=2, max_size=8, unique=True)


def test_a_number_means_that_many_values() -> None:
    domain = Domain(3)
    assert list(domain.labels) == [0, 1, 2]
    assert domain.size == 3
    assert domain == Domain([0, 1, 2]) == Domain(range(3)) == Domain(np.int64(3))
    assert domain.canonical() == Domain([0, 1, 2]).canonical()


@pytest.mark.parametrize("values", [["x", "y"], ("[1, 2)",), 2, np.array(["x", "y"])], ids=str)
def test_values_beside_edges_are_refused_and_not_dropped(values) -> None:
    for make in (Domain, lambda *given, **also: Attribute("a", *given, **also)):
        with pytest.raises(ParameterError, match="both given"):
            make(values, edges=[1, 2, 3])


def test_bins_can_be_copied_with_a_change() -> None:
    changed = replace(Attribute.bins("a", [1, 2, 3]), missing="value")
    assert changed == Attribute.bins("a", [1, 2, 3], missing="value")


def test_order_matters() -> None:
    assert Domain([1, 0]) != Domain([0, 1])
    assert Domain(["a", "b"]) != Domain(["b", "a"])


def test_numpy_labels_become_plain_ones() -> None:
    labels = Domain(np.array(["x", "y"])).labels
    assert labels == ("x", "y")
    assert all(type(label) is str for label in labels)
    assert all(type(label) is int for label in Domain(np.array([5, 7])).labels)


def test_booleans_are_said_to_count_as_numbers() -> None:
    with pytest.raises(ParameterError, match="True and False count as 1 and 0"):
        Domain([True, False])
    assert Domain([1, 0]).encode([True, False]).tolist() == [0, 1]
    with pytest.raises(AnswerError, match="'True' is text, and the answer is True or False"):
        Domain(["True", "False"]).encode([True, False])


def test_text_and_numbers_are_different_values() -> None:
    domain = Domain(["1", 1])
    assert domain.encode([1, "1"]).tolist() == [1, 0]


def test_no_answer_is_the_last_value() -> None:
    domain = Domain(["a", "b"], missing="value")
    assert domain.labels == ("a", "b", "no answer")
    assert domain.size == 3
    with pytest.raises(ParameterError, match="no answer"):
        Domain(["a", "no answer"], missing="value")
    assert Domain(["a", "no answer"]).size == 2


def test_one_value_and_no_answer_are_two() -> None:
    assert Domain(["yes"], missing="value").size == 2


def test_a_huge_domain_costs_nothing() -> None:
    domain = Domain(1 << 31)
    assert domain.size == 1 << 31
    assert domain.labels[-1] == (1 << 31) - 1
    with pytest.raises(ParameterError, match="2147483649"):
        Domain((1 << 31) + 1)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["a", "a"], "'a'"),
        ([1, 2, 1, 2], "1, 2"),
        ([1, True], "True"),
        ([0.5, 1.5], "0.5"),
        ([None, "a"], "None"),
        ("yes", "'yes'"),
        (1, "1 value"),
        (0, "0 value"),
        (["one"], "1 value"),
        ({"b", "a"}, "list"),
        (None, "None"),
    ],
)
def test_errors_say_what_was_given(given: object, says: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Domain(given)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["", "  ", None, 3, b"x"])
def test_an_attribute_needs_a_name(name: object) -> None:
    with pytest.raises(ParameterError, match="name"):
        Attribute(name, 3)


def test_a_name_is_part_of_the_contract() -> None:
    digests = {
        GRR(d, epsilon=1.0).digest for d in (Domain(3), Attribute("a", 3), Attribute("b", 3))
    }
    assert len(digests) == 3


def test_domains_cannot_be_changed() -> None:
    domain = Domain(["a", "b"])
    with pytest.raises(AttributeError):
        domain.missing = "value"


@given(LABELS, st.sampled_from(["refuse", "public"]))
def test_any_labels_can_be_stored_and_compared(labels: list, missing: str) -> None:
    domain = Domain(labels, missing=missing)
    for other in (pickle.loads(pickle.dumps(domain)), copy.deepcopy(domain)):
        assert other == domain
        assert hash(other) == hash(domain)
        assert other.canonical() == domain.canonical()
    assert domain.decode(domain.encode(labels)) == labels


@given(LABELS, LABELS)
def test_digests_differ_exactly_when_domains_do(a: list, b: list) -> None:
    first, second = GRR(Domain(a), epsilon=1.0), GRR(Domain(b), epsilon=1.0)
    assert (first.digest == second.digest) == (first.domain == second.domain)


def test_half_a_character_is_refused_before_it_reaches_a_file() -> None:
    with pytest.raises(ParameterError, match="an incomplete character"):
        _ = GRR(["\ud800", "b"], epsilon=1.0).digest


class TestSchema:
    schema = Schema([Attribute("a", 2), Attribute("b", ["x", "y"])])

    def test_attributes_are_found_by_name(self) -> None:
        assert len(self.schema) == 2
        assert [attribute.name for attribute in self.schema] == ["a", "b"]
        assert self.schema["b"].labels == ("x", "y")

    def test_an_unknown_name_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(ParameterError, match=r"'c'.*'a', 'b'"):
            self.schema["c"]

    def test_names_differ(self) -> None:
        with pytest.raises(ParameterError, match="'a'"):
            Schema([Attribute("a", 2), Attribute("a", 3)])

    def test_at_least_one(self) -> None:
        with pytest.raises(ParameterError, match="at least one"):
            Schema([])


class TestInfer:
    def test_values_are_sorted_numbers_first(self) -> None:
        inferred = Domain.infer([3, "b", 1, "a", None, 3], public_data=True)
        assert inferred.labels == (1, 3, "a", "b")

    def test_measurements_are_refused(self) -> None:
        with pytest.raises(ParameterError, match="bins"):
            Domain.infer([0.5, 1.5], public_data=True)

    def test_one_value_is_too_few(self) -> None:
        with pytest.raises(ParameterError, match="1 value"):
            Domain.infer(["a", "a"], public_data=True)


@pytest.mark.parametrize(
    ("domain", "answers"),
    [
        (Domain(["a", "b"], missing="public"), ["a", "b", "a"]),
        (Domain(3, missing="public"), [0, 1, 0]),
        (Domain([1, 2], missing="public"), [1, 2, 1]),
        (Attribute.bins("age", [0, 18, 65], missing="public"), [3.0, 20.0, 3.0]),
        (Range("age", 0, 65, missing="public"), [3.0, 20.0, 3.0]),
        (Options("tools", ["a", "b"], most=1, missing="public"), ["a", "b", "a"]),
    ],
    ids=["text", "0..d-1", "numbers", "bins", "range", "options"],
)
def test_what_is_below_the_mask_of_an_array_is_no_answer(
    domain: Domain, answers: list[object]
) -> None:
    masked = np.ma.array(answers, mask=[False, True, False])
    coded = domain.coded(masked)
    assert coded.present is not None
    assert coded.present.tolist() == [True, False, True]
    assert len(coded) == 2


@pytest.mark.parametrize("values", [["a", "b"], [1, 2], 3], ids=str)
def test_a_masked_answer_is_refused_as_missing(values) -> None:
    answers = np.ma.array(["a", "b"] if values == ["a", "b"] else [1, 2], mask=[False, True])
    with pytest.raises(AnswerError, match="1 of 2 answers are missing"):
        Domain(values).coded(answers)


def test_mechanisms_refuse_what_is_masked() -> None:
    masked = np.ma.array([1, 2], mask=[False, True])
    with pytest.raises(AnswerError, match="missing"):
        GRR(3, epsilon=1.0).randomise(masked)
    with pytest.raises(AnswerError, match="missing"):
        Piecewise((0, 5), epsilon=1.0).randomise(masked.astype(float))
    with pytest.raises(AnswerError, match="missing"):
        Text("word", "ab", length=1).coded(np.ma.array(["a", "b"], mask=[False, True]))
    assert len(GRR(3, epsilon=1.0).randomise(masked[:1])) == 1
