"""SAV: dropped rows are rows of zeros, and nobody learns which or how many."""

from __future__ import annotations

import numpy as np

from sottovoce.parties.products import keep, products_of
from sottovoce.transport import Role

from .columns import opened, split, study, without_noise


def kept_rows(run, member, rows):
    """The rows that a party kept, from what it sent to itself."""
    for batch in run.views.of(Role.PARTY, member):
        if batch.kind == "sample":
            return np.unpackbits(batch.payload["bits"][0], count=rows, bitorder="little") == 1
    return np.ones(rows, bool)


def test_the_table_is_that_of_the_rows_that_all_parties_keep(monkeypatch):
    without_noise(monkeypatch)
    schemas, frames, _ = split((2, 3, 2), 200)
    v = study(schemas).with_method("sav")
    run = v.simulate(frames, views=True)
    kept = np.all([kept_rows(run, k, 200) for k in range(3)], axis=0)
    assert 0 < kept.sum() < 200
    codes = []
    for name in "ABC":  # a party's rows are sorted by key, as text
        order = np.argsort(frames[name]["person_id"].astype(str))
        codes.append(frames[name][name.lower()][order])
    table = np.zeros((2, 3, 2), np.int64)
    np.add.at(table, tuple(column[kept] for column in codes), 1)
    assert opened(run)["sampled"].tolist() == table.ravel().tolist()


def test_samples_never_leave_their_party():
    schemas, frames, _ = split((2, 3, 2), 200)
    run = study(schemas).with_method("sav").simulate(frames, views=True)
    samples = [batch for batch in run.views.batches if batch.kind == "sample"]
    assert len(samples) == 2  # the party with the largest budget keeps all rows
    assert all((batch.sender == batch.receiver).all() for batch in samples)
    # What others get has one form, whatever was kept: rows are zeroed, not left out.
    opens = [batch for batch in run.views.batches if batch.kind == "open"]
    assert {batch.payload["words"].shape[1] for batch in opens} == {200}
    again = study(schemas).with_method("sav").simulate(frames, views=True)
    sizes = [[b.payload["words"].shape for b in r.views.batches if b.kind == "open"]
             for r in (run, again)]  # fmt: skip
    assert sizes[0] == sizes[1]


def test_a_dropped_row_looks_like_any_other():
    """The fault: rows left out instead of zeroed would show the size of the sample."""
    codes = np.array([0, 1, 2, 1])
    bits = np.packbits([1, 0, 1, 0], bitorder="little")
    assert keep(codes, bits).tolist() == [0, -1, 2, -1]
    assert keep(codes, None).tolist() == codes.tolist()


def test_releases_without_sampling_share_one_product():
    schemas, _, _ = split((2, 3, 2), 10)
    plain = products_of(study(schemas).releases(None)[0])
    assert [product.releases for product in plain] == [(0, 1, 2)]
    (sampled,) = products_of(study(schemas).with_method("sav").releases(None)[0])
    assert set(sampled.kept) == {"A", "B", "C"}
