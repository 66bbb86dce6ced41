"""A party's way to the relay: by calls in one process here, over HTTP in `client`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from ..errors import TransportError

if TYPE_CHECKING:
    from .relay import Relay


class RunOverError(TransportError):
    """The run is over for this party: somebody ended it, or it went on without the party."""


class Office(ABC):
    """How a party reaches the relay: by calls in one process, or over HTTP."""

    @abstractmethod
    async def join(self) -> bytes:
        """Take part; the session that is run."""

    @abstractmethod
    async def post(self, parcel: bytes) -> None:
        """Send a parcel; again and again, until it is there or refused."""

    @abstractmethod
    async def done(self, round_number: int) -> None:
        """Say that everything of a round was sent."""

    @abstractmethod
    async def fetch(self, round_number: int, k: int) -> bytes | None:
        """The k-th parcel of a round; empty after the last one, None while the round is open."""

    async def collect(self, round_number: int) -> AsyncIterator[bytes]:
        """All parcels to this party, once the round is closed."""
        k = 0
        while (parcel := await self.fetch(round_number, k)) != b"":
            if parcel is not None:
                yield parcel
                k += 1

    @abstractmethod
    async def abort(self, reason: str) -> None:
        """End the run for everyone."""

    @abstractmethod
    async def leave(self) -> None:
        """Return when no other party needs this one any more."""


class LocalOffice(Office):
    """The relay's own party."""

    def __init__(self, relay: Relay, name: str) -> None:
        self._relay, self._name = relay, name

    async def join(self) -> bytes:
        return await self._relay.join(self._name)

    async def post(self, parcel: bytes) -> None:
        self._relay.accept(self._name, parcel)
        await self._relay.keep()

    async def done(self, round_number: int) -> None:
        await self._relay.done(self._name, round_number)

    async def fetch(self, round_number: int, k: int) -> bytes | None:
        return await self._relay.parcel(self._name, round_number, k, 3600.0)

    async def abort(self, reason: str) -> None:
        await self._relay.abort(self._name, reason)

    async def leave(self) -> None:
        await self._relay.wait_over()
