"""em-ll2 and em-full, from an aggregate to a table with errors."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..estimate import Floats
from ..personal.patterns import Patterns
from .blocks import Block, block_of
from .em import (
    FULL_STEPS,
    MOST_STEPS,
    Progress,
    Step,
    best_stop,
    dealt,
    full_step,
    pair_step,
    pairs_of,
    run,
)
from .estimate import JointEstimate, once, product_labels, spread_of
from .groups import MOST_CELLS, groups_of
from .start import one_way, one_way_blocks, one_way_held, product_of

if TYPE_CHECKING:
    from ..personal.records import Records

_MOST_SUMS = 2 * 10**8  # of all patterns together, above which only what is asked is fitted
_MANY = 50_000
_PATIENCE = 20
_REPETITIONS = 20
_FEW_TOGETHER = 200


class FewTogetherWarning(UserWarning):
    """Two attributes were hardly ever reported together."""


def fitted(
    records: Records,
    aggregate: Patterns,
    asked: Sequence[int],
    *,
    method: str,
    stop: Any = "cv",
    progress: Progress | None = None,
) -> JointEstimate:
    """The table of the asked attributes; fitted over all attributes where that is possible."""
    every = list(range(len(records.schema)))
    cells = int(np.prod(records.sizes.astype(object)))
    whole = cells <= MOST_CELLS and len(aggregate.counts) << len(every) <= _MOST_SUMS
    where = every if whole else sorted(asked)
    missing = [a for a in where if a not in asked and not _reported(records, aggregate)[a]]
    where = [a for a in where if a not in missing]
    key = (method, stop, tuple(where))
    if key not in aggregate.fits:
        aggregate.fits[key] = _fit(records, aggregate, where, method, stop, progress)
    found: JointEstimate = aggregate.fits[key]
    return found.marginal([records.names[a] for a in asked])


def _reported(records: Records, aggregate: Patterns) -> NDArray[np.bool_]:
    """Which attributes anybody reports."""
    sent = records.columns_of(aggregate.rows)["reported"]
    every = np.bitwise_or.reduce(sent, axis=0) if len(sent) else sent.sum(axis=0, dtype=np.uint8)
    return np.unpackbits(every, bitorder="little")[: len(records.schema)].astype(bool)


def _fit(
    records: Records,
    aggregate: Patterns,
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
        return best_stop(few, start[None], folds, patience=patience, progress=progress)[0]

    step, steps = _steps(start.ndim, method, stop, best)
    p = run(blocks, start[None], step, steps, progress=progress)[0][0] if steps else start

    def repeated() -> Floats:
        share = _records(few) / _records(blocks)
        starts = np.array(
            [
                product_of(
                    [one_way(own, [_drawn(b.counts, rng, share) for b in own]) for own in single]
                )
                for _ in range(_REPETITIONS)
            ]
        )
        counts = [np.hstack([_drawn(b.counts, rng) for _ in starts]) for b in few]
        tables = run(few, starts, step, steps, counts=counts, progress=progress)[0]
        scale = math.sqrt(share * _REPETITIONS / (_REPETITIONS - 1))
        # Early stops move the table too, so that repetitions lie around where it goes without.
        last = run(blocks, likely[None], step, max(steps, FULL_STEPS), progress=progress)[0][0]
        around = last + scale * (tables - tables.mean(axis=0))
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
        assuming=_apart(blocks, [a.name for a in attributes]),
        attributes=attributes,
        steps=steps,
        again=again,
    )


def _steps(axes: int, method: str, stop: Any, best: Callable[[], int]) -> tuple[Step, int]:
    if axes == 1 and method == "em-ll2":
        return full_step, 0  # the start is the answer for one attribute
    if method == "em-full":
        return full_step, FULL_STEPS if stop == "cv" else _checked(stop)
    if stop != "cv":
        return pair_step, _checked(stop)
    return pair_step, best()


def _records(blocks: Sequence[Block]) -> int:
    return int(sum(block.counts.sum() for block in blocks))


def _sampled(blocks: list[Block], rng: np.random.Generator) -> list[Block]:
    """The patterns of _MANY records drawn without replacement, or all where there are fewer."""
    if _records(blocks) <= _MANY:
        return blocks
    every = np.concatenate([block.counts for block in blocks]).astype(np.int64)
    drawn = rng.multivariate_hypergeometric(every, _MANY, method="marginals")
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
    """Counts of as many records, or a share of them, drawn again; one column."""
    n = counts.sum()
    return np.asarray(rng.multinomial(max(1, round(share * n)), counts / n).astype(float)[:, None])


def _seed(aggregate: Patterns) -> int:
    """Folds and repetitions repeat with the same reports; they need no secrecy."""
    digest = hashlib.sha256(aggregate.rows.tobytes() + aggregate.counts.tobytes()).digest()
    return int.from_bytes(digest[:16], "little")


def _apart(blocks: Sequence[Block], names: Sequence[str]) -> str:
    """What is assumed of pairs that nobody reported together; warn of those with few."""
    pairs = set(pairs_of(blocks, len(names)))
    apart = [pair for pair in combinations(range(len(names)), 2) if pair not in pairs]
    for a, b in combinations(range(len(names)), 2):
        n = int(sum(x.counts.sum() for x in blocks if a in x.axes and b in x.axes))
        if 0 < n < _FEW_TOGETHER:
            warnings.warn(
                f"only {n} records report both {names[a]!r} and {names[b]!r}; what the table says "
                "of the two together is hardly more than a guess",
                FewTogetherWarning,
                stacklevel=2,
            )
    if not apart:
        return ""
    listed = ", ".join(f"{names[a]!r} and {names[b]!r}" for a, b in apart)
    return f"attributes that nobody reported together ({listed}) depend only through the others"
