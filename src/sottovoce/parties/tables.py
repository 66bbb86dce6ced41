"""From what a method computed to a labelled table with intervals.

Values are a method's, and usually biased by shrinkage or projection. Intervals come from the
opened sums alone (`methods.evidence`): they hold whatever the data are, for cells, marginals and
conditional fractions, and are widened to include the released value. Where a method opens no
unbiased sum, the interval follows from bounds that hold for any split, or is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..domain.values import Attribute
from ..errors import EstimateError, ParameterError
from ..estimate.cells import product_labels
from ..estimate.intervals import Floats, Interval
from ..estimate.projection import PROJECTIONS, check_projection
from ..estimate.table import Conditional, Table
from ..promise import Guarantee
from .methods import Method, Solved
from .methods.evidence import Evidence, Margin


@dataclass(frozen=True, eq=False, repr=False)
class NoisyTable(Table):
    """A table between parties; see `Table` for what can be computed from it."""

    counted: ClassVar[str] = "people"

    #: What the opened sums say, which every interval comes from.
    evidence: Evidence | None = field(default=None, repr=False)
    #: Which marginal of the opened table this is.
    margin: Margin | None = field(default=None, repr=False)

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """An interval around each value; see `Estimate.interval`.

        `simultaneous` ones hold together with this confidence: each at 1 − α/L.
        """
        if simultaneous:
            confidence = 1 - (1 - confidence) / self.values.size
        return super().interval(confidence)

    def marginal(self, names: Sequence[str]) -> NoisyTable:
        """The distribution of some of the attributes, in the order given, with its own intervals.

        The interval of a sum of m cells is that of the summed counts, whose noise has m times the
        variance of one cell (rows split) or the variance of least squares (columns split).
        """
        axes = self._axes(names)
        evidence, margin = self._behind()
        part = margin.of(tuple(margin.kept[a] for a in axes))
        own = Margin.whole(self.table.shape).of(tuple(axes))
        attributes = tuple(self.attributes[a] for a in axes)
        table = _label(replace(self, raw=None), own.sum(self.values), attributes, evidence, part)
        if self.raw is None and table.raw is not None:  # a sum of its own was opened for it
            return replace(table, assuming="")
        return table

    def project(self, method: str = "norm-sub") -> NoisyTable:
        """The nearest distribution to the unbiased table, where there is one; else to the values.

        Errors and intervals stay those of the opened sums.
        """
        check_projection(method)
        source = self if self.raw is None else self.raw
        variance = source.variance
        weights = variance if np.isfinite(variance).all() else np.ones_like(source.values)
        return replace(
            self,
            values=PROJECTIONS[method](source.values, weights),
            method=f"{source.method} + {method}",
            biased=True,
            raw=self if self.raw is None and not self.biased else self.raw,
        )

    def conditional(self, of: Sequence[str], given: Sequence[str]) -> Conditional:
        """P(of | given), with intervals by Fieller's method from the opened sums.

        Its `table` has one row for each combination of the given attributes; NaN where the
        released table has nobody with it.
        """
        self._axes(of), self._axes(given)
        both = self.marginal([*given, *of])
        evidence, margin = both._behind()
        rows = int(np.prod(both.table.shape[: len(given)]))
        cells = np.maximum(both.values, 0).reshape(rows, -1)
        total = cells.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(total > 0, cells / total, np.nan).reshape(-1)
        return Conditional(
            values=values,
            spread=np.full(values.size, np.nan),
            n=self.n,
            labels=both.labels,
            guarantee=self.guarantee,
            name=f"{' × '.join(of)} given {' × '.join(given)}",
            method=self.method,
            biased=True,
            error_from="exact",
            converged=self.converged,
            assuming=both.assuming,
            shape=(rows, values.size // rows),
            attributes=both.attributes,
            _interval=partial(evidence.conditional, margin, len(given)),
        )

    def _behind(self) -> tuple[Evidence, Margin]:
        if self.evidence is None or self.margin is None:
            raise EstimateError("this table was made without the sums behind it")
        return self.evidence, self.margin


def noisy_table(
    solved: Solved,
    attributes: Sequence[Attribute],
    guarantee: Guarantee,
    method: Method,
    *,
    axes: Sequence[Sequence[int]] | None = None,
) -> NoisyTable:
    """The labelled table of one marginal, its attributes in row-major order of the design's axes.

    `axes` says which attributes, by position, make up each axis of the design, one each by default;
    the attributes of one axis stand together and in its order.
    """
    sizes = tuple(attribute.size for attribute in attributes)
    places = [(a,) for a in range(len(sizes))] if axes is None else [tuple(axis) for axis in axes]
    if [a for axis in places for a in axis] != list(range(len(sizes))):
        raise ParameterError(
            f"the axes are made of attributes {places}; each of the {len(sizes)} attributes must "
            "be in one, in order"
        )
    evidence = solved.evidence
    margin = Margin(sizes, tuple(places), tuple(range(len(sizes))))
    blank = NoisyTable(
        values=solved.values,
        spread=np.empty(0),
        n=evidence.n,
        labels=(),
        guarantee=guarantee,
        method=method.name,
        biased=method.biased,
        error_from="exact",
        converged=solved.converged,
        assuming=solved.assuming,
    )
    return _label(blank, solved.values, tuple(attributes), evidence, margin)


def _label(
    like: NoisyTable,
    values: Floats,
    attributes: tuple[Attribute, ...],
    evidence: Evidence,
    margin: Margin,
) -> NoisyTable:
    """A table of these attributes with the evidence about them, unbiased and as released."""
    common: dict[str, Any] = {
        "spread": evidence.variance(margin),
        "labels": product_labels(attributes),
        "name": " × ".join(attribute.name for attribute in attributes),
        "attributes": attributes,
        "evidence": evidence,
        "margin": margin,
        "_interval": partial(evidence.interval, margin),
    }
    table = replace(like, values=values, **common)
    fractions = evidence.fractions(margin)
    if not like.biased or not np.isfinite(fractions).all():
        return table
    raw = replace(
        table, values=fractions, method="unbiased sums", biased=False, converged=True, assuming=""
    )
    return replace(table, raw=raw)
