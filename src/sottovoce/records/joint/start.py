"""Every attribute on its own by expectation–maximisation: the start of all iterations.

From the uniform distribution on, either until the likelihood stops rising, or until held-out
records suggest stopping. The second is biased towards uniform as far as the noise of few reports
warrants: on nearly uniform attributes it is twice as close or more, on skewed ones about as close
(``python -m benchmarks.records`` has both).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...estimate.intervals import Floats
from .blocks import Block
from .em import MOST_STEPS, climb, dealt, full_step, run

_FLOOR = 1e-6
_DEALT = 20_000  # records that are dealt into folds, all deals together
_MOST_DEALS = 4


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
