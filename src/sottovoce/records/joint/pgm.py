"""`pgm`: a graphical model fitted to the pair tables of em-full, by the package mbi."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contract.sparse import Sparse
from ...errors import MissingExtraError
from ...estimate.intervals import Floats
from ...estimate.table import JointEstimate, once, product_labels, spread_of
from .evidence import told
from .fit import fitted

if TYPE_CHECKING:
    from ..records import Records

_TOTAL = 1000.0  # mbi counts in single precision; shares of a thousand keep it from stalling


def pgm(
    records: Records, aggregate: Sparse, asked: Sequence[int], *, progress: Any = None
) -> JointEstimate:
    """The graphical model with pair tables nearest to those of em-full (McKenna et al. 2019)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own settings
            import mbi
    except ImportError as error:
        raise MissingExtraError.of("mbi", "pgm", "the graphical model") from error
    known = told(records, aggregate)
    known.check(asked)
    attributes = tuple(records.schema.attributes[a] for a in asked)
    names = [attribute.name for attribute in attributes]
    domain = mbi.Domain(names, [attribute.size for attribute in attributes])
    sets: list[tuple[int, ...]] = list(combinations(range(len(asked)), 2)) or [(0,)]
    cliques = [tuple(names[a] for a in axes) for axes in sets]
    pairs = [
        fitted(records, aggregate, [asked[a] for a in axes], method="em-full", progress=progress)
        for axes in sets
    ]

    def model(tables: Sequence[Floats]) -> Floats:
        measured = [
            mbi.LinearMeasurement(table * _TOTAL, clique, stddev=1.0)
            for table, clique in zip(tables, cliques, strict=True)
        ]
        fit = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=_TOTAL)
        found = np.asarray(fit.project(tuple(names)).datavector(), float)
        return np.asarray(found / found.sum())

    values = model([pair.values for pair in pairs])

    def repeated() -> Floats:
        # Where one fit serves all pairs, those of a repetition come from the same reports.
        every = [np.maximum(pair.again(), 0) for pair in pairs if pair.again is not None]
        return np.array([model(tables) for tables in zip(*every, strict=True)])

    again = once(repeated)
    return JointEstimate(
        values=values,
        spread=spread_of(values, again),
        n=aggregate.n,
        labels=product_labels(attributes),
        name=" × ".join(names),
        guarantee=records.guarantee,
        method="pgm",
        biased=True,
        error_from="bootstrap",
        attributes=attributes,
        again=again,
        notes=known.about,
        **known.about(names),
    )
