"""Estimates of a collection as it stands, computed once for each state of the counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import combinations
from threading import Lock
from typing import Any, TypeVar

from ..contract.aggregate import Aggregate
from ..contract.collection import Collection
from ..domain.candidates import values_in_text
from ..errors import EstimateError, ParameterError, SottovoceError
from ..estimate.estimate import Estimate
from ..heavy import HeavyHitters
from .collector import Collector
from .largest import Shown, largest, level_columns

S = TypeVar("S")
T = TypeVar("T")
Values = tuple[Any, ...]
_MOST_KEPT = 64
_MOST_VALUES = 1000
_MOST_TEXTS = 100_000  # reports of texts that are searched while somebody waits


class Estimates:
    """What the counts say; one thread computes at a time."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._guard = Lock()
        self._kept: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def any(self, collection: Collection) -> bool:
        """Whether there is anything to estimate from."""
        return self._collector.people(collection.name) > 0

    def by_values(self, collection: Collection) -> bool:
        """Whether only chosen values can be counted."""
        return collection.name in self._collector.uncounted

    def counts(self, collection: Collection, values: Values = ()) -> Aggregate:
        """The counts of all values, or of those that were chosen."""
        if not values:
            return self._collector.aggregate(collection.name)
        reports = self._collector.reports(collection.name)
        with self._guard:
            # Earlier reports are forgotten: each list of values would keep a copy of all of them.
            for key, (state, _) in list(self._kept.items()):
                if key[:2] == (collection.name, "counts") and state is not reports:
                    del self._kept[key]
        return self._remember(
            (collection.name, "counts", values),
            reports,
            lambda reports: collection.aggregate(reports, values=list(values)),
        )

    def marginal(
        self, collection: Collection, attribute: str = "", values: Values = ()
    ) -> Estimate:
        """The estimate of a question, or of one attribute of records."""
        state = self.counts(collection, values)
        if isinstance(collection, HeavyHitters) and state.reports > _MOST_TEXTS:
            raise EstimateError(
                f"frequent texts among more than {_MOST_TEXTS:,} reports are not searched here; "
                "download the counts (sottovoce pull --out counts.sva), then: sottovoce estimate "
                "counts.sva --study study.toml"
            )

        names = (attribute,) if attribute else ()
        result: Estimate = self._remember(
            (collection.name, "marginal", attribute),
            state,
            lambda counts: collection.marginal(counts, names, method=collection.shown_method),
        )
        return result

    def shown(self, collection: Collection, attribute: str = "", values: Values = ()) -> Shown:
        """What a page shows of this estimate."""
        result = self.marginal(collection, attribute, values)
        return self._remember((collection.name, "shown", attribute), result, largest)

    def found_from(self, texts: HeavyHitters, people: int) -> float:
        """The fraction from which a text is found with a probability of at least 95 %."""
        state = self.counts(texts)
        return self._remember((texts.name, "threshold"), state, lambda _: texts.threshold(people))

    def levels(self, collection: Collection, values: Values = ()) -> Mapping[str, Estimate]:
        """One estimate per level that somebody chose."""
        state = self.counts(collection, values)
        return self._remember((collection.name, "levels"), state, collection.estimates)

    def level_columns(
        self, collection: Collection, values: Values = ()
    ) -> tuple[list[Any], list[list[str]]]:
        """What a page shows of them."""
        levels = self.levels(collection, values)
        return self._remember((collection.name, "level columns"), levels, level_columns)

    def joint(self, collection: Collection, pair: tuple[str, str]) -> Any:
        """The table of two attributes of records."""
        return self._remember(
            (collection.name, "joint", *pair),
            self.counts(collection),
            lambda counts: collection.joint(counts, pair, method="model-average"),
        )

    def turnout(self, collection: Collection, values: Values = ()) -> list[dict[str, Any]]:
        """How many people were asked and reported in each way to take part."""
        counts = self.counts(collection, values)
        pairs = zip(collection.ways(), *collection.turnout(counts), strict=True)
        return [{**way.as_dict(), "asked": int(n), "reported": int(s)} for way, n, s in pairs]

    def _remember(self, key: tuple[Any, ...], state: S, compute: Callable[[S], T]) -> T:
        """What was computed from the very same state, or is now."""
        with self._guard:
            kept = self._kept.get(key)
            if kept is not None and kept[0] is state:
                result: T = kept[1]
                return result
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the page says how wide the intervals are
                result = compute(state)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = (state, result)
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


def values_of(collection: Collection, text: str) -> Values:
    """The values that an analyst chose, one on each line; refused where they are not answers."""
    lines = dict.fromkeys(line.strip() for line in text.splitlines())
    values = tuple(values_in_text(collection.attributes[0], filter(None, lines)))
    if len(values) > _MOST_VALUES:
        raise ParameterError(
            f"{len(values):,} values were chosen; at most {_MOST_VALUES:,} are counted here, and "
            "any number after a download (sottovoce pull --out reports.svr)"
        )
    if values:
        collection.positions(values)
    return values
