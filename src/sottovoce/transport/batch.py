"""Messages in columns: row k of every column belongs to message k."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError

Indices = NDArray[np.int64]

#: The receiver of a message that is published to all members of a role.
EVERYONE = -1


class Role(Enum):
    """Who sends or receives; the values are codes that travel."""

    USER = "user"  # elected users and committee members are users
    HELPER = "helper"
    AGGREGATOR = "aggregator"
    S1 = "s1"  # learns which items people report and elects users
    S2 = "s2"  # adds up what elected users send
    CURATOR = "curator"  # receives the sums of parties; in centralised sampling it is trusted
    PARTY = "party"  # an organisation with data of its own
    DEALER = "dealer"  # deals correlated randomness to parties, and learns no result


@dataclass(frozen=True, eq=False)
class Batch:
    """Many messages of one kind and round, between two roles.

    The payload has columns with one row per message. Columns of uint64 are elements of a field, all
    others are not; costs are counted by that.
    """

    kind: str  # a protocol's own word
    round: int  # in which they are sent, from 1 on
    sent_by: Role
    sent_to: Role
    sender: Indices  # members of these roles, from 0 on
    receiver: Indices  # may be `EVERYONE`
    payload: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    # Distinguishes the messages of one sender to one receiver in one round; all 0 by default.
    sequence: Indices | None = None

    def __post_init__(self) -> None:
        sequence = np.zeros(len(self.sender), np.int64) if self.sequence is None else self.sequence
        object.__setattr__(self, "sequence", sequence)
        object.__setattr__(self, "payload", MappingProxyType(dict(self.payload)))
        indices = {"sender": self.sender, "receiver": self.receiver, "sequence": self.order}
        for name, column in indices.items():
            if column.dtype != np.int64 or column.shape != self.sender.shape or column.ndim != 1:
                raise WireError(f"the column {name!r} of a batch is no row of integers per message")
        for name, column in self.payload.items():
            if column.ndim == 0 or column.shape[0] != len(self):
                raise WireError(f"the column {name!r} has not one row for each of {len(self)}")

    def __len__(self) -> int:
        return int(self.sender.shape[0])

    @property
    def order(self) -> Indices:
        """`sequence`, which is never None once the batch is there."""
        return np.zeros(0, np.int64) if self.sequence is None else self.sequence

    def select(self, rows: NDArray[Any]) -> Batch:
        """Some of the messages, by index or mask."""
        return Batch(
            self.kind,
            self.round,
            self.sent_by,
            self.sent_to,
            self.sender[rows],
            self.receiver[rows],
            {name: column[rows] for name, column in self.payload.items()},
            self.order[rows],
        )

    def reaches(self, members: range) -> NDArray[np.bool_]:
        """Whether each message goes to some members of the receiving role."""
        mine = (self.receiver >= members.start) & (self.receiver < members.stop)
        return np.asarray(mine | (self.receiver == EVERYONE))

    def for_members(self, members: range) -> Batch:
        """The messages that some members of the receiving role get."""
        mine = self.reaches(members)
        return self if mine.all() else self.select(mine)

    @property
    def elements(self) -> int:
        """Field elements in one message."""
        shares = (column for column in self.payload.values() if column.dtype == np.uint64)
        return sum(math.prod(column.shape[1:]) for column in shares)

    @property
    def message_bytes(self) -> int:
        """Bytes of one message's payload."""
        columns = self.payload.values()
        return sum(math.prod(column.shape[1:]) * column.dtype.itemsize for column in columns)
