"""A secure sum through helper servers: 32 bytes to all of them but one, whatever the length.

Round 1   a user sends a seed to every helper but the last, and what remains of the vector to it
Round 2   helpers tell each other from whom they have exactly one share
Round 3   every helper adds up the shares of those whom all helpers have, and sends one sum
End       the aggregator adds the sums, if all helpers speak of the same people

The set of senders is agreed before any sum leaves a helper, and each opens one sum: people who
dropped out are left out, and no second set is ever opened with the same coins. Where the promise
rests on noise of so many people, a sum with fewer of them is not opened. All helpers but one
together learn nothing, as long as AES-256 looks random; all of them together see every vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..randomness import Source
from ..sharing import Elements, PrimeField, seeds
from ..transport import EVERYONE, Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import check_batch
from .everyone import OTHERS, TOO_FEW
from .receiving import Bits, pack, unpack


@dataclass(frozen=True, eq=False)
class SeedingUsers(Machine[int]):
    """Users who send a share to each helper; the state is the last closed round."""

    members: range
    helpers: int
    field: PrimeField
    secrets: Elements
    source: Source
    role: Role = Role.USER

    def start(self) -> int:
        return -1

    def step(self, state: int, inbox: Inbox) -> tuple[int, Outbox]:
        if inbox.closed is None:
            return state, Outbox()
        work = int(self.secrets.size) * (self.helpers - 1) if inbox.closed == 0 else 0
        batches = self._shares() if inbox.closed == 0 else ()
        return inbox.closed, Outbox(batches, sampled=work, added=work)

    def _shares(self) -> Iterator[Batch]:
        shares = seeds.share(self.field, self.secrets, self.helpers, source=self.source)
        mine = np.arange(len(self.members)) + self.members.start
        for k, of_helper in enumerate(shares.seeds):
            to = np.full(len(mine), k)
            yield Batch("share", 1, Role.USER, Role.HELPER, mine, to, {"seed": of_helper})
        to = np.full(len(mine), self.helpers - 1)
        yield Batch("share", 1, Role.USER, Role.HELPER, mine, to, {"rest": shares.rest})


@dataclass(frozen=True, eq=False)
class Held:
    """A helper's shares, one row per user, and whom the other helpers have.

    `opened` is the set of people whose shares the sum that left was of, as bits.
    """

    shares: NDArray[Any]
    have: NDArray[np.bool_]
    repeated: NDArray[np.bool_]
    others: dict[int, Bits]
    closed: int = -1
    opened: bytes | None = None


@dataclass(frozen=True, eq=False)
class Helper(Machine[Held]):
    """One helper.

    Attributes
    ----------
    least : (int, int)
        (a, b): of the first a people on the roster at least b must be in a sum that it opens.
    exactly : bytes, optional
        The only people of whom it may open a sum.
    """

    index: int
    helpers: int
    people: int
    field: PrimeField
    width: int
    least: tuple[int, int] = (0, 0)
    exactly: bytes | None = None
    role: Role = Role.HELPER

    @property
    def members(self) -> range:  # type: ignore[override]
        return range(self.index, self.index + 1)

    @property
    def _last(self) -> bool:
        return self.index == self.helpers - 1

    @property
    def _form(self) -> tuple[str, tuple[type[Any], tuple[int, ...]]]:
        """Name, type and shape of a user's share."""
        if self._last:
            return "rest", (np.uint64, (self.width,))
        return "seed", (np.uint8, (seeds.SEED_BYTES,))

    def start(self) -> Held:
        _, (kind, shape) = self._form
        shares = np.zeros((self.people, *shape), kind)
        nobody = np.zeros(self.people, bool)
        return Held(shares, nobody, nobody, {})

    def step(self, state: Held, inbox: Inbox) -> tuple[Held, Outbox]:
        for batch in inbox.batches:
            state = self._hear(state, batch)
        if inbox.closed is None:
            return state, Outbox()
        state = replace(state, closed=inbox.closed)
        if inbox.closed == 1:
            mine = {"senders": pack(state.have & ~state.repeated)[None]}
            me, to = np.array([self.index]), np.array([EVERYONE])
            return state, Outbox((Batch("have", 2, Role.HELPER, Role.HELPER, me, to, mine),))
        if inbox.closed == 2:
            return self._open(state)
        return state, Outbox()

    def _hear(self, state: Held, batch: Batch) -> Held:
        bits = -(-self.people // 8)
        if batch.kind == "have":
            columns = {"senders": (np.uint8, (bits,))}
            check_batch(batch, 2, state.closed, Role.HELPER, self.helpers, columns)
            rows = zip(batch.sender, batch.payload["senders"], strict=True)
            return replace(state, others=state.others | {int(k): row for k, row in rows})
        name, form = self._form
        check_batch(batch, 1, state.closed, Role.USER, self.people, {name: form})
        arrived = batch.payload[name]
        if self._last:
            arrived = self.field.check(arrived)
        counts = np.bincount(batch.sender, minlength=self.people)
        shares, have = state.shares.copy(), state.have.copy()
        shares[batch.sender], have[batch.sender] = arrived, True
        repeated = state.repeated | (counts > 1) | (state.have & (counts > 0))
        return replace(state, shares=shares, have=have, repeated=repeated)

    def _open(self, state: Held) -> tuple[Held, Outbox]:
        me, to = np.array([self.index]), np.zeros(1, np.int64)
        missing = [k for k in range(self.helpers) if k not in state.others]
        agreed = ~np.zeros(self.people, bool)
        for bits in state.others.values():
            agreed &= unpack(bits, self.people)
        senders, (first, least) = pack(agreed), self.least
        if int(agreed[:first].sum()) < least:
            missing.append(TOO_FEW)
        if self.exactly not in (None, senders.tobytes()):
            missing.append(OTHERS)
        if missing:
            lost = {"missing": np.array(missing[:1])}
            refusal = Batch("incomplete", 3, Role.HELPER, Role.AGGREGATOR, me, to, lost)
            return state, Outbox((refusal,))
        chosen = state.shares[agreed]
        if self._last:
            total = self.field.add_rows(chosen)
        else:
            total = seeds.add_expanded(self.field, chosen, self.width)
        payload: dict[str, NDArray[Any]] = {"sum": total[None], "senders": senders[None]}
        batch = Batch("sum", 3, Role.HELPER, Role.AGGREGATOR, me, to, payload)
        added = max(0, int(agreed.sum()) - 1) * self.width
        return replace(state, opened=senders.tobytes()), Outbox((batch,), added=added)
