"""Every registered mechanism, in small, draws exactly what its channel says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sottovoce import Mechanism, Reports
from tests.laws.entries import CATEGORICAL, NUMERIC

from .budget import RejectedError, joined, judge, spend
from .statistics import fit

N = 400_000  # per answer
GRID = ((2, 0.5), (3, 1.0), (4, 0.2), (4, 1.0), (4, 3.0))
BOUNDS = (((0, 1), 0.5), ((0, 1), 1.0), ((0, 1), 3.0))
CASES = [
    *((kind, d, epsilon) for kind in CATEGORICAL.values() for d, epsilon in GRID),
    *((kind, bounds, epsilon) for kind in NUMERIC.values() for bounds, epsilon in BOUNDS),
]
IDS = [f"{kind.id}-{d}-{epsilon:g}" for kind, d, epsilon in CASES]
cases = pytest.mark.parametrize(("kind", "d", "epsilon"), CASES, ids=IDS)


def as_numbers(reports: Reports, radices: list[int]) -> np.ndarray:
    """Each report as one number, its fields read as digits; -1 for a field out of range."""
    total = np.zeros(len(reports), np.int64)
    fields = [f for c in reports.columns.values() for f in c.reshape(len(reports), -1).T]
    for field, radix in zip(fields, radices, strict=True):
        inside = (total >= 0) & (field < radix)
        total = np.where(inside, total * radix + field, -1)
    return total


def radices(mechanism: Mechanism) -> list[int]:
    return radices_of(mechanism.every_report())


def radices_of(everything: Reports) -> list[int]:
    columns = (c.reshape(len(everything), -1).T for c in everything.columns.values())
    return [int(field.max()) + 1 for column in columns for field in column]


def p_value(
    mechanism: Mechanism, sample: Callable[[np.ndarray], Reports], *, shift: int = 0
) -> float:
    """Reports of `sample`, for each answer in turn, against the channel of `mechanism`."""
    rows = len(mechanism.channel().inputs)
    values = np.linspace(0, 1, rows) if mechanism.id in NUMERIC else np.arange(rows)
    digits = radices(mechanism)
    names = as_numbers(mechanism.every_report(), digits)
    order = np.argsort(names)
    collected = []
    for x, row in enumerate(mechanism.channel().matrix):
        drawn = as_numbers(sample(np.full(N, values[(x + shift) % rows])), digits)
        where = order[np.clip(np.searchsorted(names[order], drawn), 0, names.size - 1)]
        if not np.array_equal(names[where], drawn):
            return 0.0  # a report that the channel does not have
        collected.append(fit(np.bincount(where, minlength=names.size), row))
    return joined(collected)


@cases
def test_reports_follow_the_channel(kind: type[Mechanism], d, epsilon: float) -> None:
    mechanism = kind(d, epsilon=epsilon).tiny()
    spend("tiny", f"{kind.id} {d} {epsilon}", p_value(mechanism, mechanism.randomise))


@cases
def test_a_slightly_different_epsilon_is_noticed(kind, d, epsilon: float) -> None:
    mechanism, other = (kind(d, epsilon=e).tiny() for e in (epsilon, epsilon + 0.1))
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, other.randomise))


@cases
def test_a_report_never_sent_is_noticed(kind, d, epsilon: float) -> None:
    mechanism = kind(d, epsilon=epsilon).tiny()
    everything = mechanism.every_report()
    likeliest = int(mechanism.channel().matrix.sum(axis=0).argmax())
    instead = (likeliest + 1) % len(everything)
    digits = radices(mechanism)
    never = as_numbers(everything, digits)[likeliest]

    def sample(answers: np.ndarray) -> Reports:
        reports = mechanism.randomise(answers)
        gone = as_numbers(reports, digits) == never
        columns = {name: column.copy() for name, column in reports.columns.items()}
        for name, column in columns.items():
            column[gone] = everything.columns[name][instead]
        return replace(reports, columns=columns)

    with pytest.raises(RejectedError):
        judge(p_value(mechanism, sample))


@cases
def test_the_wrong_answer_is_noticed(kind, d, epsilon: float) -> None:
    mechanism = kind(d, epsilon=epsilon).tiny()
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, mechanism.randomise, shift=1))
