"""Every registered mechanism, every wrapper of it and records keep every law that applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from sottovoce import Mechanism
from sottovoce.contract.collection import Collection
from sottovoce.errors import ParameterError
from sottovoce.mechanisms import REGISTRY, by_id

from . import estimates, laws  # noqa: F401, they enter the laws
from .entries import CATEGORICAL, ENTRIES, MECHANISMS, NUMERIC, example, name
from .law import LAWS, Law
from .subjects import RECORDS, SUBJECTS, TEXTS, WRAPPER_SUBJECTS, Subject

BAD_EPSILONS = [
    0,
    0.0,
    -1,
    -1e-9,
    float("nan"),
    float("inf"),
    float("-inf"),
    20.000001,
    21,
    10**400,
    True,
    False,
    "1",
    None,
    [1.0],
    1 + 0j,
]
BAD_DOMAINS = [
    0,
    1,
    -5,
    [],
    ["one"],
    ["a", "a"],
    [1, 2, 1],
    "text",
    b"bytes",
    None,
    1.5,
    [0.5, 1.5],
    [None, "a"],
    [True, False],
    True,
    [["a"], ["b"]],
    {"a", "b"},
    {"a": 1, "b": 2},
    (1 << 31) + 1,
]

BAD_RANGES = [
    5,
    "ab",
    (1, 1),
    (2, 1),
    (0, float("inf")),
    (float("nan"), 1),
    (0, 1, 2),
    (0,),
    (),
    ("a", "b"),
    (None, 1),
    None,
    1.5,
    {0, 1},
]


def short(given: object) -> str:
    """A name for a test: the same in every run, whatever the order of a set."""
    return type(given).__name__ if isinstance(given, set) else repr(given)[:20]


def test_every_registered_mechanism_has_an_entry() -> None:
    assert {entry.kind.id: entry.kind for entry in ENTRIES} == REGISTRY
    assert all(by_id(entry.kind.id) is entry.kind for entry in ENTRIES)


CASES = [
    pytest.param(law, subject, id=f"{law.name}-{subject}")
    for law in LAWS.values()
    for subject in SUBJECTS
    if law.applies(*subject)
]


@pytest.mark.parametrize(("law", "subject"), CASES)
def test_law(law: Law, subject: Subject) -> None:
    law(*subject)


def test_every_law_applies_to_something_and_every_subject_has_laws() -> None:
    assert {case.values[0].name for case in CASES} == set(LAWS)
    assert {id(case.values[1]) for case in CASES} == set(map(id, SUBJECTS))


def test_every_registered_kind_is_wrapped_both_ways() -> None:
    ways = [subject.way for subject in WRAPPER_SUBJECTS]
    assert {way.mechanism.id for way in ways if way.level is not None} == set(REGISTRY)
    assert {way.mechanism.id for way in ways if way.rate < 1} == set(REGISTRY)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=name)
def test_tiny_is_the_same_mechanism_in_small(mechanism: Mechanism) -> None:
    tiny = mechanism.tiny()
    assert type(tiny) is type(mechanism)
    assert tiny.epsilon == mechanism.epsilon
    assert len(tiny.channel().inputs) <= 4
    assert len(tiny.every_report()) <= 4096
    if mechanism.id in CATEGORICAL:
        assert tiny.domain.size == min(4, mechanism.domain.size)
    else:
        assert tiny.domain == mechanism.domain


COLLECTIONS = [
    *(pytest.param(mechanism, id=name(mechanism)) for mechanism in MECHANISMS),
    *(pytest.param(records, id=f"records-{records.words}") for records in RECORDS),
    *(pytest.param(texts, id=f"{texts.mechanism}-{texts.words}") for texts in TEXTS),
]


def menu(collection: Collection) -> dict[str, tuple[str, ...]]:
    """What everyone chooses from, where there is something to choose."""
    return {"level": collection.level_names} if collection.level_names else {}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_decoding_inverts_encoding(collection: Collection) -> None:
    laws.decoding_inverts_encoding(collection, (0, 1, 2, 7, 1001), **menu(collection))


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_parquet_inverts_too(collection: Collection, tmp_path: Path) -> None:
    laws.parquet_inverts_too(collection, (0, 1, 2, 1001), tmp_path, **menu(collection))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind.id)
def test_parquet_of_more_rows_than_one_batch(entry, tmp_path: Path) -> None:
    laws.parquet_inverts_too(example(entry.kind, size=300), (70_001,), tmp_path)


@pytest.mark.parametrize("epsilon", BAD_EPSILONS, ids=short)
@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_a_bad_epsilon_is_refused(kind: type[Mechanism], epsilon: object) -> None:
    with pytest.raises(ParameterError, match=r"epsilon is .*20"):
        example(kind, epsilon)


@pytest.mark.parametrize("domain", BAD_DOMAINS, ids=short)
@pytest.mark.parametrize("kind", CATEGORICAL.values(), ids=CATEGORICAL)
def test_a_bad_domain_is_refused(kind: type[Mechanism], domain: object) -> None:
    with pytest.raises(ParameterError):
        kind(domain, epsilon=1.0)


@pytest.mark.parametrize("bounds", BAD_RANGES, ids=short)
@pytest.mark.parametrize("kind", NUMERIC.values(), ids=NUMERIC)
def test_bad_bounds_are_refused(kind: type[Mechanism], bounds: object) -> None:
    with pytest.raises(ParameterError, match="bounds"):
        kind(bounds, epsilon=1.0)


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_an_epsilon_that_carries_no_information_is_refused(kind: type[Mechanism]) -> None:
    for epsilon in (1e-40, 5e-324):
        with pytest.raises(ParameterError, match="would carry no information"):
            example(kind, epsilon)


@pytest.mark.parametrize("kind", CATEGORICAL.values(), ids=CATEGORICAL)
def test_a_channel_too_large_to_write_down_is_refused(kind: type[Mechanism]) -> None:
    large = kind(5000, epsilon=1.0)
    for ask in (large.channel, large.every_report):
        with pytest.raises(ParameterError, match="tiny"):
            ask()


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"'laplace'.*'grr'.*'oue'"):
        by_id("laplace")
