"""Every attribute on its own by expectation–maximisation: the start of all iterations.

From the uniform distribution on, either until the likelihood stands still, or until held-out
records say stop. The second leans towards uniform as far as the noise of few reports warrants: on
nearly uniform attributes it is several times closer, on skewed ones about as close
(``python -m benchmarks.records`` has both).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..estimate import Floats
from ..personal.patterns import Patterns
from .blocks import Block, block_of, expectation
from .em import best_stop, dealt, full_step, run
from .groups import groups_of

if TYPE_CHECKING:
    from ..personal.records import Records

_ROUNDS = 300
_AT_LEAST = 7
_GAIN = 1e-4  # in nats of all records together, for a plain step
_GROWTH = 1.1  # with small budgets plain steps hardly leave the start
_FLOOR = 1e-6


def one_way_blocks(
    records: Records, aggregate: Patterns, asked: Sequence[int]
) -> list[list[Block]]:
    """For each asked attribute, the likelihood of its bits, by how many are reported."""
    return [
        [
            block_of(group, records.epsilon_average, grid=True)
            for group in groups_of(records, aggregate, [position])
        ]
        for position in asked
    ]


def one_way(blocks: Sequence[Block], counts: Sequence[Floats] | None = None) -> Floats:
    """The most likely distribution of one attribute."""
    weights = [block.counts[:, None] for block in blocks] if counts is None else list(counts)
    n = float(sum(w.sum() for w in weights))
    p = np.full((1, *blocks[0].sizes), 1 / blocks[0].cells)
    best, good, power = p, -np.inf, 1.0
    for round_ in range(1, _ROUNDS + 1):
        r, ll, _ = expectation(blocks, p, weights, None)
        if ll[0] < good:
            # Too bold: from the best place on with plain steps again.
            p, good, power = best, -np.inf, 1.0
            continue
        still = round_ >= _AT_LEAST and n * (ll[0] - good) < _GAIN * power
        best, good = p, float(ll[0])
        if still:
            break
        p = p * r**power
        p /= p.sum()
        power *= _GROWTH
    return np.asarray(best[0])


def one_way_held(blocks: Sequence[Block], rng: np.random.Generator) -> Floats:
    """The distribution of one attribute after as many rounds as held-out records want."""
    uniform = np.full((1, *blocks[0].sizes), 1 / blocks[0].cells)
    folds = dealt([block.counts for block in blocks], rng)
    steps, _ = best_stop(blocks, uniform, folds, step=full_step)
    return np.asarray(run(blocks, uniform, full_step, steps)[0][0])


def product_of(distributions: Sequence[Floats]) -> Floats:
    """The product of distributions, none of their values quite zero, so that all can grow."""
    table: Floats = np.ones(())
    for p in distributions:
        table = np.multiply.outer(table, np.maximum(p, _FLOOR))
    return np.asarray(table / table.sum())
