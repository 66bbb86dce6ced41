"""Batches as parcels, and back: for one party, with its keys and the roster.

What is opened is what the sender may send to this party in this round: sealed by the key that the
roster pins, in the name of its own members, to members of this party, and delivered once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import ShareError, WireError
from .batch import Batch
from .keys import KeyPair, Party, Roster
from .sealing import Head, check_head, read_head, seal, token, unseal
from .wire import Envelope, decode_batch, encode_batch

_PARCEL_BYTES = 1 << 24  # rows are divided into parcels of about this size


@dataclass(frozen=True)
class Seat:
    """A party's place in a study."""

    roster: Roster
    study: bytes  # digest of the protocol and the roster (`Roster.bind`)
    keys: KeyPair  # of this party

    @cached_property
    def party(self) -> Party:
        """The party whose keys these are."""
        return self.roster.holder(self.keys)

    @cached_property
    def members(self) -> range:
        """The members of its role that it plays."""
        return self.roster.members(self.party.id)

    def token(self) -> str:
        """What this party shows to the relay."""
        return token(self.keys, self.roster.relay.key, self.study, self.keys.public)

    def tokens(self, study: bytes | None = None) -> dict[str, str]:
        """At the relay: what every other party shows, by its name; also for another study."""
        about = self.study if study is None else study
        others = (party for party in self.roster if party.key != self.keys.public)
        return {party.id: token(self.keys, party.key, about, party.key) for party in others}


@dataclass
class Post:
    """Seals and opens for one party in one session."""

    seat: Seat
    session: bytes
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)
    opened: set[tuple[str, str, int, int]] = field(default_factory=set)

    @property
    def envelope(self) -> Envelope:
        return Envelope(self.seat.study, self.session)

    def parcels(self, batch: Batch) -> Iterator[bytes]:
        """The parcels of a batch to other parties."""
        for party in self.seat.roster:
            if party.role is not batch.sent_to or party.id == self.seat.party.id:
                continue
            rows = batch.for_members(self.seat.roster.members(party.id))
            step = max(1, _PARCEL_BYTES // (rows.message_bytes + 24))
            for start in range(0, len(rows), step):
                whole = len(rows) <= step
                some = np.arange(start, min(start + step, len(rows)))
                yield self._seal(rows if whole else rows.select(some), party)

    def _seal(self, batch: Batch, party: Party) -> bytes:
        sequence = self.sequences.get((party.id, batch.round), 0)
        self.sequences[party.id, batch.round] = sequence + 1
        run, between = (self.seat.study.hex(), self.session.hex()), (self.seat.party.id, party.id)
        head = Head(*run, batch.round, batch.kind, *between, sequence)
        return seal(encode_batch(batch, self.envelope), head, self.seat.keys, party.key)

    def open(self, parcel: bytes, round_number: int) -> Batch:
        """The batch in a parcel, if it is one that its sender may send to this party now."""
        head = read_head(parcel)
        check_head(head, self.seat.roster, self.seat.study, self.session)
        if head.receiver != self.seat.party.id:
            raise WireError(f"{head.name} was delivered to {self.seat.party.id}; refused")
        if head.round != round_number:
            raise WireError(f"{head.name} was delivered in round {round_number}; refused")
        if head.place in self.opened:
            raise ShareError(f"{head.name} was delivered twice; it is counted once")
        sender = self.seat.roster.party(head.sender)
        batch = decode_batch(unseal(parcel, self.seat.keys, sender.key), expect=self.envelope)
        if (batch.kind, batch.round) != (head.kind, head.round):
            raise WireError(f"{head.name} contains messages of another kind or round; refused")
        members = self.seat.roster.members(sender.id)
        known = (batch.sender >= members.start) & (batch.sender < members.stop)
        if batch.sent_by is not sender.role or not known.all():
            raise WireError(f"{head.name} contains messages in the name of others; refused")
        meant = batch.reaches(self.seat.members).all()
        if batch.sent_to is not self.seat.party.role or not meant:
            raise WireError(f"{head.name} contains messages to others; refused")
        self.opened.add(head.place)
        return batch
