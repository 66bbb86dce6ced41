"""Batches travel as they are, or not at all; the driver records what was seen and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sottovoce.errors import DigestError, ParameterError, ShareError, WireError
from sottovoce.transport import (
    EVERYONE,
    Batch,
    Envelope,
    Inbox,
    Machine,
    Outbox,
    Role,
    decode_batch,
    drive,
    encode_batch,
)

ENVELOPE = Envelope(bytes(range(32)), bytes(16))


def batch(rows: int = 3) -> Batch:
    k = np.arange(rows)
    payload = {
        "share": np.arange(rows * 2, dtype=np.uint64).reshape(rows, 2),
        "ids": k.astype(np.int32),
        "have": np.ones((rows, 4), bool),
    }
    return Batch("shares", 2, Role.USER, Role.HELPER, k, k[::-1].copy(), payload, k * 5)


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_a_batch_survives_the_wire(rows: int) -> None:
    sent = batch(rows)
    data = encode_batch(sent, ENVELOPE)
    read = decode_batch(data, expect=ENVELOPE)
    assert (read.kind, read.round, read.sent_by, read.sent_to) == ("shares", 2, *_roles(sent))
    assert encode_batch(read, ENVELOPE) == data
    assert all(np.array_equal(read.payload[name], sent.payload[name]) for name in sent.payload)
    assert np.array_equal(read.order, sent.order)


def _roles(sent: Batch) -> tuple[Role, Role]:
    return sent.sent_by, sent.sent_to


def test_every_truncation_and_extension_is_refused() -> None:
    data = encode_batch(batch(2), ENVELOPE)
    for cut in range(len(data)):
        with pytest.raises(WireError):
            decode_batch(data[:cut], expect=ENVELOPE)
    with pytest.raises(WireError):
        decode_batch(data + b"\0", expect=ENVELOPE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"round":2', b'"round": 2'),
        (b'"round":2', b'"round":-2'),
        (b'"rows":3', b'"rows":4'),
        (b'"sent_by":"user"', b'"sent_by":"tree"'),
        (b'"<u8"', b'"<f8"'),
        (b'"<u8"', b'"|O8"'),
        (b'"<u8",[2]', b'"<u8",[' + b"1," * 99 + b"2]"),
        (b'"<u8",[2]', b'"<u8",[4294967295,4294967295,0]'),
        (b"SVMB\x01", b"SVMB\x02"),
    ],
)
def test_another_head_is_refused(old: bytes, new: bytes) -> None:
    data = encode_batch(batch(), ENVELOPE)
    assert old in data
    changed = data.replace(old, new, 1)
    shift = len(new) - len(old)
    length = int.from_bytes(data[8:12], "little") + shift
    changed = changed[:8] + length.to_bytes(4, "little") + changed[12:]
    with pytest.raises(WireError):
        decode_batch(changed, expect=ENVELOPE)


def test_another_study_or_session_is_refused() -> None:
    data = encode_batch(batch(), ENVELOPE)
    for other in (Envelope(bytes(32), bytes(16)), Envelope(bytes(range(32)), b"x" * 16)):
        with pytest.raises(DigestError, match="another study or session"):
            decode_batch(data, expect=other)


def test_columns_must_have_a_row_per_message() -> None:
    k = np.arange(2)
    with pytest.raises(WireError, match="one row"):
        Batch("x", 1, Role.USER, Role.HELPER, k, k, {"a": np.zeros(3, np.uint64)})
    with pytest.raises(WireError, match="per message"):
        Batch("x", 1, Role.USER, Role.HELPER, k, k[:1])


@dataclass(frozen=True)
class Greeter(Machine[int]):
    """Users tell everyone a number; the sum of what a host hears is its state."""

    members: range
    role: Role = Role.USER

    def start(self) -> int:
        return 0

    def step(self, state: int, inbox: Inbox) -> tuple[int, Outbox]:
        for arrived in inbox.batches:
            if (arrived.payload["number"] > 100).any():
                raise ShareError(f"user {arrived.sender[0]} sent too large a number")
            state += int(arrived.payload["number"].sum())
        if inbox.closed != 0:
            return state, Outbox()
        k = np.arange(self.members.start, self.members.stop)
        to = np.full(k.size, EVERYONE)
        payload = {"number": k.astype(np.uint64)}
        sent = Batch("hello", 1, Role.USER, Role.USER, k, to, payload)
        return state, Outbox((sent,), sampled=k.size)


def test_the_driver_delivers_records_and_counts() -> None:
    run = drive([Greeter(range(0, 2)), Greeter(range(2, 5))], 1)
    assert run.states == [10, 10]
    cost = run.costs[Role.USER]
    assert (cost.messages, cost.elements, cost.bytes, cost.sampled) == (5 * 4, 5 * 4, 0, 5)
    assert sum(len(seen) for seen in run.views.of(Role.USER, 4)) == 5
    assert run.views.of(Role.HELPER) == ()


def test_a_refused_batch_leaves_the_state_and_is_named() -> None:
    def tamper(sent: Batch) -> list[Batch]:
        if sent.sender[0] != 0:
            return [sent]
        large: dict[str, Any] = {"number": sent.payload["number"] + np.uint64(500)}
        return [Batch("hello", 1, Role.USER, Role.USER, sent.sender, sent.receiver, large)]

    run = drive([Greeter(range(0, 2)), Greeter(range(2, 5))], 1, tamper=tamper)
    assert run.states == [9, 9]
    assert run.refused == ("user 0 sent too large a number",) * 2


def test_views_that_were_not_kept_are_not_shown() -> None:
    run = drive([Greeter(range(3))], 1, views=False)
    with pytest.raises(ParameterError, match="kept"):
        run.views.of(Role.USER)
