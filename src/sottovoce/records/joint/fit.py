"""em-ll2 and em-full, from an aggregate to a table with errors."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contract.sparse import Sparse
from ...errors import ParameterError
from ...estimate.intervals import Floats
from ...estimate.table import JointEstimate, once, product_labels, spread_of
from .blocks import Block, block_of
from .em import (
    FULL_STEPS,
    MOST_STEPS,
    Progress,
    Step,
    best_stop,
    climb,
    dealt,
    full_step,
    pair_step,
    run,
)
from .evidence import told
from .groups import MOST_CELLS, groups_of
from .start import one_way, one_way_blocks, one_way_held, product_of

if TYPE_CHECKING:
    from ..records import Records

_MOST_SUMS = 2 * 10**8  # likelihoods of all patterns together
_MANY_SUMS = 5 * 10**7  # above which only what is asked is fitted, and it takes a while
_MANY = 50_000
_MOST_EXACT = 10**9
_PATIENCE = 20
_REPETITIONS = 20
_FEW = 2.093 / 1.960  # Student's t with 19 degrees of freedom over the normal quantile


def fitted(
    records: Records,
    aggregate: Sparse,
    asked: Sequence[int],
    *,
    method: str,
    stop: Any = "cv",
    progress: Progress | None = None,
) -> JointEstimate:
    """The table of the asked attributes; fitted over all attributes where that is possible."""
    stop = stop if isinstance(stop, str) and stop == "cv" else _checked(stop)
    known = told(records, aggregate)
    known.check(asked)
    sums = len(aggregate.counts) << len(asked)
    if sums > _MOST_SUMS:
        raise ParameterError(
            f"{len(aggregate.counts):,} different records of {len(asked)} attributes have {sums:,} "
            f"likelihoods; at most {_MOST_SUMS:,} fit into memory: ask for fewer attributes"
        )
    every = [a for a in range(len(records.schema)) if a in asked or known.enough([a])]
    cells = math.prod(int(records.sizes[a]) for a in every)
    whole = cells <= MOST_CELLS and len(aggregate.counts) << len(every) <= _MANY_SUMS
    where = every if whole else sorted(asked)
    key = (method, stop, tuple(where))
    if key not in aggregate.fits:
        aggregate.fits[key] = _fit(records, aggregate, where, method, stop, progress)
    known.warn(asked)
    found: JointEstimate = aggregate.fits[key]
    return found.marginal([records.names[a] for a in asked])


def _fit(
    records: Records,
    aggregate: Sparse,
    where: Sequence[int],
    method: str,
    stop: Any,
    progress: Progress | None,
) -> JointEstimate:
    groups = groups_of(records, aggregate, where)
    blocks = [block_of(group, records.epsilon_average) for group in groups]
    single = one_way_blocks(records, aggregate, where)
    rng = np.random.default_rng(_seed(aggregate))
    few = _sampled(blocks, rng)
    alone = [one_way(own) for own in single]
    likely = start = product_of(alone)
    if method == "em-ll2" and stop == "cv":
        held = [
            one_way_held(own, rng) if _records(own) <= _MANY else p
            for own, p in zip(single, alone, strict=True)
        ]
        start = product_of(held)
    patience = None if few is blocks else _PATIENCE

    def best() -> int:
        folds = dealt([block.counts for block in few], rng)
        return best_stop(few, start, folds, patience=patience, progress=progress)[0]

    step, steps = _steps(len(where), method, stop, best)
    p = run(blocks, start, step, steps, progress=progress)[0][0] if steps else start[0]

    def repeated() -> Floats:
        # Early stops move the table too, so repetitions go without, around where it would go.
        top = climb(blocks, likely, step, progress=progress)
        share = _records(few) / _records(blocks)
        own = [one_way(x, [_drawn(b.counts, rng, share) for b in x]) for x in single]
        counts = [_drawn(b.counts, rng) for b in few]
        tables = climb(few, product_of(own), step, counts=counts, progress=progress)
        scale = math.sqrt(share * _REPETITIONS / (_REPETITIONS - 1)) * _FEW
        around = top + scale * (tables - tables.mean(axis=0))
        return np.asarray(around.reshape(_REPETITIONS, -1))

    again = once(repeated)
    attributes = tuple(records.schema.attributes[a] for a in where)
    values = p.ravel()
    return JointEstimate(
        values=values,
        spread=spread_of(values, again),
        n=aggregate.n,
        labels=product_labels(attributes),
        name=" × ".join(attribute.name for attribute in attributes),
        guarantee=records.guarantee,
        method=method,
        biased=True,
        error_from="bootstrap",
        notes=told(records, aggregate).about,
        attributes=attributes,
        steps=steps,
        again=again,
    )


def _steps(axes: int, method: str, stop: Any, best: Callable[[], int]) -> tuple[Step, int]:
    if axes == 1 and method == "em-ll2":
        return full_step, 0  # the start is the answer for one attribute
    if method == "em-full":
        return full_step, FULL_STEPS if stop == "cv" else stop
    if stop != "cv":
        return pair_step, int(stop)
    return pair_step, best()


def _records(blocks: Sequence[Block]) -> int:
    return int(sum(block.counts.sum() for block in blocks))


def _sampled(blocks: list[Block], rng: np.random.Generator) -> list[Block]:
    """The patterns of _MANY records drawn without replacement, or all where there are fewer."""
    if _records(blocks) <= _MANY:
        return blocks
    every = np.concatenate([block.counts for block in blocks]).astype(np.int64)
    if every.sum() < _MOST_EXACT:
        drawn = rng.multivariate_hypergeometric(every, _MANY, method="marginals")
    else:  # numpy draws no more without replacement, and with it is as good among so many
        drawn = np.minimum(rng.multinomial(_MANY, every / every.sum()), every)
    edges = np.cumsum([0, *(len(block.counts) for block in blocks)])
    return [
        block.only(np.flatnonzero(drawn[a:b]), drawn[a:b].astype(float))
        for block, a, b in zip(blocks, edges[:-1], edges[1:], strict=True)
        if drawn[a:b].any()
    ]


def _checked(stop: Any) -> int:
    if isinstance(stop, bool) or not isinstance(stop, int) or not 0 <= stop <= 10 * MOST_STEPS:
        raise ParameterError(
            f"stop is {stop!r}; it must be 'cv' or a number of steps from 0 to {10 * MOST_STEPS:,}"
        )
    return stop


def _drawn(counts: Floats, rng: np.random.Generator, share: float = 1.0) -> Floats:
    """Counts of as many records, or a share of them, drawn again; a column for each repetition."""
    n = counts.sum()
    drawn = rng.multinomial(max(1, round(share * n)), counts / n, size=_REPETITIONS)
    return np.ascontiguousarray(drawn.T, float)


def _seed(aggregate: Sparse) -> int:
    """Folds and repetitions repeat with the same reports; they need no secrecy."""
    digest = hashlib.sha256(aggregate.rows.tobytes() + aggregate.counts.tobytes()).digest()
    return int.from_bytes(digest[:16], "little")
