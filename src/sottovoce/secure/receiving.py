"""What all machines share: messages of a stated form, and who sent them exactly once."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..randomness import Source
from ..sharing import Elements, PrimeField
from ..transport import Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import Columns, check_batch

Bits = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

DIGEST_BYTES = 32
BLOCK = 1 << 22  # shares made at a time
#: The number of a server of which there is one.
ONE = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Outcome:
    """What the last server has at the end; `totals` is None where there are none at all."""

    totals: Elements | None = None
    failed: dict[int, str] = field(default_factory=dict)  # items without a total, and why
    senders: Flags | None = None  # whose reports are in the totals


@dataclass(frozen=True, eq=False)
class Phase:
    """A machine's state: the round that was closed last, and at the last server the outcome.

    `opened` is the set of people, as bits, whose sum may have left the machine.
    """

    closed: int = field(default=-1, kw_only=True)
    opened: bytes | None = field(default=None, kw_only=True)
    outcome: Outcome | None = field(default=None, kw_only=True)


State = TypeVar("State", bound=Phase)


class Form(NamedTuple):
    """What messages of one kind look like: round, role and number of senders, and columns."""

    round: int
    sent_by: Role
    senders: int
    columns: Columns


@dataclass(frozen=True, eq=False)
class Setting:
    """What all machines of a run share; `exactly` are the only people whose sum may be opened."""

    people: int
    items: int
    field: PrimeField
    source: Source
    exactly: bytes | None = None


class RoundMachine(Setting, Machine[State]):
    """A machine that takes messages of stated forms, and acts when a round closes."""

    def start(self) -> State:
        return cast(State, Phase())

    def forms(self) -> Mapping[str, Form]:
        """The messages that it takes, by kind."""
        return {}

    def take(self, state: State, batch: Batch) -> tuple[State, int]:
        """The state with more messages, and the additions of field elements that this took."""
        return state, 0

    @abstractmethod
    def close(self, state: State, number: int) -> tuple[State, Outbox]:
        """Act on what is there when a round has closed."""

    def nothing(self, why: str) -> Outcome:
        """No total of any item, for one reason."""
        return Outcome(None, dict.fromkeys(range(self.items), why))

    def step(self, state: State, inbox: Inbox) -> tuple[State, Outbox]:
        added, forms = 0, self.forms()
        for batch in inbox.batches:
            if batch.kind not in forms:
                raise WireError(f"{batch.kind!r} is no message to {self.role.value!r}")
            form = forms[batch.kind]
            check_batch(batch, form.round, state.closed, form.sent_by, form.senders, form.columns)
            state, more = self.take(state, batch)
            added += more
        if inbox.closed is None:
            return state, Outbox(added=added)
        return self.close(replace(state, closed=inbox.closed), inbox.closed)


@dataclass(frozen=True, eq=False)
class Kept:
    """What came, by sender or by sender and item, and from whom it came twice."""

    values: NDArray[Any]
    arrived: Flags
    repeated: Flags

    @classmethod
    def empty(cls, shape: tuple[int, ...], kind: Any, inner: tuple[int, ...] = ()) -> Kept:
        """Nothing came yet."""
        nobody = np.zeros(shape, bool)
        return cls(np.zeros((*shape, *inner), kind), nobody, nobody)

    def add(self, at: Any, values: NDArray[Any]) -> Kept:
        """With more values; a second one from the same place marks it."""
        kept, arrived, times = self.values.copy(), self.arrived.copy(), self.arrived.astype(int)
        np.add.at(times, at, 1)
        kept[at], arrived[at] = values, True
        return Kept(kept, arrived, self.repeated | (times > 1))

    @property
    def once(self) -> Flags:
        """What came exactly once."""
        return self.arrived & ~self.repeated


@dataclass(frozen=True, eq=False)
class Gathered:
    """Sums over the senders whose shares arrived, one row per receiver."""

    totals: Elements
    seen: Bits
    repeated: Flags

    @classmethod
    def empty(cls, receivers: int, width: int, senders: int) -> Gathered:
        """Nothing arrived yet."""
        totals = np.zeros((receivers, width), np.uint64)
        seen = np.zeros((receivers, -(-senders // 8)), np.uint8)
        return cls(totals, seen, np.zeros(receivers, bool))

    def add(
        self, field: PrimeField, shares: Elements, who: Indices, slot: Indices | None = None
    ) -> Gathered:
        """With more shares; a sender's second one is not added, and marks its receiver."""
        from ..kernels import field as kernel

        slot = np.zeros(who.size, np.int64) if slot is None else slot
        totals, seen, repeated = self.totals.copy(), self.seen.copy(), self.repeated.copy()
        kernel.add_once(field.check(shares), slot, who, field.word, seen, totals, repeated)
        return Gathered(totals, seen, repeated)


def unpack(bits: Bits, members: int) -> Flags:
    """Bits as truth values."""
    flags = np.unpackbits(bits, axis=-1, count=members, bitorder="little")
    return flags.astype(bool)


def pack(flags: Flags) -> Bits:
    """Truth values as bits, least significant first."""
    return np.packbits(flags, axis=-1, bitorder="little")


def set_digest(*parts: bytes) -> bytes:
    """A digest of a set of senders, for those who may know the set."""
    return hashlib.sha256(b"\0".join((b"sottovoce senders v1", *parts))).digest()


def name_some(indices: Sequence[Any] | NDArray[Any], what: str) -> str:
    """The first few of them."""
    shown = ", ".join(str(int(i)) for i in indices[:5])
    more = f" and {len(indices) - 5:,} more" if len(indices) > 5 else ""
    return f"{what} {shown}{more}"
