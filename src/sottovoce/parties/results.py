"""From opened sums to the result of a run over split rows, and its plan beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..contract.route import AddedNoise, Route
from ..mechanisms.mechanism import SEEDED
from ..promise import Guarantee, Neighbours
from .design import Design
from .methods import Sums
from .receipts import Receipt
from .releases import Release
from .row_study import RowStudy
from .run import Plan, Run
from .tables import noisy_table

_HELLO = 32 + 8
_RECEIPT = 512


def run_of(
    protocol: RowStudy,
    sums: Sums,
    rows: Mapping[str, int] | None,
    receipt: Receipt,
    *,
    refused: tuple[str, ...],
    seeded: bool,
) -> Run:
    """Estimates, aggregates and promises from what was opened."""
    present = receipt.parties
    designs = protocol.designs(rows, present)
    guarantee = protocol.promised(receipt.spent, designs[0])
    shown = Guarantee.none(SEEDED) if seeded else guarantee
    estimates, aggregates, start = [], [], 0
    for m, (names, design) in enumerate(zip(protocol.marginals, designs, strict=True)):
        releases = protocol.releases(rows)[m]
        opened = sums[start : start + len(releases)]
        start += len(releases)
        attributes = [protocol.schema[name] for name in names]
        solved = protocol.method.solve(design, opened)
        estimates.append(noisy_table(solved, attributes, shown, protocol.method))
        people = _people(design, opened[0])
        aggregates += [
            _aggregate(protocol, design, release, cells, people, seeded)
            for release, cells in zip(releases, opened, strict=True)
        ]
    dropped = tuple(party for party in protocol.parties if party not in present)
    return Run(
        tuple(estimates),
        tuple(aggregates),
        shown,
        refused=refused,
        dropped=dropped,
        receipt=receipt,
    )


def _aggregate(
    protocol: RowStudy,
    design: Design,
    release: Release,
    cells: NDArray[np.int64],
    people: int,
    seeded: bool,
) -> Aggregate:
    """One opened sum with its noise and what it alone costs."""
    if release.kept is None:
        costs = {party: release.cost(party, design.neighbours) for party in design.parties}
    else:
        costs = protocol.method.spent(design)
    summed = [party for party in release.noise_from if party in design.summed]
    variance = release.variance * len(summed) / release.shares
    noise = AddedNoise("discrete-laplace", variance)
    route = Route(protocol.name, protocol.promised(costs, design), noise)
    tables = {release.name: cells}
    return Aggregate(protocol.name, protocol.digest, tables, people, people, seeded, route)


def _people(design: Design, cells: NDArray[np.int64]) -> int:
    """How many rows are in the sum; where that is not public, what the noisy sum says."""
    if design.neighbours is Neighbours.SUBSTITUTION:
        return design.total
    return max(0, int(cells.sum()))


def plan_of(protocol: RowStudy, rows: Mapping[str, int] | None) -> Plan:
    """What a run will cost, send and how precise it will be."""
    errors, texts = [], []
    for names, design, releases in zip(
        protocol.marginals, protocol.designs(rows), protocol.releases(rows), strict=True
    ):
        total = None if rows is None else sum(rows.values())
        errors.append(_standard_error(design, releases, total))
        title = " × ".join(names)
        texts += [
            f"{title}: {release.name}, {release.cells:,} cells, noise of standard deviation "
            f"{math.sqrt(release.variance):.4g}"
            for release in releases
        ]
    return Plan(
        protocol.spent(rows),
        tuple(errors),
        tuple(texts),
        _bytes(protocol, rows),
        protocol.message_rounds,
    )


def _standard_error(design: Design, releases: tuple[Release, ...], total: int | None) -> float:
    """Of a cell of the unbiased sum, as a fraction of all rows."""
    if total is None:
        return math.nan
    errors = []
    for release in releases:
        weights = {release.weights.get(party, 0) for party in design.parties}
        if len(weights) == 1 and release.kept is None and release.cells == design.cells:
            errors.append(math.sqrt(release.variance) / (total * weights.pop()))
    return min(errors, default=math.nan)


def _bytes(protocol: RowStudy, rows: Mapping[str, int] | None) -> int:
    """Payload of all messages to others; envelopes and seals are small beside it."""
    people = len(protocol.parties)
    words = sum(block.cells * block.bits // 8 for block in protocol.blocks(rows))
    sent = people * (people * _HELLO + 32 + words) + people * _RECEIPT
    if protocol.dropouts:
        sent += people * (people - 1) * (128 + 64 + 32) + people * people * (64 + 1 + 1)
    return sent
