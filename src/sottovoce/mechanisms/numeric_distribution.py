"""The distribution of numbers from counts of cells: bins, and quantiles.

Fit         smoothed EM over 32 equal parts of the range (64 from epsilon 3 on, where reports can
            distinguish them), the smoothing chosen by reports held out;
            a bin has the sum of its parts, cut proportionally where an edge lies within one
Intervals   of bins by profile likelihood over about 128 parts of the range, at least four in a
            bin, of quantiles by the same over 128 equal parts (`estimate.profile`,
            `estimate.quantiles`). Answers are taken as evenly spread within a part, so that a
            number that many people give is seen as a mixture of two neighbouring parts. Therefore
            the lower end of a bin is that of its parts but the outermost, the upper end that of
            its parts and the two beyond: it holds also where many answers lie on an edge
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..errors import ParameterError
from ..estimate.histogram import Histogram
from ..estimate.intervals import Interval
from ..estimate.likelihood import bootstrap, choose_smoothing, smoothed_em
from ..estimate.profile import Profile
from ..estimate.quantiles import QUANTILE_PARTS, RangeQuantiles
from .grid import Floats

if TYPE_CHECKING:
    from .numeric import NumericMechanism

BINS, MOST_BINS = 16, 64
_COARSE, _FINE, _FINE_FROM = 32, 64, 3.0
PARTS = 128
_PARTS_OF_BIN = 4
_SLIGHT = (1 / 32, 1)
"""Smoothing of the distribution at which the likelihood is expanded."""

Bins = int | Sequence[float]


def estimate_distribution(
    mechanism: NumericMechanism, aggregate: Aggregate, bins: Bins | None
) -> Histogram:
    """Distribution over bins, equal ones or those between given edges."""
    low, high = mechanism.domain.low, mechanism.domain.high
    edges = bin_edges(low, high, bins)
    positions = (edges - low) / (high - low)
    counts = np.concatenate(
        [grid.merge_cells(aggregate.dense(name)) for name, grid in mechanism.grids.items()]
    )
    parts = _COARSE if mechanism.epsilon < _FINE_FROM else _FINE
    laws = _laws(mechanism, np.linspace(0, 1, parts + 1))
    smoothing, fit = choose_smoothing(counts, laws, np.ones(parts))
    values = _into_bins(positions, fit.values)
    again = partial(_bins_again, laws, aggregate.reports, smoothing, fit.values, positions)
    inner, group = _parts(positions)
    fine = _laws(mechanism, np.linspace(0, 1, QUANTILE_PARTS + 1))
    return Histogram(
        values=values,
        spread=partial(bootstrap, values, again, 50),
        n=aggregate.reports,
        labels=_labels(edges),
        name=mechanism.domain.name,
        guarantee=mechanism.guarantee,
        method="distribution",
        biased=True,
        error_from="bootstrap",
        converged=fit.converged,
        edges=edges,
        quantiles=RangeQuantiles(counts, fine, fit.values, low, high),
        _interval=BinIntervals(counts, _laws(mechanism, inner), group, values),
    )


def bin_edges(low: float, high: float, bins: Bins | None) -> Floats:
    """Edges from bound to bound: of so many equal bins, or as they are given."""
    if bins is None:
        bins = BINS
    if isinstance(bins, int) and not isinstance(bins, bool):
        if not 1 <= bins <= MOST_BINS:
            raise ParameterError(f"{bins} bins were asked for; from 1 to {MOST_BINS} are possible")
        return np.linspace(low, high, bins + 1)
    try:
        edges = np.asarray(bins, float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"bins is {bins!r}; give a number of bins, or edges") from error
    if edges.ndim != 1 or not 2 <= edges.size <= MOST_BINS + 1 or not (np.diff(edges) > 0).all():
        raise ParameterError(
            f"bins is {bins!r}; give a number of bins, or 2 to {MOST_BINS + 1} increasing edges"
        )
    if (edges[0], edges[-1]) != (low, high):
        raise ParameterError(
            f"the edges run from {edges[0]:g} to {edges[-1]:g}; they must begin and end at the "
            f"bounds of the question, {low:g} and {high:g}"
        )
    return edges


def _labels(edges: Floats) -> tuple[str, ...]:
    labels = [f"[{a:g}, {b:g})" for a, b in pairwise(edges)]
    labels[-1] = labels[-1][:-1] + "]"
    return tuple(labels)


def _into_bins(positions: Floats, fit: Floats) -> Floats:
    """Fractions of bins from those of equal parts of the range."""
    cumulative = np.concatenate([[0.0], np.cumsum(fit)])
    at = np.interp(positions, np.linspace(0, 1, fit.size + 1), cumulative)
    return np.diff(at)


def _parts(positions: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Parts of the bins, at most a quarter of each and a 128th of the range; whose bin each is."""
    many = [max(_PARTS_OF_BIN, ceil(PARTS * (b - a) - 1e-9)) for a, b in pairwise(positions)]
    inner = [
        np.linspace(a, b, k, endpoint=False)
        for (a, b), k in zip(pairwise(positions), many, strict=True)
    ]
    return np.concatenate([*inner, [1.0]]), np.repeat(np.arange(len(many)), many)


def _laws(mechanism: NumericMechanism, positions: Floats) -> Floats:
    """Probabilities of what is reported given each part, one row per part."""
    laws = [
        float(part) * grid.merge_cells(grid.bin_laws(positions))
        for grid, part in mechanism.grid_fractions
    ]
    return np.concatenate(laws, axis=1)


def _bins_again(
    laws: Floats,
    n: int,
    smoothing: tuple[float, int],
    fit: Floats,
    positions: Floats,
    values: Floats,
    rng: np.random.Generator,
) -> Floats:
    law = fit @ laws
    counts = rng.multinomial(n, law / law.sum())
    again = smoothed_em(counts, laws, fit + 1 / (n + fit.size), smoothing, slack=0.1)
    return _into_bins(positions, again.values)


@dataclass(frozen=True, eq=False)
class BinIntervals:
    """Intervals of every bin on its own; call it with the confidence.

    They hold the estimate, which smoothing may have moved outside.
    """

    counts: NDArray[np.int64]  # how often each output was reported
    laws: Floats  # the probabilities of the outputs, a row per part of a bin
    group: NDArray[np.intp]  # whose bin each part is
    values: Floats  # the estimated fractions of the bins

    @cached_property
    def _profile(self) -> Profile:
        start = np.ones(len(self.laws))
        return Profile(
            self.counts, self.laws, smoothed_em(self.counts, self.laws, start, _SLIGHT).values
        )

    @cached_property
    def _known(self) -> dict[float, Interval]:
        return {}

    def __call__(self, confidence: float) -> Interval:
        if confidence not in self._known:
            self._known[confidence] = self._ends(confidence)
        return self._known[confidence]

    def _ends(self, confidence: float) -> Interval:
        bins = self.group == np.arange(self.values.size)[:, None]
        before = np.concatenate([bins[:, :1], bins[:, :-1]], axis=1)  # the bounds are no edges
        after = np.concatenate([bins[:, 1:], bins[:, -1:]], axis=1)
        inner, outer = bins & before & after, bins | before | after
        low = [self._profile.end(one, 0.0, confidence) for one in inner.astype(float)]
        high = [self._profile.end(one, 1.0, confidence) for one in outer.astype(float)]
        return Interval(np.minimum(low, self.values), np.maximum(high, self.values))
