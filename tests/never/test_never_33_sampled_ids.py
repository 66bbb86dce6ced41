"""Never exchange sampled ids or publish sample sizes (SAH, SAV): unsampled rows are zeroed in
secret.

Who is in a sample is drawn by each party alone, leaves no trace in its messages or state, and is
drawn afresh for every release.
"""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.parties import counting
from sottovoce.transport import Role
from tests.parties.columns import split
from tests.parties.columns import study as columns_study

SCHEMA = [sv.Attribute("ward", 50)]
ROWS = {"ward": np.repeat(np.arange(50), 4)}


def test_samples_stay_with_the_party(monkeypatch: pytest.MonkeyPatch) -> None:
    samples: list[np.ndarray] = []
    flips = counting.flips

    def recorded(chances, which, source):  # type: ignore[no-untyped-def]
        samples.append(flips(chances, which, source))
        return samples[-1]

    monkeypatch.setattr(counting, "flips", recorded)
    study = sv.parties.Horizontal(SCHEMA, ["ward"], {"A": 0.5, "B": 2.0}, method="sah")
    run = study.simulate(dict.fromkeys("AB", ROWS))
    (kept,) = samples  # B has the largest budget and keeps every row
    assert 0 < kept.sum() < kept.size
    sent = {b.kind for b in run.views.of(Role.PARTY)} | {b.kind for b in run.views.of(Role.CURATOR)}
    assert sent == {"hello", "kept", "masked", "receipt"}
    for batch in run.views.batches:
        if batch.kind == "kept":  # what a party remembers is its secret key
            assert set(batch.payload) == {"secret"}
            continue
        parts = [np.packbits(kept).tobytes(), int(kept.sum()).to_bytes(8, "little")]
        for column in batch.payload.values():
            assert not any(part in column.tobytes() for part in parts)
    # Drawn again for every release: the same rows are not kept twice.
    study.simulate(dict.fromkeys("AB", ROWS))
    assert (samples[0] != samples[1]).any()


def test_where_columns_are_split_rows_are_zeroed_and_nothing_shows_how_many() -> None:
    schemas, frames, _ = split((2, 3, 2), 200)
    study = columns_study(schemas).with_method("sav")
    forms = []
    for _ in range(2):
        views = study.simulate(frames, views=True).views
        samples = [batch for batch in views.batches if batch.kind == "sample"]
        assert len(samples) == 2  # the party with the largest budget keeps every row
        assert all((batch.sender == batch.receiver).all() for batch in samples)
        forms.append([
            (batch.kind, {name: column.shape for name, column in batch.payload.items()})
            for batch in views.batches
            if batch.kind not in ("sample", "receipt")
        ])  # fmt: skip
    assert forms[0] == forms[1]  # other rows were kept, and every message has the same form
