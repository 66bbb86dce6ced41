"""Joint distributions by expectation–maximisation: `em-full` and `em-ll2` with its stop.

E-step      for the reports of each group, r = Σ_S Lᵀ(c / L p) / n; the expected table is p r
em-full     p ← normalise(p r^ω)
em-ll2      target = normalise(p r^ω), then p is fitted to the pair tables of the target by
            iterative proportional fitting *from the current p*, so that p stays in the log-linear
            family of all pairs
ω = 1.7, and 1 from the step on at which the likelihood falls. How many steps is decided by
five-fold held-out likelihood: with little dependence the start, a product, is the best answer.

Every attribute's own distribution in that product is found in the same way, from the uniform one
on, either until the likelihood stops rising, or until held-out records suggest stopping. The second
is biased towards uniform as far as the noise of few reports warrants: on nearly uniform attributes
it is twice as close or more, on skewed ones about as close (``python -m benchmarks.records`` has
both).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..allocation import Floats
from .blocks import Block, Expectation

Progress = Callable[[int, int], None]
FULL_STEPS = 300
MOST_STEPS = 500
FOLDS = 5
_BOLD = 1.7
_SWEEPS = 2
_FALLS = 1e-9
_STILL = 1e-9
_MOST_CLIMBS = 300
_LEAST_CLIMBS = 7
_GROWTH = 1.1
_BOLDEST = 20.0
_BOLD_ENOUGH = 5.0  # larger steps would skip the stop that held-out records suggest
_GAIN_ON_PATH = 1e-3
_GAIN = 1e-5  # in nats of all records together, for a plain step
_FLOOR = 1e-6
_DEALT = 20_000  # records that are dealt into folds, all deals together
_MOST_DEALS = 4


def pairs_of(blocks: Sequence[Block], dims: int) -> list[tuple[int, ...]]:
    """Pairs of axes that some records report together; an axis in no pair stands alone."""
    together = {
        pair
        for block in blocks
        for pair in combinations(sorted(block.axes), 2)
        if block.counts.sum()
    }
    alone = [(a,) for a in range(dims) if not any(a in pair for pair in together)]
    return [*sorted(together), *alone]


def full_step(p: Floats, r: Floats, power: Floats, pairs: Sequence[tuple[int, ...]]) -> Floats:
    """One step of plain expectation–maximisation, over-relaxed."""
    return _normal(p * r ** _spread(power, p))


def pair_step(p: Floats, r: Floats, power: Floats, pairs: Sequence[tuple[int, ...]]) -> Floats:
    """One step that keeps p a log-linear model of pairs."""
    target = full_step(p, r, power, pairs)
    for _ in range(_SWEEPS):
        for pair in pairs:
            others = tuple(a + 1 for a in range(p.ndim - 1) if a not in pair)
            want, have = (t.sum(axis=others, keepdims=True) for t in (target, p))
            p = p * np.divide(want, have, out=np.zeros_like(want), where=have > 0)
    return _normal(p)


Step = Callable[[Floats, Floats, Floats, Sequence[tuple[int, ...]]], Floats]


def run(
    blocks: Sequence[Block],
    start: Floats,
    step: Step,
    steps: int,
    *,
    counts: Sequence[Floats] | None = None,
    held: Sequence[Floats] | None = None,
    patience: int | None = None,
    progress: Progress | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Take steps from a start; (p, log-likelihoods at p, held-out ones along the path).

    `start` has the shape (1 or fits, l_1, …): one place for all fits, or one for each. `counts` and
    `held` are patterns × fits; with several columns, as many fits are made at once.
    """
    weights = _weights(blocks, counts)
    p = _each(start, weights)
    many = len(p)
    pairs = pairs_of(blocks, p.ndim - 1)
    expectation = Expectation(blocks, p.shape[1:], weights, held)
    power = np.full(many, _BOLD)
    before = np.full(many, -np.inf)
    path: list[Floats] = []
    best, since = -np.inf, 0
    for t in range(steps + 1):
        r, ll, judged = expectation(p)
        if judged is not None:
            path.append(judged)
            mean = float(judged.mean())
            best, since = (mean, 0) if mean > best else (best, since + 1)
            if patience is not None and since >= patience:
                break
        power = np.where(ll < before - _FALLS, 1.0, power)
        before = ll
        if progress is not None:
            progress(t, steps)
        if t == steps:
            break
        after = step(p, r, power, pairs)
        still = float(np.abs(after - p).max()) < _STILL
        p = after
        if still and held is not None:
            path += [path[-1]] * (steps - t)
            break
    return p, before, np.array(path) if held is not None else None


