"""What a run between parties opens, without its messages.

The study says which sums a method needs; the noise of all parties in a sum is drawn at once. Real
runs open sums of the same law (`tests/papers/` compares them), in a hundred times the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import sottovoce as sv

from .people import Integers


def budgets_of(least: float, groups: tuple[int, int, int]) -> tuple[Fraction, ...]:
    """ε_min, (1 + ε_min)/2 and 1, for so many parties each."""
    low = Fraction(str(least))
    levels = (low, (1 + low) / 2, Fraction(1))
    return tuple(level for level, many in zip(levels, groups, strict=True) for _ in range(many))


def by_party(values: Iterable[Any]) -> dict[str, Any]:
    """Something of each party, by its name."""
    return {f"P{k + 1}": value for k, value in enumerate(values)}


@cache
def rows_study(
    shape: tuple[int, ...], budgets: tuple[Fraction, ...], method: str, colluders: int = 0
) -> sv.parties.Horizontal:
    """A study over split rows; without colluders nobody knows any part of the noise."""
    schema = sv.Schema([sv.Attribute(f"A{a}", size) for a, size in enumerate(shape)])
    trust: dict[str, Any] = {"collusion": colluders} if colluders else {"noise": "oblivious"}
    names = [attribute.name for attribute in schema]
    return sv.parties.Horizontal(schema, names, by_party(budgets), method=method, **trust)


@cache
def columns_study(
    shape: tuple[int, ...], budgets: tuple[Fraction, ...], method: str, colluders: int = 0
) -> sv.parties.Vertical:
    """A study over split columns, one attribute of each party."""
    own = by_party(budgets)
    names = [f"A{a}" for a in range(len(shape))]
    schemas = {
        party: sv.Schema([sv.Attribute(name, size)])
        for party, name, size in zip(own, names, shape, strict=True)
    }
    trust: dict[str, Any] = {"collusion": colluders}
    if not colluders:
        trust = {"engine": "mpyc", "noise": "oblivious"}
    return sv.parties.Vertical(schemas, names, own, method=method, **trust)


def noise_of(release: Any, rng: np.random.Generator) -> Integers:
    """The noise of all parties in one opened sum: the difference of two negative binomials.

    A share has the shape 1/honest; `shares` of them are in the sum.
    """
    shape, p = release.shares / release.honest, -math.expm1(-1 / float(release.scale))
    one, other = rng.negative_binomial(shape, p, (2, release.cells))
    return one - other


def solve_rows(
    study: sv.parties.Horizontal, tables: Mapping[str, Integers], rng: np.random.Generator
) -> np.ndarray:
    """The method's table, from the sums that these local tables give."""
    rows = {party: int(table.sum()) for party, table in tables.items()}
    (design,), (releases,) = study.designs(rows), study.releases(rows)
    sums = []
    for release in releases:
        kept = release.kept or {}
        parts = (
            weight * _sample(tables[party], kept.get(party, 1), rng)
            for party, weight in release.weights.items()
        )
        counts = _margin(sum(parts), design.shape, release.axes)
        sums.append(counts + noise_of(release, rng))
    return study.method.solve(design, sums).values


def solve_columns(
    study: sv.parties.Vertical, table: Integers, rng: np.random.Generator
) -> np.ndarray:
    """The method's table, from the sums that the joined rows give."""
    rows = dict.fromkeys(study.parties, int(table.sum()))
    (design,), (releases,) = study.designs(rows), study.releases(rows)
    sums = []
    for release in releases:
        # A row counts where every party kept it.
        kept = math.prod((release.kept or {"": Fraction(1)}).values())
        counts = _margin(_sample(table, kept, rng), design.shape, release.axes)
        sums.append(counts + noise_of(release, rng))
    return study.method.solve(design, sums).values


def _sample(counts: Integers, rate: Any, rng: np.random.Generator) -> Integers:
    """Every row kept with the same probability, independently."""
    return counts if rate == 1 else rng.binomial(counts, float(rate))


def _margin(counts: Integers, shape: tuple[int, ...], axes: tuple[int, ...]) -> Integers:
    others = tuple(a for a in range(len(shape)) if a not in axes)
    return counts.reshape(shape).sum(axis=others).reshape(-1)


def distance(values: np.ndarray, truth: np.ndarray) -> float:
    """Total variation distance of two tables."""
    return float(np.abs(np.ravel(values) - np.ravel(truth)).sum() / 2)
