"""A role as a state machine.

A machine plays one role for some of its members: a server, or a host of many users. It takes what
arrives into its state, and acts when a round is closed: later messages of that round are ignored,
and what is missing stays missing. Closing round 0 starts the run.

`step` is pure but for the randomness it draws: the state that was passed stays as it was, so that
a driver may refuse a batch (when `step` raises `ShareError` or `WireError`) and carry on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .batch import Batch, Role

State = TypeVar("State")


@dataclass(frozen=True)
class Inbox:
    """What a machine gets in one step."""

    batches: tuple[Batch, ...] = ()  # to its members, in any order, each delivered once
    closed: int | None = None  # the round that ends with this step; 0 starts the run


@dataclass(frozen=True)
class Outbox:
    """What a machine sends, and the work that it took over all members.

    The batches are read once, before the machine's next step; large ones are made one at a time.
    """

    batches: Iterable[Batch] = ()
    sampled: int = 0  # random field elements drawn
    added: int = 0  # additions of field elements


class Machine(ABC, Generic[State]):
    """One role, played for the members of a range."""

    role: Role
    members: range

    @abstractmethod
    def start(self) -> State:
        """The state before the run."""

    @abstractmethod
    def step(self, state: State, inbox: Inbox) -> tuple[State, Outbox]:
        """Take in messages; where a round closes, act on what is there.

        Messages that nobody can have sent who follows the protocol raise `ShareError` or
        `WireError`.
        """
