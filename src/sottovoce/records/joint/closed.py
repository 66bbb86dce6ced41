"""Joint tables in closed form: `product` and `kronecker`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from ...contract.sparse import Sparse
from ...errors import EstimateError, ParameterError
from ...estimate.cells import Repetitions
from ...estimate.intervals import Floats
from ...estimate.projection import simplex
from ...estimate.table import Table
from .evidence import ALIKE, ALIKE_LEVELS, PLAIN_INTERVALS, evidence_of
from .groups import Group, complete_groups, groups_of, table_of

if TYPE_CHECKING:
    from ..records import Records

#: From the counts of every group, an argument for each part, to the cells of a table.
Maker = Callable[..., Floats]
#: From tables × cells and the counts that each was made of, patterns × tables, to better tables.
Improve = Callable[[Floats, Sequence[Floats]], Floats]
_REPETITIONS = 100
_MOST_AXES = 2


def product(records: Records, aggregate: Sparse, asked: Sequence[int]) -> Table:
    """Every attribute self-calibrated and projected, multiplied: no dependence at all.

    q̄ = (Σc/s − ½)/(l − 1), f = (c/s − q̄)/(½ − q̄), simplex(f), outer product.
    """
    evidence_of(records, aggregate).check(asked)
    own = [groups_of(records, aggregate, [a]) for a in asked]
    make = partial(_multiplied, own)
    return finished(records, aggregate, asked, "product", make, own, "attributes are independent")


def _multiplied(own: Sequence[Sequence[Group]], *counts: Sequence[Floats]) -> Floats:
    fractions = [simplex(_one_way(groups, some)) for groups, some in zip(own, counts, strict=True)]
    return np.asarray(reduce(np.multiply.outer, fractions).ravel())


def _one_way(groups: Sequence[Group], counts: Sequence[Floats]) -> Floats:
    """The self-calibrated fractions of one attribute over all records that report it."""
    ones = sum(c @ group.bits[0].astype(float) for group, c in zip(groups, counts, strict=True))
    s = float(sum(c.sum() for c in counts))
    seen = np.asarray(ones) / s
    q = (float(seen.sum()) - 0.5) / (seen.size - 1)
    if q >= 0.5:
        raise EstimateError("the bits of an attribute are almost pure noise; ask more people")
    return np.asarray((seen - q) / (0.5 - q))


def kronecker(
    records: Records, aggregate: Sparse, asked: Sequence[int], *, force: bool = False
) -> Table:
    """The exact moments of the bits inverted, from records that report all these attributes.

    Unbiased whatever the division of budgets is, as long as it is independent of the answers; its
    variance grows like Π (½ − q)^−2, so more than two attributes must be forced.
    """
    if len(asked) > _MOST_AXES and not force:
        raise ParameterError(
            f"'kronecker' is for {_MOST_AXES} attributes, {len(asked)} were asked for: its error "
            "would be larger than the table; use 'model-average', or force=True"
        )
    groups = complete_groups(records, aggregate, asked)
    evidence = evidence_of(records, aggregate)
    if not evidence.enough(asked) and not force:
        raise EstimateError(
            f"{evidence.together(asked):,} records with such small epsilons carry next to no "
            "information about these attributes together; ask more people or for larger epsilons"
        )
    make = partial(_inverted, groups)
    return finished(records, aggregate, asked, "kronecker", make, [groups], "")


def _inverted(groups: Sequence[Group], counts: Sequence[Floats]) -> Floats:
    return from_moments(*_moments(groups, counts))[0].ravel()


def _moments(
    groups: Sequence[Group], counts: Sequence[Floats]
) -> tuple[dict[tuple[int, ...], Floats], list[int]]:
    """Y_S = mean over records of Π_{a∈S} y_a, for every set S of axes."""
    sizes = list(groups[0].sizes)
    letters = "abcdefghijklmnopqrstuvwxy"
    s = float(sum(c.sum() for c in counts))
    moments = {}
    for subset in _subsets(range(len(sizes))):
        total: Floats = np.zeros([sizes[a] for a in subset])
        spec = ",".join("z" + letters[a] for a in subset)
        for group, c in zip(groups, counts, strict=True):
            bits = [group.bits[a].astype(float) for a in subset]
            total = total + np.einsum(f"z,{spec}->{''.join(letters[a] for a in subset)}", c, *bits)
        moments[subset] = total / s
    return moments, sizes


def from_moments(
    moments: dict[tuple[int, ...], Floats], sizes: Sequence[int]
) -> tuple[Floats, dict[tuple[int, ...], float]]:
    """P_T and the moments E Π q of the hidden budgets, from exact Y_S for all S ⊆ T.

    Growing |S|: mom(S) = [ΣY_S − Σ_{U⊊S} ½^{|S|−|U|} Π_U (l_a − 1) mom(U)] / Π_S (l_a − 1);
    E(U, V) = Σ_{W⊆U} (−1)^{|W|} ½^{|U|−|W|} mom(W ∪ V);
    P_S = [Y_S − Σ_{U⊊S} E(U, S∖U) P_U] / E(S, ∅).
    """
    axes = range(len(sizes))
    others = np.array(sizes) - 1
    mom: dict[tuple[int, ...], float] = {(): 1.0}
    tables: dict[tuple[int, ...], Floats] = {(): np.ones(())}

    def weight(ones: tuple[int, ...], rest: tuple[int, ...]) -> float:
        return float(
            sum(
                (-1) ** len(w) * 0.5 ** (len(ones) - len(w)) * mom[tuple(sorted({*w, *rest}))]
                for w in [(), *_subsets(ones)]
            )
        )

    for s in _subsets(axes):
        smaller = [(), *(u for u in _subsets(s) if u != s)]
        left = float(moments[s].sum()) - sum(
            0.5 ** (len(s) - len(u)) * float(np.prod(others[list(u)])) * mom[u] for u in smaller
        )
        mom[s] = left / float(np.prod(others[list(s)]))
        table = moments[s].copy()
        for u in smaller:
            rest = tuple(a for a in s if a not in u)
            shape = [sizes[a] if a in u else 1 for a in s]
            table = table - weight(u, rest) * tables[u].reshape(shape)
        scale = weight(s, ())
        if scale <= 0:
            raise EstimateError(
                "the bits are almost pure noise, so there is no estimate; ask more people"
            )
        tables[s] = table / scale
    return tables[tuple(axes)], mom


def _subsets(items: Sequence[int] | range) -> list[tuple[int, ...]]:
    """Every set except the empty one, small ones first."""
    return list(chain.from_iterable(combinations(items, k) for k in range(1, len(items) + 1)))


@dataclass(frozen=True, eq=False)
class Redrawn:
    """Tables computed again from multinomial repetitions of each group's records."""

    make: Maker
    groups: Sequence[Sequence[Group]]
    cells: int
    seed: int
    improve: Improve | None = None

    def __call__(self) -> Floats:
        rng = np.random.default_rng(self.seed)
        # A repetition without an estimate means that any value is possible.
        tables = np.full((_REPETITIONS, self.cells), 1 / self.cells)
        fitted: list[int] = []
        counts: list[list[Floats]] = []
        for k in range(_REPETITIONS):
            drawn = [
                [
                    rng.multinomial(int(g.counts.sum()), g.counts / g.counts.sum()).astype(float)
                    for g in some
                ]
                for some in self.groups
            ]
            with contextlib.suppress(EstimateError):
                tables[k] = self.make(*drawn)
                fitted.append(k)
                counts.append(drawn[0])
        if self.improve is not None and fitted:
            columns = [np.stack(each, axis=1) for each in zip(*counts, strict=True)]
            tables[fitted] = self.improve(tables[fitted], columns)
        return tables


def finished(
    records: Records,
    aggregate: Sparse,
    asked: Sequence[int],
    method: str,
    make: Maker,
    groups: Sequence[Sequence[Group]],
    assuming: str,
    improve: Improve | None = None,
) -> Table:
    """A table with errors from multinomial repetitions of each group's records.

    `improve` works on the tables of all repetitions at once.
    """
    counts = [[g.counts.astype(float) for g in some] for some in groups]
    values = np.asarray(make(*counts))
    if improve is not None:
        values = improve(values[None], [c[:, None] for c in counts[0]])[0]
    seed = int(aggregate.counts.sum())
    again = Repetitions(Redrawn(make, groups, values.size, seed, improve))
    evidence = evidence_of(records, aggregate)
    # Records with all these attributes count, or those with any of several parts.
    own = sum(int(group.counts.sum()) for group in groups[0])
    reports = evidence.some(asked) if len(groups) > 1 else own
    assumed = [assuming] if assuming else []
    if evidence.mixed(asked):
        assumed.append(ALIKE)
    if evidence.levels:
        assumed.append(ALIKE_LEVELS)
    about = {"reports": reports, "assuming": "; ".join([*assumed, PLAIN_INTERVALS])}
    return table_of(records, aggregate, asked, method, values, again, **about)
