"""A secure sum to the letter of Algorithm 2: every user sends one share to every user.

Round 1   user i splits their vector into n shares and sends share k to user k
Round 2   user k, who has exactly one share of everyone, sends the sum of them to the aggregator
End       the aggregator adds the n sums

Any users but one learn nothing from the shares; one missing share leaves a uniform total, so that
every user needs a share of everyone, and the aggregator the sums of all users. It costs n² N
elements.

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import WireError
from ..sharing import Elements, additive
from ..transport import Batch, Outbox, Role
from ..transport.checking import Columns
from .receiving import BLOCK, Form, Gathered, Outcome, Phase, RoundMachine, name_some, unpack

REPEATED, TOO_FEW, OTHERS = -1, -2, -3
#: Why somebody sends no sum, where it is not that somebody's share is missing.
WHY = {
    REPEATED: "two shares of one sender",
    TOO_FEW: "shares of fewer people than the promise needs",
    OTHERS: "shares of other people than the coins were used for",
}


@dataclass(frozen=True, eq=False)
class Adding(Phase):
    """The sums so far; at an aggregator also why some are missing, and of whom they are."""

    gathered: Gathered
    notes: tuple[str, ...] = ()
    groups: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class SharingUsers(RoundMachine[Adding]):
    """Users who share vectors with all users; `secrets` has a row per member."""

    members: range
    secrets: Elements
    role: Role = Role.USER

    def start(self) -> Adding:
        return Adding(Gathered.empty(len(self.members), self.items, self.people))

    def forms(self) -> Mapping[str, Form]:
        return {"share": Form(1, Role.USER, self.people, {"share": (np.uint64, (self.items,))})}

    def take(self, state: Adding, batch: Batch) -> tuple[Adding, int]:
        slot = batch.receiver - self.members.start
        if ((slot < 0) | (slot >= len(self.members))).any():
            raise WireError("a share is for one user; these came to nobody or to everyone")
        gathered = state.gathered.add(self.field, batch.payload["share"], batch.sender, slot)
        return replace(state, gathered=gathered), len(batch) * self.items

    def close(self, state: Adding, number: int) -> tuple[Adding, Outbox]:
        if number == 0:
            drawn = len(self.members) * (self.people - 1) * self.items
            return state, Outbox(self._shares(), sampled=drawn, added=drawn)
        if number == 1:
            # The first share of a sum is not added to anything.
            return state, Outbox(self._sums(state), added=-len(self.members) * self.items)
        return state, Outbox()

    def _shares(self) -> Iterator[Batch]:
        block = max(1, BLOCK // (self.people * self.items))
        everyone = np.arange(self.people)
        for start in range(0, len(self.members), block):
            secrets = self.secrets[start : start + block]
            shares = additive.share(self.field, secrets, self.people, source=self.source)
            mine = np.arange(start, start + len(secrets)) + self.members.start
            sender, receiver = np.tile(mine, self.people), np.repeat(everyone, len(mine))
            payload = {"share": shares.reshape(-1, self.items)}
            yield Batch("share", 1, Role.USER, Role.USER, sender, receiver, payload)

    def _sums(self, state: Adding) -> Iterator[Batch]:
        arrived, repeated = unpack(state.gathered.seen, self.people), state.gathered.repeated
        whole = arrived.all(axis=1) & ~repeated
        mine = np.arange(len(self.members)) + self.members.start
        to = np.zeros(len(mine), np.int64)
        payload = {"sum": state.gathered.totals[whole]}
        yield Batch("sum", 2, Role.USER, Role.AGGREGATOR, mine[whole], to[whole], payload)
        if not whole.all():
            first = np.where(repeated, REPEATED, arrived.argmin(axis=1))[~whole]
            lost = {"missing": first.astype(np.int64)}
            yield Batch("incomplete", 2, Role.USER, Role.AGGREGATOR, mine[~whole], to[~whole], lost)


@dataclass(frozen=True, eq=False, kw_only=True)
class Aggregator(RoundMachine[Adding]):
    """Adds one vector of each user or helper, or names why it cannot.

    Helpers say whose shares their sums are of; they must agree.
    """

    helpers: int = 0
    role: Role = Role.AGGREGATOR
    members: range = range(1)

    @property
    def parts(self) -> int:
        """How many vectors there are."""
        return self.helpers or self.people

    @property
    def sent_by(self) -> Role:
        """Whose they are."""
        return Role.HELPER if self.helpers else Role.USER

    def start(self) -> Adding:
        return Adding(Gathered.empty(1, self.items, self.parts))

    def forms(self) -> Mapping[str, Form]:
        columns: Columns = {"sum": (np.uint64, (self.items,))}
        if self.helpers:
            columns = {**columns, "senders": (np.uint8, (-(-self.people // 8),))}
        form = Form(3 if self.helpers else 2, self.sent_by, self.parts, columns)
        return {"sum": form, "incomplete": form._replace(columns={"missing": (np.int64, ())})}

    def take(self, state: Adding, batch: Batch) -> tuple[Adding, int]:
        if batch.kind == "incomplete":
            rows = list(zip(batch.sender, batch.payload["missing"], strict=True))[:5]
            notes = (
                f"{self.sent_by.value} {who} has {WHY.get(int(what), f'no share of {what}')}"
                for who, what in rows
            )
            return replace(state, notes=(*state.notes, *notes)), 0
        groups = {}
        if self.helpers:
            sets = zip(batch.sender, batch.payload["senders"], strict=True)
            groups = {int(k): row.tobytes() for k, row in sets}
        gathered = state.gathered.add(self.field, batch.payload["sum"], batch.sender)
        state = replace(state, gathered=gathered, groups=state.groups | groups)
        return state, len(batch) * self.items

    def close(self, state: Adding, number: int) -> tuple[Adding, Outbox]:
        if number != (3 if self.helpers else 2):
            return state, Outbox()
        return replace(state, outcome=self._outcome(state)), Outbox(added=-self.items)

    def _outcome(self, state: Adding) -> Outcome:
        arrived = unpack(state.gathered.seen, self.parts)[0]
        notes = list(state.notes)
        if not arrived.all():
            notes.append(f"no sum of {name_some(np.flatnonzero(~arrived), self.sent_by.value)}")
        if state.gathered.repeated[0]:
            notes.append(f"two sums of one {self.sent_by.value}")
        groups = set(state.groups.values())
        if len(groups) > 1:
            notes.append("the helpers added up shares of different people")
        if notes:
            return self.nothing("; ".join(notes))
        senders = np.ones(self.parts, bool)
        if self.helpers:
            senders = unpack(np.frombuffer(groups.pop(), np.uint8), self.people)
        return Outcome(state.gathered.totals[0], {}, senders)
