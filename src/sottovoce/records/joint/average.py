"""`model-average`: several models of the table, weighted by how well they predict held-out records.

product     every attribute on its own, smoothed as held-out records suggest
forest      the edges whose pair tables gain most held-out likelihood, none that gains nothing; a
            product of conditional distributions (Chow and Liu 1968)
pairwise    iterative proportional fitting of all pair tables, each stopped where held-out records
            suggest
em-ll2      the log-linear model of all pairs, at several places on the way from the product to the
            most likely table

Every model is fitted to four fifths of the records at a time, its own start included, and judged by
the likelihood of the other fifth. A model with L nats in all gets a weight proportional to e^L (the
product three times that, since it is the only model without dependence), and the answer is the
weighted mean of the tables fitted to all records: differences of a nat decide little, as they
should, since chance makes as much, and ten nats decide everything. (Pseudo-Bayesian model
averaging: Yao, Vehtari, Simpson and Gelman 2018.) Its attributes are then moved to the
distributions that each has when fitted alone: halfway with up to 5,000 people, and less with more.

Pair tables that are as likely as can be are no model of their own: with small budgets the reports
are nearly as likely under them as under stopped ones, so that chance may decide for them, while
the table is two to three times as far from the truth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...estimate.intervals import Floats
from .blocks import Block, Expectation, View
from .em import (
    FOLDS,
    Progress,
    full_step,
    one_way,
    one_way_stop,
    pair_step,
    pairs_of,
    path,
    product_of,
    run,
    several,
    uniform,
)

Pair = tuple[int, int]
_SWEEPS = 30
_BALANCE = 10  # rounds that make a table agree with its attributes
_MARKS = (0, 16, 24, 32, 48, 80, 200)
PAIR_MARKS = (0, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_PRODUCT = 3.0  # what the product counts before the likelihood, every other model 1
_SMALL = 5000  # people up to whom attributes are moved halfway
_LITTLE = 1e-4  # weights below it are left out


@dataclass(frozen=True, eq=False)
class Stops:
    """What held-out records decided before the models are compared.

    What is decided for a fold is decided by the others of its deal: edges that were chosen by the
    records they are judged by would always look good.
    """

    single: list[int | None]  # steps for each attribute; None goes to the most likely distribution
    #: For each fold, and then for all records, the place in PAIR_MARKS where the pair table stops;
    #: of pairs with enough records.
    pairs: Mapping[Pair, list[int]]
    edges: list[list[Pair]]  # for each fold, and then for all records, those of the forest
    ways: Mapping[Pair, Sequence[Floats]]  # the pair tables of all folds at each of PAIR_MARKS


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The likelihood of the reports under every table of some attributes."""

    blocks: list[Block]  # that of whole patterns
    few: list[Floats]  # records of each pattern that stops, weights and errors are worked out with
    singles: list[View]  # each attribute on its own
    pairs: dict[Pair, View]  # every pair that some records report together

    @property
    def sample(self) -> list[Block]:
        """The blocks of those few."""
        if all(counts is block.counts for counts, block in zip(self.few, self.blocks, strict=True)):
            return self.blocks
        return [
            block.only(np.flatnonzero(counts), counts)
            for block, counts in zip(self.blocks, self.few, strict=True)
            if counts.any()
        ]


def averaged(
    likelihood: Likelihood,
    rng: np.random.Generator,
    *,
    smoothed: int,
    progress: Progress | None = None,
) -> tuple[Floats, dict[str, float]]:
    """The average table, and the weight of each kind of model.

    Attributes with more than `smoothed` records are not smoothed.
    """
    few = likelihood.few
    held, deals = several(few, rng)
    rest = [counts[:, None] - fold for counts, fold in zip(few, held, strict=True)]
    stops = stops_of(likelihood, held, rest, smoothed, rng)
    blocks = likelihood.sample
    some = [[c[k > 0] for c, k in zip(part, few, strict=True) if k.any()] for part in (rest, held)]
    n = np.sum([fold.sum(axis=0) for fold in held], axis=0)
    nats = {}
    sizes = [one.blocks[0].cells for one in likelihood.singles]
    judge = Expectation(blocks, sizes, *some)
    for name, tables in models(likelihood, stops, blocks, rest, some[0], progress):
        nats[name] = float(np.asarray(judge(tables)[2]) @ n) / deals
    weights = weights_of(nats)
    least = _LITTLE * sum(weights.values())
    weights = {name: w for name, w in weights.items() if w >= least}
    total = sum(weights.values())
    every = [block.counts[:, None] for block in likelihood.blocks]
    average = np.zeros(sizes)
    kinds: dict[str, float] = {}
    whole = likelihood.blocks, every, every
    for name, tables in models(likelihood, stops, *whole, progress, weights):
        average += weights[name] / total * tables[0]
        kind = name.split(",")[0]
        kinds[kind] = kinds.get(kind, 0.0) + weights[name] / total
    alone = [
        _single(one, every, t) for one, t in zip(likelihood.singles, stops.single, strict=True)
    ]
    people = sum(float(block.counts.sum()) for block in likelihood.blocks)
    return lean_to_alone(average / average.sum(), alone, min(1.0, _SMALL / people) / 2), kinds


def weights_of(nats: Mapping[str, float]) -> dict[str, float]:
    """Weights proportional to e^nats; the product counts three times.

    Without dependence the others are many and nearly as likely, and together they would decide.
    """
    best = max(nats.values())
    likely = {name: float(np.exp(value - best)) for name, value in nats.items()}
    if "product" in likely:
        likely["product"] *= _PRODUCT
    total = sum(likely.values())
    return {name: value / total for name, value in likely.items()}


