"""Tables fitted to the tables of some of their attributes, and forests of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...estimate.intervals import Floats

Pair = tuple[int, int]
SWEEPS = 30
BALANCE = 10  # rounds that make a table agree with its attributes


def forest(gains: Mapping[Pair, float], axes: int) -> list[Pair]:
    """The edges with the greatest gains that form no cycle (Kruskal); none without a gain."""
    part = list(range(axes))
    edges = []
    for a, b in sorted(gains, key=lambda pair: -gains[pair]):
        if gains[a, b] > 0 and part[a] != part[b]:
            edges.append((a, b))
            part = [part[a] if k == part[b] else k for k in part]
    return edges


def balanced(tables: Floats, one: Floats, other: Floats) -> Floats:
    """Pair tables scaled until their attributes are distributed as given."""
    for _ in range(BALANCE):
        tables = tables * (one / tables.sum(axis=2))[:, :, None]
        tables = tables * (other / tables.sum(axis=1))[:, None, :]
    return tables


def fitted_to(p: Floats, wanted: Mapping[tuple[int, ...], Floats], sweeps: int = SWEEPS) -> Floats:
    """Iterative proportional fitting of tables to those of some attributes.

    With pairs of a forest that agree, this is the product of their conditional distributions.
    """
    axes = range(p.ndim - 1)
    for _ in range(sweeps):
        for some, tables in wanted.items():
            have = p.sum(axis=tuple(a + 1 for a in axes if a not in some), keepdims=True)
            want = tables.reshape(have.shape)
            p = p * np.divide(want, have, out=np.zeros_like(want), where=have > 0)
    return np.asarray(p / p.sum(axis=tuple(a + 1 for a in axes), keepdims=True))


def distributions_of(p: Floats) -> dict[tuple[int, ...], Floats]:
    """The distribution of each attribute."""
    axes = range(1, p.ndim)
    return {(a - 1,): p.sum(axis=tuple(b for b in axes if b != a)) for a in axes}


def lean_to_alone(table: Floats, alone: Sequence[Floats], part: float) -> Floats:
    """A table whose attributes are moved part of the way to the distributions of each alone.

    The table knows the attributes by their association too, but with few people it estimates the
    noise of those who report the same attributes from too few reports; fitted alone it is the
    other way round.
    """
    own = distributions_of(table[None])
    wanted = {key: (1 - part) * own[key] + part * p for key, p in zip(own, alone, strict=True)}
    return np.asarray(fitted_to(table[None], wanted, BALANCE)[0])