def climb(
    blocks: Sequence[Block],
    start: Floats,
    step: Step,
    *,
    counts: Sequence[Floats] | None = None,
    progress: Progress | None = None,
) -> Floats:
    """The most likely distributions, with steps that grow while the likelihood rises.

    Plain steps hardly leave the start where budgets are small. Parameters as in `run`.
    """
    pairs, best = pairs_of(blocks, start.ndim - 1), start
    weights = _weights(blocks, counts)
    for place in _grow(blocks, start, step, _MOST_CLIMBS, weights, pairs, progress=progress):
        best = place[0]
    return best


def path(
    blocks: Sequence[Block],
    start: Floats,
    step: Step,
    marks: Sequence[int],
    *,
    counts: Sequence[Floats],
    pairs: Sequence[tuple[int, ...]] = (),
) -> Iterator[Floats]:
    """The distributions after given numbers of growing steps.

    As `climb`, but every place on the way is an answer; the last one is used for all marks after
    the likelihood has stopped rising.
    """
    weights, t = _weights(blocks, counts), 0
    best = _each(start, weights)
    if 0 in marks:
        yield best
    limits = (_GAIN_ON_PATH, _BOLD_ENOUGH)
    places = _grow(blocks, best, step, max(marks), weights, pairs, *limits)
    for t, place in enumerate(places, start=1):
        best, p = place
        if t in marks:
            yield p
    for _ in range(sum(mark > t for mark in marks)):
        yield best


def _grow(
    blocks: Sequence[Block],
    start: Floats,
    step: Step,
    steps: int,
    weights: Sequence[Floats],
    pairs: Sequence[tuple[int, ...]],
    gain: float = _GAIN,
    boldest: float = np.inf,
    progress: Progress | None = None,
) -> Iterator[tuple[Floats, Floats]]:
    """After each growing step: the best place before it, and where it led.

    Both are the same once the likelihood has stopped rising, which ends it.
    """
    p = _each(start, weights)
    n = np.sum([w.sum(axis=0) for w in weights], axis=0)
    best, good, power = p, np.full(len(n), -np.inf), np.ones(len(n))
    expectation = Expectation(blocks, p.shape[1:], weights)
    for t in range(steps):
        r, ll, _ = expectation(p)
        worse = ll < good  # too large: back to the best point, and plain steps again
        still = ~worse & (n * (ll - good) < gain * np.minimum(power, _BOLDEST))
        best = np.where(_spread(worse, p), best, p)
        if progress is not None:
            progress(t, steps)
        if t >= _LEAST_CLIMBS and still.all():
            yield best, best
            return
        p = np.where(_spread(worse, p), best, step(p, r, power, pairs))
        good = np.where(worse, -np.inf, ll)
        power = np.where(worse, 1.0, np.minimum(power * _GROWTH, boldest))
        yield best, p


def best_stop(
    blocks: Sequence[Block],
    start: Floats,
    folds: Sequence[NDArray[np.int64]],
    *,
    patience: int | None = None,
    progress: Progress | None = None,
) -> tuple[int, Floats]:
    """The number of steps with the greatest held-out likelihood, and its mean along the path.

    `folds` say for each block how many of each pattern's records are in each fold.
    """
    if sum(int(fold.sum()) for fold in folds) < FOLDS:
        return 0, np.zeros(1)  # too few to hold any out
    held = [fold.astype(float) for fold in folds]
    rest = [fold.sum(axis=1, keepdims=True) - fold for fold in held]
    _, _, path = run(
        blocks,
        start,
        pair_step,
        MOST_STEPS,
        counts=rest,
        held=held,
        patience=patience,
        progress=progress,
    )
    means = np.asarray(path).mean(axis=1)
    return int(np.argmax(means)), means


