"""model-average, em-ll2 and em-full, from an aggregate to a table with errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contract.sparse import Sparse
from ...errors import ParameterError
from ...estimate.cells import Repetitions
from ...estimate.intervals import Floats
from ...estimate.table import Table
from .average import Likelihood, averaged
from .blocks import Block, block_of, view
from .em import (
    FULL_STEPS,
    MOST_STEPS,
    Progress,
    Step,
    best_stop,
    climb,
    dealt,
    full_step,
    one_way,
    one_way_held,
    pair_step,
    pairs_of,
    product_of,
    run,
)
from .evidence import evidence_of
from .groups import MOST_CELLS, Content, groups_of, table_of

if TYPE_CHECKING:
    from ..records import Records

_MOST_SUMS = 2 * 10**8  # likelihoods of all patterns together
_MANY_SUMS = 5 * 10**7  # above this only the requested attributes are fitted, and it takes a while
_MANY_CELLS = 10**5  # the same for an average of models, which fits many tables
_MANY = 50_000
_MOST_EXACT = 10**9
_PATIENCE = 20
_REPETITIONS = 20
_FEW = 2.093 / 1.960  # Student's t with 19 degrees of freedom over the normal quantile
#: What the most likely table errs beyond its repetitions: it never leaves its family of models, has
#: no cell below zero, and takes the estimated law of hidden budgets for the true one. This factor
#: was found to cover that on real tables (``python -m benchmarks.records --only intervals``).
WIDER = 1.3


@dataclass(frozen=True)
class Question:
    """A requested fit; equal ones have the same result."""

    content: Content
    where: tuple[int, ...]  # the attributes that are fitted
    method: str  # "model-average", "em-ll2" or "em-full"
    stop: Any  # "cv" or, for the latter two, how many steps
    #: Called with the progress; not part of the request, and never pickled.
    progress: Progress | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "progress": None}


def fitted(
    records: Records,
    aggregate: Sparse,
    asked: Sequence[int],
    *,
    method: str,
    stop: Any = "cv",
    progress: Progress | None = None,
) -> Table:
    """The table of the requested attributes; fitted over all attributes where that is possible."""
    stop = stop if isinstance(stop, str) and stop == "cv" else _checked(stop)
    evidence = evidence_of(records, aggregate)
    evidence.check(asked)
    sums = len(aggregate.counts) << len(asked)
    if sums > _MOST_SUMS:
        raise ParameterError(
            f"{len(aggregate.counts):,} different records of {len(asked)} attributes have {sums:,} "
            f"likelihoods; at most {_MOST_SUMS:,} fit into memory: ask for fewer attributes"
        )
    every = [a for a in range(len(records.schema)) if a in asked or evidence.enough([a])]
    cells = math.prod(int(records.sizes[a]) for a in every)
    most = _MANY_CELLS if method == "model-average" else MOST_CELLS
    whole = cells <= most and len(aggregate.counts) << len(every) <= _MANY_SUMS
    where = tuple(every if whole else sorted(asked))
    table = _fit(Question(Content(records, aggregate), where, method, stop, progress))
    evidence.warn(asked)
    return table.marginal([records.names[a] for a in asked])


@lru_cache(maxsize=2)
def likelihood_of(content: Content, where: tuple[int, ...]) -> Likelihood:
    """What all fits and their errors are computed from; the last two are kept."""
    records = content.records
    groups = groups_of(records, content.aggregate, where)
    blocks = [block_of(group) for group in groups]
    singles = [view(groups, (a,)) for a in range(len(where))]
    few = _sampled(blocks, np.random.default_rng(content.seed))
    both = (pair for pair in pairs_of(blocks, len(where)) if len(pair) == 2)
    pairs = {(a, b): view(groups, (a, b)) for a, b in both}
    return Likelihood(blocks, few, singles, pairs)


@lru_cache(maxsize=8)
def _fit(question: Question) -> Table:
    content, where = question.content, question.where
    records, aggregate = content.records, content.aggregate
    likelihood = likelihood_of(content, where)
    rng = np.random.default_rng([content.seed, 1])
    weights, steps = None, None
    if question.method == "model-average" and len(where) > 1:
        p, weights = averaged(likelihood, rng, smoothed=_MANY, progress=question.progress)
    else:
        p, steps = _iterated(question, likelihood, rng)
    values = p.ravel()
    again = Repetitions(Refit(question), WIDER)
    about = {"steps": steps, "weights": weights, "notes": evidence_of(records, aggregate).about}
    return table_of(records, aggregate, where, question.method, values, again, **about)


def _iterated(
    question: Question, likelihood: Likelihood, rng: np.random.Generator
) -> tuple[Floats, int]:
    """The table after the requested steps, or those that held-out records suggest."""
    progress, stop = question.progress, question.stop
    blocks, few = likelihood.blocks, likelihood.sample
    alone = [one_way(one.blocks) for one in likelihood.singles]
    if question.method != "em-full" and stop == "cv":
        alone = [
            one_way_held(one.blocks, rng) if one.records <= _MANY else p
            for one, p in zip(likelihood.singles, alone, strict=True)
        ]
    start = product_of(alone)
    if question.method == "em-full":
        steps = FULL_STEPS if stop == "cv" else stop
    elif len(question.where) == 1:
        steps = 0  # the start is the answer for one attribute
    elif stop == "cv":
        folds = dealt([block.counts for block in few], rng)
        patience = None if few is blocks else _PATIENCE
        steps = best_stop(few, start, folds, patience=patience, progress=progress)[0]
    else:
        steps = stop
    if not steps:
        return start[0], steps
    return run(blocks, start, _step(question), steps, progress=progress)[0][0], steps


@dataclass(frozen=True, eq=False)
class Refit:
    """Tables fitted again to records drawn with replacement, for errors.

    Smoothing moves the table too, so repetitions go without it, around the most likely table:
    the mean squared distance of the estimate from them counts how far smoothing moved it.
    """

    question: Question

    def __call__(self) -> Floats:
        question = self.question
        likelihood = likelihood_of(question.content, question.where)
        rng = np.random.default_rng([question.content.seed, 2])
        blocks, few = likelihood.blocks, likelihood.sample
        step = _step(question)
        start = product_of([one_way(one.blocks) for one in likelihood.singles])
        top = climb(blocks, start, step, progress=question.progress)
        part = _records(few) / _records(blocks)
        own = [
            one_way(one.blocks, [_drawn(b.counts, rng, part) for b in one.blocks])
            for one in likelihood.singles
        ]
        counts = [_drawn(block.counts, rng) for block in few]
        tables = climb(few, product_of(own), step, counts=counts, progress=question.progress)
        scale = math.sqrt(part * _REPETITIONS / (_REPETITIONS - 1)) * _FEW
        around = top + scale * (tables - tables.mean(axis=0))
        return np.asarray(around.reshape(_REPETITIONS, -1))


def _step(question: Question) -> Step:
    """That of pairs, where there are any and the whole table is not asked for."""
    return full_step if question.method == "em-full" or len(question.where) == 1 else pair_step


def _records(blocks: Sequence[Block]) -> int:
    return int(sum(block.counts.sum() for block in blocks))


def _sampled(blocks: list[Block], rng: np.random.Generator) -> list[Floats]:
    """The counts of _MANY records drawn without replacement, or of all where there are fewer."""
    if _records(blocks) <= _MANY:
        return [block.counts for block in blocks]
    every = np.concatenate([block.counts for block in blocks]).astype(np.int64)
    if every.sum() < _MOST_EXACT:
        drawn = rng.multivariate_hypergeometric(every, _MANY, method="marginals").astype(float)
    else:  # numpy's limit without replacement; with replacement is as good among so many
        drawn = np.minimum(rng.multinomial(_MANY, every / every.sum()), every).astype(float)
    return np.split(drawn, np.cumsum([len(block.counts) for block in blocks])[:-1])


def _checked(stop: Any) -> int:
    if isinstance(stop, bool) or not isinstance(stop, int) or not 0 <= stop <= 10 * MOST_STEPS:
        raise ParameterError(
            f"stop is {stop!r}; it must be 'cv' or a number of steps from 0 to {10 * MOST_STEPS:,}"
        )
    return stop


def _drawn(counts: Floats, rng: np.random.Generator, fraction: float = 1.0) -> Floats:
    """Counts of as many records, or a fraction of them, drawn again; a column a repetition."""
    n = counts.sum()
    drawn = rng.multinomial(max(1, round(fraction * n)), counts / n, size=_REPETITIONS)
    return np.ascontiguousarray(drawn.T, float)
