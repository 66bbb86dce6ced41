"""Never let the dealer of correlated randomness be the curator, or any recipient of the result."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sottovoce.errors import ParameterError
from sottovoce.sharing import masks
from sottovoce.transport import Role
from sottovoce.transport.keys import KeyPair
from tests.parties.columns import split, study

ROWS = 8


def test_the_dealer_is_nobody_else() -> None:
    v = study(split((2, 2), ROWS)[0])
    keys = {name: KeyPair.generate() for name in ("A", "B", "curator", "dealer")}
    public = {name: pair.verify_key for name, pair in keys.items()}
    assert v.dealer_machine(keys["dealer"], public) is not None
    for name in ("A", "B", "curator"):
        with pytest.raises(ParameterError, match=f"'{name}' is the dealer as well"):
            v.dealer_machine(keys[name], public)


def _candidates() -> tuple[list[tuple[int, ...]], list[int]]:
    """Rows of B that fit what a curator sees who knows the seeds, and B's true rows."""
    schemas, frames, _ = split((2, 2), ROWS)
    v = study(schemas).with_method("mv")
    (release,) = v.releases(None)[0]
    views = v.simulate(frames, views=True).views
    seeds = next(b for b in views.batches if b.kind == "seed").payload["seed"]
    vectors = {
        int(b.sender[0]): b.payload["words32"][0] for b in views.batches if b.kind == "masked"
    }
    chain = v.product_plan(ROWS).chains[0]
    seed_a, seed_b = (row.tobytes() for row in seeds)
    a = chain.expand(seed_a, 1, "A", (ROWS, 2))
    b = chain.expand(seed_b, 1, "B", (ROWS, 2))
    c = chain.expand(seed_a, 1, "C", (2, 2))
    # A's share is Aᵀ(V − B) + C; what is left of A's message is Aᵀ V and A's share of the noise.
    left = vectors[0].reshape(2, 2) - c + a.T @ b
    reach = release.share_law.reach(1e-9)
    fitting = []
    for codes in itertools.product((0, 1), repeat=ROWS):
        hot = np.eye(2, dtype=np.uint32)[list(codes)]
        residual = (left - a.T @ hot).view(np.int32)
        if np.abs(residual).max() <= reach:
            fitting.append(codes)
    order = np.argsort(frames["B"]["person_id"])
    return fitting, frames["B"]["b"][order].tolist()


def test_a_curator_who_deals_finds_no_rows_behind_the_masks() -> None:
    fitting, _ = _candidates()
    assert fitting == []


def test_without_zero_shares_it_recovers_every_row(monkeypatch) -> None:
    """The fault: share and noise in clear. The dealer's seeds then undo what B opened."""
    monkeypatch.setattr(masks, "add_pairwise", lambda *arguments: None)
    fitting, rows = _candidates()
    assert [list(codes) for codes in fitting] == [rows]


def test_the_dealer_gets_numbers_of_rows_and_nothing_else() -> None:
    schemas, frames, _ = split((2, 3, 2), ROWS)
    views = study(schemas).simulate(frames, views=True).views
    seen = views.of(Role.DEALER)
    assert {batch.kind for batch in seen} == {"rows"}
    assert {int(n) for batch in seen for n in batch.payload["rows"]} == {ROWS}