def dealt(counts: Sequence[Floats], rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Records dealt at random into folds whose sizes differ by at most one."""
    sizes = [len(c) for c in counts]
    every = np.concatenate([c.astype(np.int64) for c in counts])
    owner = np.repeat(np.arange(every.size), every)
    rng.shuffle(owner)
    fold = np.arange(owner.size) % FOLDS
    table = np.bincount(owner * FOLDS + fold, minlength=every.size * FOLDS).reshape(-1, FOLDS)
    edges = np.cumsum([0, *sizes])
    return [table[a:b] for a, b in pairwise(edges)]


# --- the start of all iterations: every attribute on its own --------------------------------------


def one_way(blocks: Sequence[Block], counts: Sequence[Floats] | None = None) -> Floats:
    """The most likely distributions of one attribute, one for each column of counts."""
    return climb(blocks, uniform(blocks), full_step, counts=counts)


def one_way_held(blocks: Sequence[Block], rng: np.random.Generator) -> Floats:
    """The distribution of one attribute after as many rounds as held-out records suggest."""
    return run(blocks, uniform(blocks), full_step, one_way_stop(blocks, rng))[0]


def one_way_stop(blocks: Sequence[Block], rng: np.random.Generator) -> int:
    """How many steps from the uniform distribution held-out records suggest."""
    counts = [block.counts for block in blocks]
    held = several(counts, rng)[0]
    if sum(c.sum() for c in counts) < held[0].shape[1]:
        return 0  # too few to hold any out
    rest = [c[:, None] - fold for c, fold in zip(counts, held, strict=True)]
    way = run(blocks, uniform(blocks), full_step, MOST_STEPS, counts=rest, held=held)[2]
    return int(np.argmax(np.asarray(way).mean(axis=1)))


def several(counts: Sequence[Floats], rng: np.random.Generator) -> tuple[list[Floats], int]:
    """Records dealt into folds, repeatedly as time allows to reduce chance, and how often."""
    people = float(sum(c.sum() for c in counts))
    deals = int(np.clip(_DEALT // max(people, 1), 1, _MOST_DEALS))
    every = [dealt(counts, rng) for _ in range(deals)]
    return [
        np.concatenate(folds, axis=1).astype(float) for folds in zip(*every, strict=True)
    ], deals


def uniform(blocks: Sequence[Block]) -> Floats:
    """Equal fractions of one attribute's values."""
    return np.full((1, *blocks[0].sizes), 1 / blocks[0].cells)


def product_of(distributions: Sequence[Floats]) -> Floats:
    """Products of distributions, none of their values quite zero, so that all can grow."""
    table = np.ones(len(distributions[0]))
    for p in distributions:
        own = np.maximum(p, _FLOOR).reshape(len(p), *[1] * (table.ndim - 1), -1)
        table = table[..., None] * own
    return np.asarray(table / table.sum(axis=tuple(range(1, table.ndim)), keepdims=True))


def _weights(blocks: Sequence[Block], counts: Sequence[Floats] | None) -> list[Floats]:
    """Patterns × fits; each fit's numbers one after the other, as the compiled step reads them."""
    if counts is None:
        return [block.counts[:, None] for block in blocks]
    return [np.asfortranarray(c) for c in counts]


def _each(start: Floats, weights: Sequence[Floats]) -> Floats:
    """The start of every fit."""
    return np.repeat(start, weights[0].shape[1], axis=0) if len(start) == 1 else start


def _spread(power: NDArray[Any], p: Floats) -> NDArray[Any]:
    return power.reshape(-1, *([1] * (p.ndim - 1)))


def _normal(p: Floats) -> Floats:
    return np.asarray(p / p.sum(axis=tuple(range(1, p.ndim)), keepdims=True))
