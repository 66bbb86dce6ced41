"""A party's way to the relay: by calls in one process here, over HTTP in `client`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

from ..errors import TransportError

if TYPE_CHECKING:
    from .relay import Relay


class RunOverError(TransportError):
    """The run is over for this party: somebody ended it, or it went on without the party."""


class Office(Protocol):
    """How a party reaches the relay: by calls in one process, or over HTTP."""

    async def join(self) -> bytes:
        """Take part; the session that is run."""

    async def post(self, parcel: bytes) -> None:
        """Send a parcel; again and again, until it is there or refused."""

    async def done(self, round_number: int) -> None:
        """Say that everything of a round was sent."""

    def collect(self, round_number: int) -> AsyncIterator[bytes]:
        """All parcels to this party, once the round is closed."""

    async def abort(self, reason: str) -> None:
        """End the run for everyone."""

    async def leave(self) -> None:
        """Return when no other party needs this one any more."""


class LocalOffice:
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

    async def collect(self, round_number: int) -> AsyncIterator[bytes]:
        k = 0
        while True:
            parcel = await self._relay.parcel(self._name, round_number, k, 3600.0)
            if parcel is None:
                continue
            if not parcel:
                return
            yield parcel
            k += 1

    async def abort(self, reason: str) -> None:
        await self._relay.abort(self._name, reason)

    async def leave(self) -> None:
        await self._relay.wait_over()
