"""Every attribute on its own by expectation–maximisation: the start of all iterations.

From the uniform distribution on, either until the likelihood stands still, or until held-out
records say stop. The second leans towards uniform as far as the noise of few reports warrants: on
nearly uniform attributes it is twice as close or more, on skewed ones about as close
(``python -m benchmarks.records`` has both).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...estimate.estimate import Floats
from .blocks import Block
from .em import best_stop, climb, dealt, full_step, run

_FLOOR = 1e-6


def one_way(blocks: Sequence[Block], counts: Sequence[Floats] | None = None) -> Floats:
    """The most likely distributions of one attribute, one for each column of counts."""
    return climb(blocks, _uniform(blocks), full_step, counts=counts)


def one_way_held(blocks: Sequence[Block], rng: np.random.Generator) -> Floats:
    """The distribution of one attribute after as many rounds as held-out records want."""
    folds = dealt([block.counts for block in blocks], rng)
    steps, _ = best_stop(blocks, _uniform(blocks), folds, step=full_step)
    return run(blocks, _uniform(blocks), full_step, steps)[0]


def _uniform(blocks: Sequence[Block]) -> Floats:
    return np.full((1, *blocks[0].sizes), 1 / blocks[0].cells)


def product_of(distributions: Sequence[Floats]) -> Floats:
    """Products of distributions, none of their values quite zero, so that all can grow."""
    table = np.ones(len(distributions[0]))
    for p in distributions:
        own = np.maximum(p, _FLOOR).reshape(len(p), *[1] * (table.ndim - 1), -1)
        table = table[..., None] * own
    return np.asarray(table / table.sum(axis=tuple(range(1, table.ndim)), keepdims=True))
