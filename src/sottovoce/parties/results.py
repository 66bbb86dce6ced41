"""From opened sums to the result of a run, and what can be said before it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..contract.aggregate import Aggregate
from ..contract.route import AddedNoise, Route
from ..errors import ShareError
from ..mechanisms.mechanism import SEEDED
from ..promise import Guarantee
from .design import Design
from .machines import CuratorState
from .methods.evidence import Margin
from .releases import Release
from .run import Plan, Run

if TYPE_CHECKING:
    from .marginals import Marginals


def run_of(study: Marginals, state: CuratorState, *, refused: tuple[str, ...], seeded: bool) -> Run:
    """Estimates, aggregates and promises from what the curator opened."""
    if state.sums is None or state.receipt is None:
        raise no_result(state.failed, refused)
    rows, receipt = study.rows_said(state.opened.rows), state.receipt
    promised = study.promised(receipt.spent, [one for _, one in study.all_releases(rows)])
    shown = Guarantee.none(SEEDED) if seeded else promised
    designs = study.designs(rows, receipt.parties)
    estimates, aggregates, left = [], [], list(state.sums)
    for m, (design, releases) in enumerate(zip(designs, study.releases(rows), strict=True)):
        opened, left = left[: len(releases)], left[len(releases) :]
        estimates.append(study.labelled(m, study.method.solve(design, opened), shown))
        people = max(0, int(opened[0].sum()))  # what the noisy sum says, where N is not public
        if rows is not None:
            people = study.people({party: rows[party] for party in receipt.parties})
        for release, cells in zip(releases, opened, strict=True):
            route, table = _route(study, design, release), {release.name: cells}
            aggregates.append(
                Aggregate(study.name, study.digest, table, people, people, seeded, route)
            )
    return Run(
        tuple(estimates),
        tuple(aggregates),
        shown,
        refused=refused,
        dropped=tuple(party for party in study.parties if party not in receipt.parties),
        receipt=receipt,
    )


def no_result(reason: str, refused: Sequence[str]) -> ShareError:
    """Why there is no result, with the first messages that were refused."""
    also = f". Refused: {'; '.join(refused[:3])}" if refused else ""
    return ShareError(f"{reason}{also}")


def _route(study: Marginals, design: Design, release: Release) -> Route:
    """How one sum came about: its noise, and what it alone costs."""
    costs = {party: release.cost(party, design.neighbours) for party in design.parties}
    if release.kept is not None:
        costs = study.method.spent(design)
    present = [party for party in release.noise_from if party in design.summed]
    law = "discrete-gaussian" if release.gaussian else "discrete-laplace"
    noise = AddedNoise(law, release.variance * (len(present) / release.shares))
    return Route(study.name, study.promised(costs, (release,)), noise)


def plan_of(study: Marginals, rows: Mapping[str, int] | None) -> Plan:
    """What a run will cost and send, and how precise it will be."""
    errors = [
        math.nan if rows is None else _standard_error(study, design, releases)
        for design, releases in zip(study.designs(rows), study.releases(rows), strict=True)
    ]
    texts = [
        f"{study.described(m, release)}, noise of standard deviation "
        f"{math.sqrt(release.variance):.4g}"
        for m, release in study.all_releases(rows)
    ]
    sent, rounds = study.bytes_sent(rows), study.message_rounds
    return Plan(study.spent(rows), tuple(errors), tuple(texts), sent, rounds)


def _standard_error(study: Marginals, design: Design, releases: Sequence[Release]) -> float:
    """Of one unbiased fraction; NaN where no release gives one."""
    nested = getattr(study.method, "nested", None)
    if nested is not None:
        zeros = [np.zeros(release.cells, np.int64) for release in releases]
        evidence = nested(design, zeros)[2]
        return math.sqrt(float(evidence.variance(Margin.whole(design.shape)).mean()))
    errors = []
    for release in releases:
        weights = {release.weights.get(party, 0) for party in design.parties}
        if len(weights) == 1 and release.kept is None and release.cells == design.cells:
            people = study.people(design.rows or {}) * weights.pop()
            errors.append(math.sqrt(release.variance) / people)
    return min(errors, default=math.nan)
