"""What the laws are tested on: every registered kind, wrappers of it, records and texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sottovoce import (
    GRR,
    OLH,
    OUE,
    Attribute,
    Duchi,
    HeavyHitters,
    Levels,
    Mechanism,
    Piecewise,
    Records,
    Sampled,
)
from sottovoce.contract.way import Way
from sottovoce.mechanisms import REGISTRY

from .entries import CATEGORICAL, EPSILONS, NUMERIC, PURE, TINY, name


class Subject(NamedTuple):
    """One public way to take part in a collection."""

    collection: Any
    way: Way

    def __str__(self) -> str:
        if self.collection.id in REGISTRY:
            return name(self.collection)
        own = [self.way.level, self.way.mechanism.id, f"{self.way.rate:g}"]
        return "-".join([self.collection.id, *(part for part in own if part is not None)])


def every_way(collection: Any) -> list[Subject]:
    return [Subject(collection, way) for way in collection.ways()]


def small(kind: type[Mechanism], epsilon: float = 1.0) -> Mechanism:
    """One of any registered kind whose channel is small enough to go through many times."""
    if kind is OLH:
        return OLH(2, epsilon=epsilon, word_bits=3)
    if kind.id in NUMERIC:
        return kind((-5.0, 10.0), epsilon=epsilon).tiny()
    return kind(3, epsilon=epsilon)


def menu_of(kind: type[Mechanism]) -> Levels:
    return Levels({"strong": small(kind, 0.5), "weak": small(kind, 1.0)})


def wrappers() -> Iterator[Mechanism]:
    """Menus and samples of every registered kind, and of several kinds side by side."""
    for kind in REGISTRY.values():
        yield menu_of(kind)
        yield from (Sampled(small(kind), rate=rate) for rate in (1, 0.5, 0.1))
    # Reports of different widths, kinds of columns and epsilons side by side.
    kinds = [kind for kind in CATEGORICAL.values() if kind is not OLH]
    yield Levels({kind.id: small(kind, 1.5) for kind in kinds})
    yield Levels({kind.id: small(kind) for kind in NUMERIC.values()})
    for kind in (GRR, OUE, Duchi):
        yield Sampled(small(kind), rate=[0.5, 0.1, 1])
        yield Sampled(small(kind), rate=[0, 0.25])
    for kind in (GRR, OUE, Piecewise):
        yield Sampled(menu_of(kind), rate=[0.2, 1])
    for kind in (GRR, Duchi):
        some = Sampled(small(kind, 0.5), rate=[0.5, 0.25])
        few = Sampled(small(kind, 1.0), rate=[0.1, 0.5, 0.2])
        yield Levels({"some": some, "few": few, "all": small(kind, 2.0)})


QUESTIONS = [Attribute("smokes", ["yes", "no"]), Attribute("age", 4)]
RECORDS = [
    Records(QUESTIONS, epsilon_average=2.0),
    Records(QUESTIONS, epsilon_average=2.0, public=True),
    Records(QUESTIONS, levels={"strong": 0.5, "weak": 2.0}, rate=0.5),
    Records(QUESTIONS, levels={"strong": 0.5, "weak": 2.0}, public=True),
]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXTS = [
    *(HeavyHitters(LETTERS, 12, epsilon) for epsilon in EPSILONS),
    *(HeavyHitters("ab", 3, 1.0, mechanism=by) for by in PURE if by != "olh"),
]
MECHANISM_SUBJECTS = [subject for mechanism in TINY for subject in every_way(mechanism)]
WRAPPER_SUBJECTS = [subject for wrapper in wrappers() for subject in every_way(wrapper)]
RECORD_SUBJECTS = [subject for records in RECORDS for subject in every_way(records)]
TEXT_SUBJECTS = [subject for texts in TEXTS for subject in every_way(texts.tiny())]
SUBJECTS = [*MECHANISM_SUBJECTS, *WRAPPER_SUBJECTS, *RECORD_SUBJECTS, *TEXT_SUBJECTS]
