"""Collections of records: who reports what, with which allocation, and the truth behind it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import EstimateError
from sottovoce.reproduce import Data

from .people import people_of

Floats = NDArray[np.float64]


class Collection:
    """Reports of everyone in a data set.

    Parameters
    ----------
    name : str
        Of the data set.
    attributes : int
        How many of its attributes are asked for.
    report : int
        How many of them everyone reports, at random; 0: between one and all, at random. If all
        are reported, epsilon is divided equally as in LoPub, otherwise at random.
    epsilon : float
        ε_average.
    """

    def __init__(
        self, data: Data, name: str, attributes: int, report: int, epsilon: float, seed: int
    ) -> None:
        public, table = people_of(name, data)
        self.report = report
        self.records = sv.Records(public[:attributes], epsilon_average=epsilon)
        columns = {one.name: table[one.name] for one in public[:attributes]}
        rng = np.random.default_rng(seed)
        people = len(next(iter(columns.values())))
        many = rng.integers(1, attributes + 1, people) if report == 0 else np.full(people, report)
        order = rng.random((people, attributes)).argsort(axis=1).argsort(axis=1)
        allocation = "equal" if report == attributes else "random"
        with testing.seeded(seed) as source:
            reports = self.records.randomise(
                columns, allocation=allocation, reported=order < many[:, None], source=source
            )
            self.aggregate = self.records.aggregate(reports)
        codes = [one.encode(columns[one.name]) for one in public[:attributes]]
        self.truth = np.zeros([one.size for one in public[:attributes]])
        np.add.at(self.truth, tuple(codes), 1 / people)

    def estimate(self, names: Sequence[str], method: str) -> Floats:
        """A table by one method; "pldp" is what the paper does, and "eq-16" its (16) alone.

        Reports are seeded, so it works only inside `testing.seeded`.
        """
        if method == "eq-16":
            return self.records.marginal(self.aggregate, names, method="published").values
        if method == "pldp":
            return self._published(list(names))
        return self._table(names, method)

    def _table(self, names: Sequence[str], method: str) -> Floats:
        return self.records.joint(self.aggregate, list(names), method=method).table

    def _published(self, names: list[str]) -> Floats:
        """Situation 1: LASSO. Situation 2, where nobody reports all of them: Algorithm 2."""
        if self.report == 0 or self.report >= len(names):
            return self._table(names, "lasso")
        for small in range(1, len(names) // 2 + 1):
            divisions = [
                division
                for places in combinations(range(len(names)), small)
                if (division := self._division(names, places)) is not None
            ]
            if divisions:
                # Line 6 lacks a minus sign, so that the largest value is the least entropy.
                _, first, second, places = max(divisions, key=lambda division: division[0])
                return np.moveaxis(np.multiply.outer(first, second), range(-small, 0), places)
        raise EstimateError("no division has records that report either part")

    def _division(self, names: list[str], places: tuple[int, ...]) -> Any:
        """Σ p log p of both parts together, and their tables; None where nobody reports one."""
        second = [names[place] for place in places]
        first = [name for name in names if name not in second]
        if self.report < len(first):
            return None
        tables = [self._table(part, "lasso") for part in (first, second)]
        return sum(_information(table) for table in tables), *tables, places

    def distance(self, k: int, method: str) -> float:
        """The mean AVD of a method over all sets of k attributes."""
        names, axes = self.records.names, range(self.truth.ndim)
        gaps = []
        for chosen in combinations(axes, k):
            truth = self.truth.sum(axis=tuple(a for a in axes if a not in chosen))
            table = self.estimate([names[a] for a in chosen], method)
            gaps.append(float(np.abs(np.ravel(table) - truth.ravel()).sum() / 2))
        return float(np.mean(gaps))


def _information(table: Floats) -> float:
    """Σ p log p."""
    positive = table[table > 0]
    return float((positive * np.log(positive)).sum())


@lru_cache(maxsize=32)
def collected(
    data: Data, name: str, attributes: int, report: int, epsilon: float, seed: int
) -> Collection:
    """A collection, kept for the next points of the panel: the default fits it only once."""
    return Collection(data, name, attributes, report, epsilon, seed)
