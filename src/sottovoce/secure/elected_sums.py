"""S2 of two-stage sampling: adds the sums of all elected users, or names why it cannot.

`elected` says what happens in which round.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError
from ..sharing import PrimeField
from ..transport import Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import Columns, check_batch
from .elected import elected_lists
from .everyone import Gathered
from .receiving import Outcome, unpack


@dataclass(frozen=True, eq=False)
class Summed:
    """What S2 has arrived."""

    elected: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    people: int = 0
    sums: dict[int, Gathered] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    closed: int = -1
    outcome: Outcome | None = None


@dataclass(frozen=True, eq=False)
class Summer(Machine[Summed]):
    """S2."""

    people: int
    items: int
    field: PrimeField
    role: Role = Role.S2
    members: range = range(1)

    def start(self) -> Summed:
        return Summed()

    def step(self, state: Summed, inbox: Inbox) -> tuple[Summed, Outbox]:
        added = 0
        for batch in inbox.batches:
            if batch.kind == "elected":
                columns = {"elected": (np.int64, ()), "people": (np.int64, ())}
                check_batch(batch, 2, state.closed, Role.S1, 1, columns)
                lists = elected_lists(batch, self.items, self.people)
                present = int(batch.payload["people"][0]) if len(batch) else 0
                state = replace(state, elected=lists, people=present)
                continue
            state, more = self._hear(state, batch)
            added += more
        if inbox.closed is None:
            return state, Outbox(added=added)
        state = replace(state, closed=inbox.closed)
        if inbox.closed == 4:
            state = replace(state, outcome=self._finish(state))
            added = -sum(bool(g.seen.any()) for g in state.sums.values())
        return state, Outbox(added=added)

    def _hear(self, state: Summed, batch: Batch) -> tuple[Summed, int]:
        lost = batch.kind == "incomplete"
        columns: Columns = {} if lost else {"sum": (np.uint64, (1,))}
        check_batch(batch, 4, state.closed, Role.USER, self.people, columns)
        sums, notes = dict(state.sums), dict(state.notes)
        for j in np.unique(batch.order).tolist():
            part = batch.select(batch.order == j)
            if not np.isin(part.sender, state.elected.get(j, np.empty(0, np.int64))).all():
                raise ShareError(f"a sum of item {j} came from somebody who was not elected for it")
            if lost:
                notes[j] = f"elected user {int(part.sender[0])} did not get exactly the shares due"
                continue
            gathered = sums.get(j) or Gathered.empty(1, 1, self.people)
            slot = np.zeros(len(part), np.int64)
            sums[j] = gathered.add(self.field, part.payload["sum"], slot, part.sender)
        return replace(state, sums=sums, notes=notes), 0 if lost else len(batch)

    def _finish(self, state: Summed) -> Outcome:
        failed = dict(state.notes)
        totals = np.zeros(self.items, np.uint64)
        for j in range(self.items):
            if not state.elected:
                failed[j] = "S1 elected nobody"
                continue
            elected = state.elected[j]
            gathered = state.sums.get(j) or Gathered.empty(1, 1, self.people)
            arrived = unpack(gathered.seen, self.people)[0]
            missing = elected[~arrived[elected]]
            if j not in failed and missing.size:
                failed[j] = f"no sum of elected user {int(missing[0])}"
            if gathered.repeated[0]:
                failed[j] = "two sums of one elected user"
            totals[j] = gathered.totals[0, 0]
        present = np.arange(self.people) < state.people
        return Outcome(totals, failed, present)
