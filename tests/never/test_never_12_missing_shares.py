"""Never let a missing share pass: name the failed items instead.

Every single message of small runs is lost in turn. Either there is no number, and the error names
items, or it is the exact count of the people who were left.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import ShareError
from sottovoce.transport import Batch

S = sv.secure
VALUES = ["a", "b", "b", "a", "b"]
CASES = {
    "dpds": (lambda: S.DPDS(["a", "b"], rate=1.0), False),
    "helpers": (lambda: S.DPDS(["a", "b"], rate=1.0, helpers=2), True),
    "noise": (lambda: S.BinomialNoise(["a", "b"], epsilon=1.0, collusion=2, helpers=2), True),
    "dpdg": (lambda: S.DPDG(["a", "b"], epsilon=1.0), False),
    "tss": (lambda: S.TSS(["a", "b"], rate=1.0, report=0.5, collusion=1), True),
    "committee": (
        lambda: S.TSS(["a", "b"], rate=1.0, report=0.5, collusion=1, committee=4),
        True,
    ),
}


def losing(lost: int) -> tuple[Callable[[Batch], list[Batch]], list[Batch]]:
    """The message with that number does not arrive; what it was."""
    before, which = [0], []

    def tamper(batch: Batch) -> list[Batch]:
        row = lost - before[0]
        before[0] += len(batch)
        if not 0 <= row < len(batch):
            return [batch]
        which.append(batch.select(np.array([row])))
        return [batch.select(np.arange(len(batch)) != row)]

    return tamper, which


@pytest.mark.parametrize("name", CASES)
def test_every_message_lost_in_turn(name: str) -> None:
    make, survives = CASES[name]
    protocol, failed, numbers, lost = make(), 0, 0, 0
    while True:
        tamper, which = losing(lost)
        with testing.seeded(31) as source:
            session = protocol.session(VALUES, source=source)
            error = ""
            try:
                run = session.run(tamper=tamper)
            except ShareError as refused:
                error = str(refused)
            if error:
                assert re.search(r"no result.*('a'|'b'|nobody)", error)
                failed += 1
            else:
                prepared = session._prepared
                rows = prepared.rows if prepared.sets is None else prepared.rows * prepared.sets
                allowed = [rows.sum(axis=0)]
                if which and run.aggregate.people == 4:
                    allowed = [np.delete(rows, int(which[0].sender[0]), axis=0).sum(axis=0)]
                counts = run.aggregate.dense("support").tolist()
                assert counts in [protocol.scale(total, 5).tolist() for total in allowed]
                numbers += 1
        if not which:
            break
        lost += 1
    assert lost > 10
    assert numbers >= 1  # the last run, in which nothing was lost
    assert (numbers > 1) == survives
    assert failed > 0 or name == "committee"
