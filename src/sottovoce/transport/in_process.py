"""Every role in this process: what each saw, and what it cost.

Views     all messages to a role, as they were delivered, published ones included
Costs     per role: field elements sent, sampled and added, other bytes, messages. What a member
          passes to itself is not sent; what is published to everyone is sent once to each other
          member
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ..errors import ParameterError, ShareError, WireError
from .batch import EVERYONE, Batch, Role
from .machine import Inbox, Machine, Outbox

#: What may happen to a batch on its way: the batches that arrive in its place, in this order; none
#: where it is lost, several where it is repeated, or altered ones.
Tamper = Callable[[Batch], Iterable[Batch]]

_MOST_RECORDED = 1 << 26  # bytes of payload


@dataclass
class Cost:
    """What all members of one role sent and computed."""

    elements: int = 0  # of a field, sent
    bytes: int = 0  # of everything else that was sent
    messages: int = 0
    sampled: int = 0  # random field elements drawn
    added: int = 0  # additions of field elements


@dataclass(frozen=True)
class Views:
    """What every role saw."""

    batches: tuple[Batch, ...]  # in the order of delivery
    complete: bool  # False where messages were too large to be kept

    def of(self, role: Role, member: int | None = None) -> tuple[Batch, ...]:
        """What one member of a role saw, or all of its members together."""
        if not self.complete:
            raise ParameterError(
                "this run was too large for its messages to be kept; views are recorded for "
                "smaller ones, or with views=True"
            )
        mine = [batch for batch in self.batches if batch.sent_to is role]
        if member is None:
            return tuple(mine)
        parts = (batch.for_members(range(member, member + 1)) for batch in mine)
        return tuple(batch for batch in parts if len(batch))


@dataclass(frozen=True)
class Driven:
    """A run that has ended."""

    states: list[Any]  # the last one of every machine, in the order in which machines were given
    views: Views
    costs: Mapping[Role, Cost]
    refused: tuple[str, ...] = ()  # why messages were refused, where any were


@dataclass
class _Desk:
    """The driver's own records during a run."""

    machines: Sequence[Machine[Any]]
    record: bool | None
    states: list[Any]
    costs: dict[Role, Cost]
    kept: list[Batch] = field(default_factory=list)
    kept_bytes: int = 0
    complete: bool = True
    refused: list[str] = field(default_factory=list)

    def step(self, k: int, inbox: Inbox) -> Outbox:
        machine = self.machines[k]
        self.states[k], outbox = machine.step(self.states[k], inbox)
        self.costs[machine.role].sampled += outbox.sampled
        self.costs[machine.role].added += outbox.added
        return outbox

    def deliver(self, batch: Batch) -> None:
        self._keep(batch)
        for k, machine in enumerate(self.machines):
            if machine.role is not batch.sent_to:
                continue
            mine = batch.for_members(machine.members)
            if not len(mine):
                continue
            try:
                self.step(k, Inbox((mine,)))
            except (ShareError, WireError) as error:
                self.refused.append(str(error))

    def charge(self, batch: Batch) -> None:
        cost = self.costs[batch.sent_by]
        same = batch.sent_by is batch.sent_to
        public = int((batch.receiver == EVERYONE).sum())
        copies = len(batch) - public
        if same:
            copies -= int((batch.sender == batch.receiver).sum())
        hosts = (machine for machine in self.machines if machine.role is batch.sent_to)
        copies += public * (sum(len(machine.members) for machine in hosts) - same)
        cost.messages += copies
        cost.elements += copies * batch.elements
        cost.bytes += copies * (batch.message_bytes - 8 * batch.elements)

    def _keep(self, batch: Batch) -> None:
        size = len(batch) * (batch.message_bytes + 24)
        small = self.kept_bytes + size <= _MOST_RECORDED
        if small if self.record is None else self.record:
            self.kept.append(batch)
            self.kept_bytes += size
        else:
            self.complete = False


def drive(
    machines: Sequence[Machine[Any]],
    rounds: int,
    *,
    tamper: Tamper | None = None,
    views: bool | None = None,
) -> Driven:
    """Run machines to the end: deliver everything, then close the round, for every round.

    The members of one role are divided among its machines. By default all messages are kept where
    they are not too large.
    """
    states = [machine.start() for machine in machines]
    desk = _Desk(machines, views, states, {machine.role: Cost() for machine in machines})
    for closing in range(rounds + 1):
        sent = [desk.step(k, Inbox(closed=closing)) for k in range(len(machines))]
        for batch in chain.from_iterable(outbox.batches for outbox in sent):
            desk.charge(batch)
            for arrived in (batch,) if tamper is None else tamper(batch):
                desk.deliver(arrived)
    kept = Views(tuple(desk.kept), desk.complete)
    return Driven(desk.states, kept, desk.costs, tuple(desk.refused))
