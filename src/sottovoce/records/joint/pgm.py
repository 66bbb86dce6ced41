"""`pgm`: a graphical model fitted to the pair tables of em-full, by the package mbi."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contract.sparse import Sparse
from ...errors import MissingExtraError
from ...estimate.cells import Repetitions
from ...estimate.intervals import Floats
from ...estimate.table import Table
from .evidence import evidence_of
from .fit import WIDER, fitted
from .groups import table_of

if TYPE_CHECKING:
    from ..records import Records

_TOTAL = 1000.0  # mbi counts in single precision; counts of a thousand people keep it from stalling


@dataclass(frozen=True, eq=False)
class Model:
    """From pair tables to the table of the graphical model that is nearest to them."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    cliques: tuple[tuple[str, ...], ...]

    def __call__(self, tables: Sequence[Floats]) -> Floats:
        mbi = _mbi()
        domain = mbi.Domain(list(self.names), list(self.sizes))
        measured = [
            mbi.LinearMeasurement(table * _TOTAL, clique, stddev=1.0)
            for table, clique in zip(tables, self.cliques, strict=True)
        ]
        fit = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=_TOTAL)
        cells = np.asarray(fit.project(self.names).datavector(), float)
        return np.asarray(cells / cells.sum())


@dataclass(frozen=True, eq=False)
class Remodelled:
    """The model of every repetition of the pair tables.

    Where one fit serves all pairs, those of a repetition come from the same reports.
    """

    model: Model
    pairs: tuple[Table, ...]

    def __call__(self) -> Floats:
        every = [np.maximum(pair.again(), 0) for pair in self.pairs if pair.again is not None]
        return np.array([self.model(tables) for tables in zip(*every, strict=True)])


def _mbi() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own settings
            import mbi
    except ImportError as error:
        raise MissingExtraError.of("mbi", "pgm", "the graphical model") from error
    return mbi


def pgm(
    records: Records, aggregate: Sparse, asked: Sequence[int], *, progress: Any = None
) -> Table:
    """The graphical model with pair tables nearest to those of em-full (McKenna et al. 2019)."""
    _mbi()
    evidence = evidence_of(records, aggregate)
    evidence.check(asked)
    names = tuple(records.names[a] for a in asked)
    sets: list[tuple[int, ...]] = list(combinations(range(len(asked)), 2)) or [(0,)]
    cliques = tuple(tuple(names[a] for a in axes) for axes in sets)
    model = Model(names, tuple(int(records.sizes[a]) for a in asked), cliques)
    pairs = tuple(
        fitted(records, aggregate, [asked[a] for a in axes], method="em-full", progress=progress)
        for axes in sets
    )
    values = model([pair.values for pair in pairs])
    again = Repetitions(Remodelled(model, pairs), WIDER)
    return table_of(
        records,
        aggregate,
        asked,
        "pgm",
        values,
        again,
        notes=evidence.about,
        **evidence.about(names),
    )
