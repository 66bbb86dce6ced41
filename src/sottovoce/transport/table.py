"""A machine at work: it takes what arrives, refuses what is wrong, and closes rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import ParameterError, ShareError, SottovoceError, WireError
from .batch import Batch
from .machine import Inbox, Machine, Outbox
from .post import Post
from .relay import MOST_BYTES


class MachineError(Exception):
    """A machine cannot go on; the run ends for everyone."""

    def __init__(self, error: SottovoceError) -> None:
        self.error = error


@dataclass
class Table:
    """A machine at work; everything here may take long and runs beside the event loop."""

    machine: Machine[Any]
    post: Post
    state: Any
    refused: list[str] = field(default_factory=list)
    own: list[Batch] = field(default_factory=list)

    def take_own(self) -> None:
        """What the party's members sent to each other never leaves it."""
        for batch in filter(len, self.own):
            self._take(batch)

    def take_parcel(self, parcel: bytes, round_number: int) -> None:
        try:
            batch = self.post.open(parcel, round_number)
        except (ShareError, WireError) as error:
            self.refused.append(str(error))
        else:
            self._take(batch)

    def _take(self, batch: Batch) -> None:
        try:
            self.state, _ = self._step(Inbox((batch,)))
        except (ShareError, WireError) as error:
            self.refused.append(str(error))

    def _step(self, inbox: Inbox) -> tuple[Any, Outbox]:
        try:
            return self.machine.step(self.state, inbox)
        except (ShareError, WireError):
            raise
        except SottovoceError as error:
            raise MachineError(error) from error

    def close(self, number: int) -> Iterator[bytes]:
        """Close a round; what is sent then, one parcel after the other."""
        self.state, outbox = self._step(Inbox(closed=number))
        self.own = []
        for batch in _read(outbox):
            if batch.round != number + 1:
                raise WireError(f"{batch.kind!r} of round {batch.round} is sent in {number + 1}")
            if batch.sent_to is self.machine.role:
                self.own.append(batch.for_members(self.machine.members))
            for parcel in self.post.parcels(batch):
                if len(parcel) > MOST_BYTES:
                    raise MachineError(_too_large(batch, len(parcel)))
                yield parcel

    def close_again(self, number: int, own: list[Batch]) -> None:
        """Close a round after a restart: what the machine would send now is never looked at."""
        self.state, _ = self._step(Inbox(closed=number))
        self.own = own


def _too_large(batch: Batch, size: int) -> ParameterError:
    return ParameterError(
        f"a message {batch.kind!r} has {size:,} bytes, and {MOST_BYTES:,} are allowed; a protocol "
        "divides larger ones into several rows"
    )


def _read(outbox: Outbox) -> Iterator[Batch]:
    try:
        yield from outbox.batches
    except (ShareError, WireError):
        raise
    except SottovoceError as error:
        raise MachineError(error) from error
