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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sharing import Elements, seeds
from ..transport import EVERYONE, Batch, Outbox, Role
from .everyone import OTHERS, TOO_FEW
from .receiving import ONE, Bits, Form, Kept, Phase, RoundMachine, pack, unpack


@dataclass(frozen=True, eq=False, kw_only=True)
class SeedingUsers(RoundMachine[Phase]):
    """Users who send a share to each helper."""

    members: range
    helpers: int
    secrets: Elements
    role: Role = Role.USER

    def close(self, state: Phase, number: int) -> tuple[Phase, Outbox]:
        if number != 0:
            return state, Outbox()
        work = int(self.secrets.size) * (self.helpers - 1)
        return state, Outbox(self._shares(), sampled=work, added=work)

    def _shares(self) -> Iterator[Batch]:
        shares = seeds.share(self.field, self.secrets, self.helpers, source=self.source)
        mine = np.arange(len(self.members)) + self.members.start
        payloads = [*({"seed": of_helper} for of_helper in shares.seeds), {"rest": shares.rest}]
        for k, payload in enumerate(payloads):
            to = np.full(len(mine), k)
            yield Batch("share", 1, Role.USER, Role.HELPER, mine, to, payload)


@dataclass(frozen=True, eq=False)
class Held(Phase):
    """A helper's shares, one row per user, and whom the other helpers have."""

    shares: Kept
    others: dict[int, Bits] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Helper(RoundMachine[Held]):
    """One helper; the last one gets what remains of vectors, the others seeds.

    `least` is (a, b): of the first a people on the roster at least b must be in a sum that it
    opens.
    """

    index: int
    helpers: int
    least: tuple[int, int] = (0, 0)
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
            return "rest", (np.uint64, (self.items,))
        return "seed", (np.uint8, (seeds.SEED_BYTES,))

    def start(self) -> Held:
        _, (kind, shape) = self._form
        return Held(Kept.empty((self.people,), kind, shape))

    def forms(self) -> Mapping[str, Form]:
        name, form = self._form
        bits = (np.uint8, (-(-self.people // 8),))
        return {
            "share": Form(1, Role.USER, self.people, {name: form}),
            "have": Form(2, Role.HELPER, self.helpers, {"senders": bits}),
        }

    def take(self, state: Held, batch: Batch) -> tuple[Held, int]:
        if batch.kind == "have":
            rows = zip(batch.sender, batch.payload["senders"], strict=True)
            return replace(state, others=state.others | {int(k): row for k, row in rows}), 0
        shares = batch.payload[self._form[0]]
        if self._last:
            shares = self.field.check(shares)
        return replace(state, shares=state.shares.add(batch.sender, shares)), 0

    def close(self, state: Held, number: int) -> tuple[Held, Outbox]:
        if number == 1:
            mine = {"senders": pack(state.shares.once)[None]}
            me, to = np.array([self.index]), np.array([EVERYONE])
            return state, Outbox((Batch("have", 2, Role.HELPER, Role.HELPER, me, to, mine),))
        return self._open(state) if number == 2 else (state, Outbox())

    def _open(self, state: Held) -> tuple[Held, Outbox]:
        me = np.array([self.index])
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
            refusal = Batch("incomplete", 3, Role.HELPER, Role.AGGREGATOR, me, ONE, lost)
            return state, Outbox((refusal,))
        chosen = state.shares.values[agreed]
        if self._last:
            total = self.field.add_rows(chosen)
        else:
            total = seeds.add_expanded(self.field, chosen, self.items)
        payload: dict[str, NDArray[Any]] = {"sum": total[None], "senders": senders[None]}
        batch = Batch("sum", 3, Role.HELPER, Role.AGGREGATOR, me, ONE, payload)
        added = max(0, int(agreed.sum()) - 1) * self.items
        return replace(state, opened=senders.tobytes()), Outbox((batch,), added=added)
