"""Missing, repeated, late or altered messages never yield a number: failed items are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import ShareError
from sottovoce.secure.protocol import Session
from sottovoce.transport import EVERYONE, Batch, Inbox

S = sv.secure
ITEMS = ["car", "bike", "train"]
VALUES = ["car", "bike", "car", "train", "car", "bike", "car", "bike"]
Tamper = Callable[[Batch], list[Batch]]


def dropping(
    kind: str, sender: int, *, receiver: int | None = None, item: int | None = None
) -> Tamper:
    def tamper(batch: Batch) -> list[Batch]:
        if batch.kind != kind:
            return [batch]
        gone = batch.sender == sender
        if receiver is not None:
            gone &= batch.receiver == receiver
        if item is not None:
            gone &= batch.order == item
        return [batch.select(~gone)]

    return tamper


def dropping_one(kind: str, item: int) -> Tamper:
    """One message about an item is lost."""
    lost: list[int] = []

    def tamper(batch: Batch) -> list[Batch]:
        rows = np.flatnonzero(batch.order == item)
        if batch.kind != kind or not rows.size or lost:
            return [batch]
        lost.append(int(rows[0]))
        return [batch.select(np.arange(len(batch)) != rows[0])]

    return tamper


def once(tamper: Tamper, kind: str) -> Tamper:
    """Only the first batch of a kind."""
    done: list[Batch] = []

    def first(batch: Batch) -> list[Batch]:
        if batch.kind != kind or done:
            return [batch]
        done.append(batch)
        return tamper(batch)

    return first


def repeating(kind: str) -> Tamper:
    return lambda batch: [batch, batch] if batch.kind == kind else [batch]


def altering(kind: str, column: str, change: Callable[[np.ndarray], np.ndarray]) -> Tamper:
    def tamper(batch: Batch) -> list[Batch]:
        if batch.kind != kind or column not in batch.payload:
            return [batch]
        return [replace(batch, payload={**batch.payload, column: change(batch.payload[column])})]

    return tamper


def late(kind: str) -> Tamper:
    """The messages of a kind come together with those of the next round."""
    held: list[Batch] = []

    def tamper(batch: Batch) -> list[Batch]:
        if batch.kind == kind:
            held.append(batch)
            return []
        return [*held, batch]

    return tamper


def one_more(column: np.ndarray) -> np.ndarray:
    changed = column.copy()
    changed[0, 0] = (int(changed[0, 0]) + 1) % 4_294_967_291
    return changed


def far(column: np.ndarray) -> np.ndarray:
    changed = column.copy()
    changed[0, 0] = (int(changed[0, 0]) + 1_000_000) % 4_294_967_291
    return changed


def no_element(column: np.ndarray) -> np.ndarray:
    changed = column.copy()
    changed[0, 0] = 4_294_967_295
    return changed


LETTER = lambda: S.DPDS(ITEMS, rate=0.5)  # noqa: E731
HELPERS = lambda: S.DPDS(ITEMS, rate=0.5, helpers=3)  # noqa: E731
ELECTED = lambda: S.TSS(ITEMS, rate=0.5, report=0.7, collusion=2)  # noqa: E731
COMMITTEE = lambda: S.TSS(ITEMS, rate=0.5, report=0.7, collusion=1, committee=4)  # noqa: E731


@pytest.mark.parametrize(
    ("protocol", "tamper", "match"),
    [
        (LETTER, dropping("share", 3, receiver=5), "user 5 has no share of 3"),
        (LETTER, dropping("share", 3), "has no share of 3"),
        (LETTER, dropping("sum", 2), "no sum of user 2"),
        (LETTER, repeating("share"), "two shares of one sender"),
        (LETTER, repeating("sum"), "two sums of one user"),
        (LETTER, late("share"), "came late"),
        (LETTER, altering("share", "share", far), "'car': its total lies outside"),
        (LETTER, altering("share", "share", no_element), "no element"),
        (LETTER, altering("share", "share", lambda c: c[:, :1]), "shape"),
        (LETTER, altering("share", "share", lambda c: c.astype(np.float64)), "float64"),
        (LETTER, lambda b: [replace(b, sender=b.sender + 9)], "roster"),
        (LETTER, lambda b: [replace(b, round=b.round + 5)], "belongs to"),
        (LETTER, lambda b: [replace(b, receiver=np.full(len(b), EVERYONE))], "to everyone"),
        (HELPERS, dropping("have", 1), "has no share of 1"),
        (HELPERS, dropping("sum", 1), "no sum of helper 1"),
        (HELPERS, repeating("sum"), "two sums of one helper"),
        (HELPERS, late("sum"), "no sum of helper"),
        (HELPERS, altering("sum", "sum", far), "total lies outside"),
        (HELPERS, altering("share", "rest", no_element), "fewer people than the promise"),
        (HELPERS, altering("have", "senders", lambda c: c[:, :0]), "shape"),
        (ELECTED, dropping_one("sum", 0), "'car': no sum of elected user"),
        (ELECTED, dropping_one("share", 1), "'bike': elected user"),
        (ELECTED, repeating("share"), "did not get exactly the shares due"),
        (ELECTED, repeating("sum"), "two sums"),
        (ELECTED, late("share"), "came late"),
        (ELECTED, dropping("elected", 0), "S1 elected nobody"),
        (ELECTED, altering("share", "share", no_element), "no element"),
        (ELECTED, altering("items", "items", np.zeros_like), "everyone reports 2"),
        (ELECTED, altering("elected", "elected", np.zeros_like), "twice"),
        (COMMITTEE, dropping("committee", 0), "members opened a sum"),
        # A member -1 would be everyone: all users would get its shares.
        (COMMITTEE, altering("committee", "member", lambda c: c - c.max() - 1), "no committee"),
        (COMMITTEE, once(altering("sum", "sum", one_more), "sum"), "contradicts"),
        (COMMITTEE, late("sum"), "0 members opened"),
        (COMMITTEE, repeating("sum"), "0 members opened"),
    ],
)
def test_no_number_comes_of_a_broken_run(protocol: Callable, tamper: Tamper, match: str) -> None:
    with testing.seeded(12) as source:
        session = protocol().session(VALUES, source=source)
        with pytest.raises(ShareError, match="(?s)no result.*" + match):
            session.run(tamper=tamper)


def test_a_missing_share_leaves_garbage_where_nobody_looks() -> None:
    """The planted fault: without the checks a sum is a number like any other."""
    from sottovoce.secure.everyone import SharingUsers
    from sottovoce.sharing import PrimeField

    field = PrimeField(1009)
    with testing.seeded(1) as source:
        secrets = np.ones((2, 1), np.uint64)
        users = SharingUsers(2, 1, field, source, members=range(2), secrets=secrets)
        state, outbox = users.step(users.start(), Inbox(closed=0))
        (sent,) = outbox.batches
        state, _ = users.step(state, Inbox((sent.select(np.arange(3)),)))
        assert int(field.add_rows(state.gathered.totals)[0]) != 2
        _, outbox = users.step(state, Inbox(closed=1))
        kinds = {batch.kind: len(batch) for batch in outbox.batches}
    assert kinds == {"sum": 1, "incomplete": 1}


def test_users_who_reach_only_some_helpers_are_left_out() -> None:
    protocol = S.BinomialNoise(ITEMS, epsilon=1.0, delta=1e-5, collusion=2, helpers=3)
    values = VALUES * 20
    with testing.seeded(3) as source:
        session = protocol.session(values, source=source)
        run = session.run(tamper=dropping("share", 7, receiver=2))
        assert run.aggregate.people == 159
        rows = np.delete(session._prepared.rows, 7, axis=0)
        assert run.aggregate.dense("support").tolist() == rows.sum(axis=0).tolist()
        noise = run.aggregate.route.noise
        assert noise.variance == (protocol.arrived(160, None) - 1) / 4
        promise = run.aggregate.route.guarantee.promises[0]
        # One of those who may collude or drop out is gone; nobody else may collude.
        assert promise.delta == 1e-5
        assert any("at most 1 work together" in sentence for sentence in promise.assuming)


@pytest.mark.parametrize(
    "protocol",
    [
        S.BinomialNoise(ITEMS, epsilon=1.0, delta=1e-5, collusion=1, helpers=3),
        S.Dummies(ITEMS, rate=0.4, epsilon=1.0, delta=1e-5, collusion=1, helpers=3),
        S.DPDG(ITEMS, epsilon=1.0, delta=1e-5, collusion=2, helpers=3),
    ],
    ids=lambda protocol: protocol.name,
)
def test_a_sum_with_less_noise_than_promised_is_not_opened(protocol: sv.secure.Protocol) -> None:
    def lost(batch: Batch) -> list[Batch]:
        return [batch.select(batch.sender > 1)] if batch.kind == "share" else [batch]

    with testing.seeded(3) as source:
        session = protocol.session(VALUES * 20, source=source)
        with pytest.raises(ShareError, match="fewer people than the promise needs"):
            session.run(tamper=lost)


def test_a_user_who_sends_twice_is_left_out_by_helpers() -> None:
    def twice(batch: Batch) -> list[Batch]:
        return [batch, batch.select(batch.sender == 5)] if batch.kind == "share" else [batch]

    with testing.seeded(3) as source:
        session = HELPERS().session(VALUES, source=source)
        assert session.run(tamper=twice).aggregate.people == 7


@pytest.mark.parametrize("kinds", [("have",), ("have", "agreed", "sum"), ("sum",)])
def test_a_committee_survives_a_member_who_drops_out(kinds: tuple[str, ...]) -> None:
    with testing.seeded(3) as source:
        session = COMMITTEE().session(VALUES, source=source)
        seats: list[int] = []

        def gone(batch: Batch) -> list[Batch]:
            if batch.kind == "committee":
                seats[:] = batch.payload["member"].tolist()
            if batch.kind in kinds:
                return [batch.select(batch.sender != seats[0])]
            return [batch]

        run = session.run(tamper=gone)
        prepared = session._prepared
        expected = (prepared.rows * prepared.sets).sum(axis=0)
        assert run.aggregate.dense("support").tolist() == expected.tolist()


def test_a_user_who_reaches_only_some_members_is_left_out() -> None:
    with testing.seeded(3) as source:
        session = COMMITTEE().session(VALUES, source=source)

        def partly(batch: Batch) -> list[Batch]:
            if batch.kind != "share":
                return [batch]
            gone = (batch.sender == 6) & (batch.receiver == batch.receiver.min())
            partly.calls += 1  # type: ignore[attr-defined]
            return [batch.select(~gone)] if partly.calls == 1 else [batch]  # type: ignore[attr-defined]

        partly.calls = 0  # type: ignore[attr-defined]
        run = session.run(tamper=partly)
        assert run.aggregate.people == 7


def test_too_few_people_for_the_collusion_elect_nobody() -> None:
    def lost(batch: Batch) -> list[Batch]:
        return [batch.select(batch.sender < 2)] if batch.kind == "items" else [batch]

    with testing.seeded(3) as source:
        session = ELECTED().session(VALUES, source=source)
        with pytest.raises(ShareError, match="elected nobody"):
            session.run(tamper=lost)


# --- again -------------------------------------------------------------------------------------


def same_coins(session: Session) -> np.ndarray:
    assert session._prepared is not None
    return session._prepared.rows


@pytest.mark.parametrize(
    ("protocol", "tamper"),
    [
        (LETTER, dropping("sum", 2)),
        (HELPERS, dropping("sum", 1)),
        (ELECTED, repeating("sum")),
        (COMMITTEE, late("sum")),
    ],
)
def test_the_same_senders_keep_their_coins_and_others_draw_fresh_ones(
    protocol: Callable, tamper: Tamper
) -> None:
    values = VALUES * 8
    with testing.seeded(21) as source:
        session = protocol().session(values, source=source)
        with pytest.raises(ShareError):
            session.run(tamper=tamper)
        drawn = same_coins(session)
        first = session.run()
        again = session.run()
        assert session.rounds == 1
        assert same_coins(session) is drawn
        assert first.aggregate == again.aggregate
        survivors = np.arange(len(values)) != 2
        session.run(present=survivors)
        assert session.rounds == 2
        assert not np.array_equal(same_coins(session), drawn[survivors])
        session.run()
        assert session.rounds == 3


def test_after_a_smaller_sum_was_opened_the_same_coins_are_never_used_again() -> None:
    with testing.seeded(22) as source:
        session = HELPERS().session(VALUES * 4, source=source)
        assert session.run(tamper=dropping("share", 7, receiver=2)).aggregate.people == 31
        drawn = same_coins(session)
        assert session.run().aggregate.people == 32
        assert session.rounds == 2
        assert same_coins(session) is not drawn


def test_with_used_coins_only_the_identical_senders_are_opened() -> None:
    with testing.seeded(23) as source:
        session = HELPERS().session(VALUES * 4, source=source)
        session.run()
        with pytest.raises(ShareError, match="no result"):
            session.run(tamper=dropping("share", 7, receiver=2))
        assert session.rounds == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: S.DPDS(ITEMS, rate=0.4, count=60, delta=1e-3),
        lambda: S.BinomialNoise(ITEMS, epsilon=1.0, delta=1e-5),
        lambda: S.DPDG(ITEMS, epsilon=1.0, delta=1e-5),
        lambda: S.Dummies(ITEMS, rate=0.4, epsilon=1.0, delta=1e-5),
        lambda: S.Suppressed(ITEMS, rate=0.4, epsilon=1.0, delta=1e-5, neighbours="add-remove"),
        lambda: S.TSS(ITEMS, rate=0.4, report=0.7, count=60, delta=1e-2, collusion=1),
    ],
)
def test_the_guarantee_of_a_second_round_says_so_and_is_weaker(make: Callable) -> None:
    protocol = make()
    once, twice = (protocol.promise(200, None, rounds) for rounds in (1, 2))
    for before, after in zip(once.promises, twice.promises, strict=True):
        assert after.subject == before.subject
        assert any("2 rounds" in sentence for sentence in after.assuming)
        if before.epsilon > 0:
            assert after.epsilon > before.epsilon or after.delta > before.delta
