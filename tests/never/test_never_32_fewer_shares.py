"""Never let a release carry noise shares of fewer parties than its account assumes.

All K parties add a share to every release, also where only some contribute counts; after drop-outs
so many remain that K − t − drop-outs of them are honest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ShareError
from sottovoce.parties import counting, machines
from sottovoce.parties.methods.registry import ROWS as METHODS
from sottovoce.transport import Batch

from ..parties.attacks import loss, measured, share_pmf

SCHEMA = [sv.Attribute("ward", 5)]
BUDGETS = {"A": 0.5, "B": 0.5, "C": 0.95, "D": 0.95, "E": 0.95}


@pytest.mark.parametrize("method", [name for name in METHODS if not name.startswith("mm")])
def test_every_release_has_the_shares_that_its_account_assumes(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    added: dict[str, list[str]] = {}

    def noise(release, party, source):  # type: ignore[no-untyped-def]
        if party in release.noise_from:
            added.setdefault(release.name, []).append(party)
        return counting.noise_shares(release, party, source)

    monkeypatch.setattr(machines, "noise_shares", noise)
    study = sv.parties.Horizontal(SCHEMA, ["ward"], BUDGETS, method=method, collusion=2, dropouts=1)
    run = study.simulate({key: {"ward": [0, 1, 2, 3, 4]} for key in "ABCDE"})
    for release in study.releases(None)[0]:
        assert sorted(added[release.name]) == sorted(release.noise_from)
        alone = release.honest == 1 and release.noise_from == tuple(release.weights)
        assert alone or release.honest == 2
        assert alone or release.noise_from == study.parties
    assert len(run.aggregates) == len(study.releases(None)[0])


def test_a_release_of_some_with_the_noise_of_some_costs_more() -> None:
    # ENGINES.md: Δε = .45 above the others, K = 3, t = 1; only the party itself and one other.
    study = sv.parties.Horizontal(SCHEMA, ["ward"], {"A": 0.5, "B": 0.5, "C": 0.95}, collusion=1)
    assert measured(study, "C", ["A"]) == pytest.approx(float(study.costs_of(None)["C"]), abs=1e-9)
    # The fault: the second release with the share of its one participant alone.
    scale = 2 / 0.45
    assert round(loss([share_pmf(scale, 2, 300)], 1, 2, 100), 2) == 1.60


def test_fewer_survivors_than_the_account_assumes_open_nothing() -> None:
    study = sv.parties.Horizontal(SCHEMA, ["ward"], BUDGETS, collusion=2, dropouts=1)

    def lost(batch: Batch) -> list[Batch]:
        return [] if batch.kind == "masked" and batch.sender[0] < 2 else [batch]

    with pytest.raises(ShareError, match="masked vectors of 'A', 'B' are missing, and only 1 may"):
        study.simulate({key: {"ward": [0, 1]} for key in "ABCDE"}, tamper=lost)


def test_parties_unmask_nothing_for_fewer_survivors_than_the_account_assumes() -> None:
    """Whatever the curator says: then fewer shares of noise would be in the sum."""
    study = sv.parties.Horizontal(SCHEMA, ["ward"], BUDGETS, collusion=2, dropouts=1)
    seen = []

    def few(batch: Batch) -> list[Batch]:
        if batch.kind == "unmask":
            seen.append(batch)
        if batch.kind != "survivors":
            return [batch]
        return [replace(batch, payload={"present": np.array([[True, True, True, False, False]])})]

    with pytest.raises(ShareError, match="nothing is unmasked for fewer"):
        study.simulate({key: {"ward": [0, 1]} for key in "ABCDE"}, tamper=few)
    assert seen == []
