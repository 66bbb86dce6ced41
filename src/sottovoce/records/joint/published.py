"""Joint tables as published, for comparison: LASSO on marginal counts, and LoPub's three.

The LASSO fits a sparse non-negative P to M P = C, where C stacks the one-way estimates of Eq. 16
and M says which cells belong to which value. C holds one-way counts only, and every non-negative
P with M P = C has the same ‖P‖₁, so the penalty has no effect and no dependence can be found.

"PLDP: Personalized Local Differential Privacy for Multidimensional Data Aggregation", section 4.4
and Algorithm 2; Ren et al. 2018 (LoPub).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...contract.sparse import Sparse
from ...errors import EstimateError, MissingExtraError
from ...estimate.intervals import Floats
from ...estimate.table import Table
from ..allocation import flip
from .blocks import Block, block_of
from .closed import Maker, finished
from .em import FULL_STEPS, full_step, run
from .groups import Group, complete_groups

if TYPE_CHECKING:
    from ..records import Records

_PENALTY = 1e-4
_MOST_ROUNDS = 10_000


def lasso(
    records: Records, aggregate: Sparse, asked: Sequence[int], method: str = "lasso"
) -> Table:
    """Section 4.4: LASSO on the counts of records that report all these attributes; sums to 1.

    LoPub-2 is the same regression for reports that all have the budget epsilon_average.
    """
    groups = complete_groups(records, aggregate, asked)
    make = partial(_lasso_of, groups, float(flip(records.epsilon_average)))
    return finished(records, aggregate, asked, method, make, [groups], "")


def entropy_split(records: Records, aggregate: Sparse, asked: Sequence[int]) -> Table:
    """Algorithm 2: the best of the divisions into all but one attribute and that one, multiplied.

    Its line 6 lacks a minus sign, so that "largest Σ p log p" chooses the least entropy, which is
    right: H(A1) + H(A2) = H(A) + I(A1; A2). The text argues for the opposite.
    """
    if len(asked) == 1:
        return lasso(records, aggregate, asked, "entropy-split")
    q = float(flip(records.epsilon_average))
    splits = []
    for k in range(len(asked)):
        rest = [a for j, a in enumerate(asked) if j != k]
        try:
            one, other = (complete_groups(records, aggregate, part) for part in (rest, [asked[k]]))
        except EstimateError:
            continue
        tables = [_lasso_of(g, q, [x.counts.astype(float) for x in g]) for g in (one, other)]
        splits.append((sum(_information(t) for t in tables), k, one, other))
    if not splits:
        raise EstimateError("no division has records that report either part; use 'model-average'")
    _, k, one, other = max(splits, key=lambda split: split[:2])
    make = partial(_multiplied, (one, other), q, k)
    name, assumed = "entropy-split", "the two parts are independent"
    return finished(records, aggregate, asked, name, make, [one, other], assumed)


def _multiplied(
    parts: Sequence[Sequence[Group]], q: float, k: int, *counts: Sequence[Floats]
) -> Floats:
    """The table of the first part times that of the second, whose axis goes to place k."""
    first, second = (_lasso_of(g, q, c) for g, c in zip(parts, counts, strict=True))
    table = np.multiply.outer(first.reshape(parts[0][0].sizes), second)
    return np.asarray(np.moveaxis(table, -1, k).ravel())


def lopub(
    records: Records, aggregate: Sparse, asked: Sequence[int], method: str = "lopub-1"
) -> Table:
    """LoPub-1: EM with q(epsilon_average) on records that report all these attributes.

    LoPub-3 is the same EM from the LASSO's table, whose zeros stay zeros.
    """
    groups = complete_groups(records, aggregate, asked)
    q = float(flip(records.epsilon_average))
    make: Maker = (
        partial(_lasso_of, groups, q) if method == "lopub-3" else partial(_uniform, groups)
    )
    improve = partial(_em, _blocks(groups, q), groups[0].sizes)
    return finished(records, aggregate, asked, method, make, [groups], "", improve)


def _uniform(groups: Sequence[Group], counts: Sequence[Floats]) -> Floats:
    cells = int(np.prod(groups[0].sizes))
    return np.full(cells, 1 / cells)


def published_counts(groups: Sequence[Group], q: float, counts: Sequence[Floats]) -> Floats:
    """Eq. 16 for every attribute, one after the other."""
    s = float(sum(c.sum() for c in counts))
    estimates = []
    for a in range(len(groups[0].axes)):
        ones = sum(c @ g.bits[a].astype(float) for g, c in zip(groups, counts, strict=True))
        estimates.append((np.asarray(ones) / s - q) / (0.5 - q))
    return np.concatenate(estimates)


def candidates(sizes: Sequence[int]) -> Floats:
    """M: which cells of the table belong to each value of each attribute."""
    places = np.unravel_index(np.arange(int(np.prod(sizes))), tuple(sizes))
    rows = [place == v for place, size in zip(places, sizes, strict=True) for v in range(size)]
    return np.array(rows, float)


def _lasso_of(groups: Sequence[Group], q: float, counts: Sequence[Floats]) -> Floats:
    try:
        from sklearn.linear_model import Lasso
    except ImportError as error:
        raise MissingExtraError.of("scikit-learn", "lasso", "the published LASSO") from error
    wanted = published_counts(groups, q, counts)
    if len(groups[0].axes) == 1:
        table = np.maximum(wanted, 0.0)
    else:
        fit = Lasso(alpha=_PENALTY, positive=True, fit_intercept=False, max_iter=_MOST_ROUNDS)
        table = fit.fit(candidates(groups[0].sizes), wanted).coef_
    total = float(table.sum())
    if total <= 0:
        raise EstimateError("the regression found nothing; there are too few records")
    return np.asarray(table / total)


def _em(
    blocks: Sequence[Block], sizes: Sequence[int], starts: Floats, counts: Sequence[Floats]
) -> Floats:
    tables = starts.reshape(-1, *sizes)
    p, _, _ = run(blocks, tables, full_step, FULL_STEPS, counts=counts)
    return np.asarray(p.reshape(starts.shape))


def _blocks(groups: Sequence[Group], q: float) -> list[Block]:
    """The likelihood as if everyone had the same budget."""
    alike = [replace(g, flips=np.full((len(g.counts), len(g.axes)), q)) for g in groups]
    return [block_of(group) for group in alike]


def _information(table: Floats) -> float:
    """Σ p log p."""
    p = table[table > 0]
    return float((p * np.log(p)).sum())
