"""Estimates of a collection as it stands, computed once for each state of the counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import combinations
from threading import Lock
from typing import Any, TypeVar

from ..contract.aggregate import Aggregate
from ..contract.collection import Collection
from ..errors import ParameterError, SottovoceError
from ..estimate.estimate import Estimate
from .collector import Collector

T = TypeVar("T")
_MOST_KEPT = 64


class Estimates:
    """What the counts say; one thread computes at a time."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._guard = Lock()
        self._kept: dict[tuple[Any, ...], tuple[Aggregate, Any]] = {}

    def any(self, collection: Collection) -> bool:
        """Whether there is anything to estimate from."""
        return self._collector.people(collection.name) > 0

    def marginal(self, collection: Collection, attribute: str = "") -> Estimate:
        """The estimate of a question, or of one attribute of records."""
        names = (attribute,) if attribute else ()

        def compute(counts: Aggregate) -> Estimate:
            result: Estimate = collection.marginal(counts, names, method=collection.shown_method)
            return result

        return self._remember(("marginal", attribute), collection, compute)

    def levels(self, collection: Collection) -> Mapping[str, Estimate]:
        """One estimate per level that somebody chose."""
        return self._remember(("levels",), collection, collection.estimates)

    def joint(self, collection: Collection, pair: tuple[str, str]) -> Any:
        """The table of two attributes of records."""

        def compute(counts: Aggregate) -> Any:
            return collection.joint(counts, pair, method="model-average")

        return self._remember(("joint", *pair), collection, compute)

    def turnout(self, collection: Collection) -> list[dict[str, Any]]:
        """How many people were asked and reported in each way to take part."""
        counts = self._collector.aggregate(collection.name)
        pairs = zip(collection.ways(), *collection.turnout(counts), strict=True)
        return [{**way.as_dict(), "asked": int(n), "reported": int(s)} for way, n, s in pairs]

    def _remember(
        self, what: tuple[str, ...], collection: Collection, compute: Callable[[Aggregate], T]
    ) -> T:
        counts = self._collector.aggregate(collection.name)
        key = (collection.name, *what)
        with self._guard:
            kept = self._kept.get(key)
            if kept is not None and kept[0] is counts:
                result: T = kept[1]
                return result
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the page says how wide the intervals are
                result = compute(counts)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = (counts, result)
            return result


def attributes_of(collection: Collection) -> tuple[str, ...]:
    """The attributes of records by name; one empty name for a question."""
    if not collection.allocations:
        return ("",)
    return tuple(attribute.name for attribute in collection.attributes)


def pairs_of(collection: Collection) -> list[tuple[str, str]]:
    """The pairs of attributes whose tables are not too large."""
    pairs = []
    for pair in combinations(attributes_of(collection), 2):
        try:
            collection.check_joint(pair, "model-average")
        except SottovoceError:
            continue
        pairs.append(pair)
    return pairs


def checked_attribute(collection: Collection, attribute: str) -> str:
    """The attribute that was asked for; records need one."""
    known = attributes_of(collection)
    if attribute not in known:
        raise ParameterError(
            f"there is no attribute {attribute!r}; "
            + (f"name one of {', '.join(map(repr, known))}" if known[0] else "leave it out")
        )
    return attribute


def more_people(estimate: Estimate, half: float = 0.01, confidence: float = 0.95) -> int | None:
    """How many people more would make the widest interval ± `half`; None where that has no sense.

    Widths fall with the root of the number of people: n · (width / wanted)² − n.
    """
    if not estimate.fractions or not estimate.n:
        return None
    low, high = estimate.interval(confidence)
    width = float((high - low).max()) / 2
    return max(0, round(estimate.n * ((width / half) ** 2 - 1)))
