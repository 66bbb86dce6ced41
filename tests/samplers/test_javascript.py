"""The JavaScript client draws what the channel says, from the system's randomness."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import Reports
from sottovoce.mechanisms import REGISTRY
from tests.js.node import of, run
from tests.laws.entries import NUMERIC
from tests.laws.subjects import small

from .budget import RejectedError, joined, judge, spend
from .statistics import fit

N = 20_000  # per answer
FAULTS = 0.4  # how much more epsilon a planted fault has


def menu(epsilon: float) -> Any:
    """Several rates: silence is a report as well."""
    return sv.Sampled(sv.GRR(3, epsilon=epsilon), rate=[0.5, 0.25])


CASES = [*REGISTRY, "sampled"]
cases = pytest.mark.parametrize("name", CASES)


def subject(name: str, epsilon: float) -> Any:
    return menu(epsilon) if name == "sampled" else small(REGISTRY[name], epsilon)


def answers(collection: Any) -> list[Any]:
    rows = len(collection.channel().inputs)
    if collection.id in NUMERIC:
        return np.linspace(collection.domain.low, collection.domain.high, rows).tolist()
    return list(collection.domain.labels)


@cache
def samples() -> dict[tuple[str, float], list[str]]:
    """Everything that is drawn, by one process."""
    subjects = {(name, e): subject(name, e) for name in CASES for e in (1.0, 1.0 + FAULTS)}
    requests = [
        {
            "command": "sample",
            **of(one),
            "choice": {"rate": 0.5 if one.sampled else None},
            "answers": answers(one),
            "n": N,
        }
        for one in subjects.values()
    ]
    replies = run(requests)
    return {key: reply["ok"] for key, reply in zip(subjects, replies, strict=True)}


def row_bytes(reports: Reports) -> list[bytes]:
    columns = [np.ascontiguousarray(c).reshape(len(reports), -1) for c in reports.columns.values()]
    return [b"".join(column[k].tobytes() for column in columns) for k in range(len(reports))]


def p_value(name: str, epsilon: float, *, shift: int = 0) -> float:
    """What was drawn at one epsilon, judged by the law at epsilon 1."""
    law, drawn_by = subject(name, 1.0), subject(name, epsilon)
    place = {row: k for k, row in enumerate(row_bytes(law.every_report()))}
    p_values = []
    drawn = samples()[name, epsilon]
    for x, row in enumerate(law.channel().matrix):
        raw = base64.b64decode(drawn[(x + shift) % len(drawn)])
        reports = Reports.from_bytes(raw, expect=drawn_by)
        counts = np.zeros(len(place), np.int64)
        for found in row_bytes(reports):
            if found not in place:
                return 0.0
            counts[place[found]] += 1
        p_values.append(fit(counts, row))
    return joined(p_values)


@cases
def test_reports_follow_the_channel(name: str) -> None:
    spend("javascript", name, p_value(name, 1.0))


@cases
def test_a_larger_epsilon_is_noticed(name: str) -> None:
    with pytest.raises(RejectedError):
        judge(p_value(name, 1.0 + FAULTS))


@cases
def test_the_wrong_answer_is_noticed(name: str) -> None:
    with pytest.raises(RejectedError):
        judge(p_value(name, 1.0, shift=1))