def stops_of(
    likelihood: Likelihood,
    held: Sequence[Floats],
    rest: Sequence[Floats],
    smoothed: int,
    rng: np.random.Generator,
) -> Stops:
    """What held-out records decide about single attributes and pairs.

    `held` and `rest` are the records of each fold and all others, patterns × folds for each block.
    Attributes with more than `smoothed` records are not smoothed.
    """
    single: list[int | None] = []
    own = []
    for one in likelihood.singles:
        steps = one_way_stop(one.blocks, rng) if one.records <= smoothed else None
        single.append(steps)
        own.append(_single(one, rest, steps))
    folds = held[0].shape[1]
    deal = np.arange(folds) // FOLDS
    # The judges of each fold are the others of its deal; of all records, every fold.
    judges = np.concatenate([(deal[:, None] == deal) & ~np.eye(folds, dtype=bool), [deal >= 0]])
    pairs: dict[Pair, list[int]] = {}
    ways: dict[Pair, list[Floats]] = {}
    gains: list[dict[Pair, float]] = [{} for _ in judges]
    for pair, both in likelihood.pairs.items():
        fold, left = both.counts(held), both.counts(rest)
        n = np.sum([c.sum(axis=0) for c in fold], axis=0)
        if not np.all(n > 0):
            continue  # too few report both to hold any out
        start = product_of([own[a] for a in pair])
        way = list(path(both.blocks, start, full_step, PAIR_MARKS, counts=left))
        judge, nats = Expectation(both.blocks, start.shape[1:], left, fold), list[Floats]()
        for k, on_way in enumerate(way):
            if k and on_way is way[k - 1]:  # the likelihood had stopped rising
                nats.append(nats[-1])
            else:
                nats.append(np.asarray(judge(on_way)[2]) * n)
        judged = np.array(nats) @ judges.T
        pairs[pair] = [int(k) for k in judged.argmax(axis=0)]
        ways[pair] = way
        for k, gain in enumerate(judged.max(axis=0) - judged[0]):
            gains[k][pair] = float(gain)
    return Stops(single, pairs, [forest(own_gains, len(single)) for own_gains in gains], ways)


def models(
    likelihood: Likelihood,
    stops: Stops,
    blocks: Sequence[Block],
    whole: Sequence[Floats],
    counts: Sequence[Floats],
    progress: Progress | None,
    wanted: Collection[str] | None = None,
) -> Iterator[tuple[str, Floats]]:
    """The names and tables of the models, a table for each column of counts.

    The forest and the pairwise models have the attributes' own smoothed distributions. `whole` and
    `counts` are the same records, among all patterns and among those of `blocks`; `wanted` are the
    models to fit, by default all.
    """
    own = [_single(one, whole, t) for one, t in zip(likelihood.singles, stops.single, strict=True)]
    start = product_of(own)
    marks = {_name(t): t for t in _MARKS if wanted is None or _name(t) in wanted}
    if marks:
        pairs = pairs_of(blocks, start.ndim - 1)
        steps = list(marks.values())
        places = path(blocks, start, pair_step, steps, counts=counts, pairs=pairs)
        for k, (name, tables) in enumerate(zip(marks, places, strict=True)):
            yield name, tables
            if progress is not None:
                progress(k, len(marks))
    if wanted is not None and not {"forest", "pairwise"} & set(wanted):
        return
    stopped: dict[tuple[int, ...], Floats] = {}
    for pair, marked in stops.pairs.items():
        if len(start) > 1:
            way, at = stops.ways[pair], marked[: len(start)]
        else:
            both, begin = likelihood.pairs[pair], product_of([own[a] for a in pair])
            counted = both.counts(whole)
            way = list(path(both.blocks, begin, full_step, PAIR_MARKS, counts=counted))
            at = marked[-1:]
        stopped[pair] = np.array([way[k][fold] for fold, k in enumerate(at)])
    edges = stops.edges if len(start) > 1 else stops.edges[-1:]
    if wanted is None or "pairwise" in wanted:
        yield "pairwise", fitted_to(fitted_to(start, stopped), distributions_of(start), _BALANCE)
    if wanted is None or "forest" in wanted:
        trees = []
        for fold, chosen in enumerate(edges[: len(start)]):
            one = [p[[fold]] for p in own]
            targets: dict[tuple[int, ...], Floats] = {
                (a, b): balanced(stopped[a, b][[fold]], one[a], one[b]) for a, b in chosen
            }
            trees.append(fitted_to(start[[fold]], targets))
        yield "forest", fitted_to(np.concatenate(trees), distributions_of(start), _BALANCE)


def _name(steps: int) -> str:
    return f"em-ll2, {steps} steps" if steps else "product"


def _single(one: View, columns: Sequence[Floats], steps: int | None) -> Floats:
    """One attribute's distributions, one for each column of counts."""
    counts = one.counts(columns)
    # Where an attribute is so rare that these records lack it, all records stand in.
    absent = np.sum([c.sum(axis=0) for c in counts], axis=0) == 0
    counts = [
        np.where(absent, b.counts[:, None], c) for b, c in zip(one.blocks, counts, strict=True)
    ]
    if steps is None:
        return one_way(one.blocks, counts)
    return run(one.blocks, uniform(one.blocks), full_step, steps, counts=counts)[0]


# --- tables fitted to the tables of some of their attributes, and forests of pairs ---------------


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
    for _ in range(_BALANCE):
        tables = tables * (one / tables.sum(axis=2))[:, :, None]
        tables = tables * (other / tables.sum(axis=1))[:, None, :]
    return tables


def fitted_to(p: Floats, wanted: Mapping[tuple[int, ...], Floats], sweeps: int = _SWEEPS) -> Floats:
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
    return np.asarray(fitted_to(table[None], wanted, _BALANCE)[0])
