"""How often people have drawn coins, as their hosts state it in a run between machines.

A promise counts every round in which these people drew coins for the same question and protocol.
The last server's own count is not enough: it does not know of rounds that another server ran, that
came before it had its key, or that it joined and crashed in before it could note them. Hosts do
know, since they note a session before they send anything. So each states to the last server in
round 1 how many rounds its people are in, this one included, and the largest number counts. Without
a statement from the hosts of all who are in the result there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from ..errors import ShareError, WireError
from ..transport import Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import Columns, check_batch
from ..transport.keys import Roster
from .receiving import ONE, Outcome, Phase

_KIND = "rounds"
_COLUMNS: Columns = {"rounds": (np.int64, ())}
#: An account of more rounds takes too long, and promises nothing.
MOST_ROUNDS = 1_000


class StatingUsers(Machine[Any]):
    """A host's users, of whom the first says how many rounds they all are in.

    `rounds` is asked when the run begins, after its session was noted.
    """

    def __init__(self, machine: Machine[Any], rounds: Callable[[], int], to: Role) -> None:
        self.role, self.members = machine.role, machine.members
        self._machine, self._rounds, self._to = machine, rounds, to

    def start(self) -> Any:
        return self._machine.start()

    def step(self, state: Any, inbox: Inbox) -> tuple[Any, Outbox]:
        state, outbox = self._machine.step(state, inbox)
        if inbox.closed != 0:
            return state, outbox
        batches = chain((self._notice(),), outbox.batches)
        return state, Outbox(batches, outbox.sampled, outbox.added)

    def _notice(self) -> Batch:
        payload = {"rounds": np.array([self._rounds()], np.int64)}
        first = np.array([self.members.start])
        return Batch(_KIND, 1, Role.USER, self._to, first, ONE, payload)


@dataclass(frozen=True, eq=False)
class WithRounds:
    """The last server's state, and how many rounds each host stated, by its first user."""

    inner: Phase
    rounds: dict[int, int] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome | None:
        return self.inner.outcome

    @property
    def opened(self) -> bytes | None:
        return self.inner.opened


class CollectingServer(Machine[WithRounds]):
    """The last server, which also collects what hosts state."""

    def __init__(self, machine: Machine[Any], people: int) -> None:
        self.role, self.members = machine.role, machine.members
        self._machine, self._people = machine, people

    def start(self) -> WithRounds:
        return WithRounds(self._machine.start())

    def step(self, state: WithRounds, inbox: Inbox) -> tuple[WithRounds, Outbox]:
        stated = dict(state.rounds)
        for batch in inbox.batches:
            if batch.kind == _KIND:
                self._take(stated, batch, state.inner.closed)
        others = tuple(batch for batch in inbox.batches if batch.kind != _KIND)
        inner, outbox = self._machine.step(state.inner, Inbox(others, inbox.closed))
        return WithRounds(inner, stated), outbox

    def _take(self, stated: dict[int, int], batch: Batch, closed: int) -> None:
        check_batch(batch, 1, closed, Role.USER, self._people, _COLUMNS)
        rows = zip(batch.sender.tolist(), batch.payload["rounds"].tolist(), strict=True)
        for who, rounds in rows:
            if not 1 <= rounds <= MOST_ROUNDS:
                raise WireError(
                    f"the host of user {who} says that its people drew coins {rounds:,} times; "
                    f"1 to {MOST_ROUNDS:,} times can be accounted for"
                )
            stated[who] = max(rounds, stated.get(who, 0))


def stated_rounds(roster: Roster, state: WithRounds) -> int:
    """The most rounds that people of any host are in; ShareError where a statement is missing."""
    senders = None if state.outcome is None else state.outcome.senders
    needed = 0 if senders is None else int(senders.sum())
    hosts = [party for party in roster if party.role is Role.USER]
    stated = sum(one.users for one in hosts if roster.members(one.id).start in state.rounds)
    if stated < needed:
        raise ShareError(
            f"no result: {needed:,} people are in it, and the hosts of {stated:,} have said how "
            "often their people drew coins, so nothing can be promised"
        )
    return max(state.rounds.values(), default=1)
