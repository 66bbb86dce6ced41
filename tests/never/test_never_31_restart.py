"""Never open sums over two different sets of parties with the same noise: double masking, or fresh
noise charged again.

With K = 10 and t = 2 a restart under the same noise turns ε = .1 into 4.08. A run opens one sum;
another run draws fresh noise under other masks, and is charged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ShareError
from sottovoce.parties import counting, machines
from sottovoce.transport import Batch, Role

from ..parties.attacks import loss, measured, share_pmf

SCHEMA = [sv.Attribute("ward", 3)]
ROWS = {"ward": [0, 1, 1, 2, 0]}


def test_the_difference_of_two_sums_would_show_one_party() -> None:
    study = sv.parties.Horizontal(SCHEMA, ["ward"], dict.fromkeys("ABCDEFGHIJ", 0.1), collusion=2)
    assert measured(study, "A", "BC") == pytest.approx(0.1, abs=1e-9)
    # The fault: c_j + η_j with a single share of noise.
    assert round(loss([share_pmf(20, 8, 1200)], 1, 2, 400), 2) == 4.08


def test_a_run_without_a_party_opens_nothing_and_another_run_has_fresh_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[bytes] = []

    def noise(release, party, source):  # type: ignore[no-untyped-def]
        share = counting.noise_shares(release, party, source)
        drawn.append(share.tobytes())
        return share

    monkeypatch.setattr(machines, "noise_shares", noise)
    study = sv.parties.Horizontal(SCHEMA, ["ward"], dict.fromkeys("ABC", 0.01), method="mh")
    frames = dict.fromkeys("ABC", ROWS)
    with pytest.raises(ShareError, match="masked vector of 'B' is missing; nothing was opened"):
        study.simulate(frames, tamper=lambda b: [] if _is_from(b, "masked", 1) else [b])
    study.simulate(frames)
    assert len(set(drawn)) == 6


def _is_from(batch: Batch, kind: str, sender: int) -> bool:
    return batch.kind == kind and int(batch.sender[0]) == sender


def test_parties_unmask_for_one_set_of_survivors_only() -> None:
    study = sv.parties.Horizontal(SCHEMA, ["ward"], dict.fromkeys("ABCDE", 1.0), dropouts=1)

    def twice(batch: Batch) -> list[Batch]:
        if batch.kind != "survivors":
            return [batch]
        other = np.array([[True, True, True, True, False]])
        return [batch, replace(batch, payload={"present": other})]

    run = study.simulate(dict.fromkeys("ABCDE", ROWS), tamper=twice)
    assert sum("named survivors twice" in why for why in run.refused) == 5
    sets = [b.payload["present"] for b in run.views.of(Role.CURATOR) if b.kind == "unmask"]
    assert len(sets) == 5
    assert all(named.all() for named in sets)
