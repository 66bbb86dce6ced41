"""A party's side of HTTP; the requests are in `http`."""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ParameterError, TransportError, WireError
from .http import (
    ERRORS,
    MOST_HEAD,
    POLL_SECONDS,
    body_length,
    is_loopback,
    read_head,
    split_address,
)
from .office import Office
from .relay import MOST_BYTES, MOST_REASON
from .tls import file_client


@dataclass
class HttpOffice(Office):
    """A party's way to the relay over HTTP."""

    address: str  # such as https://aggregator.example:8443, or http://127.0.0.1:8000
    token: str = field(repr=False)
    study: bytes
    certificate: Path | None = None  # the only one to trust; by default those of the system
    timeout: float = 60.0  # seconds without an answer after which the relay counts as lost
    tls: ssl.SSLContext | None = None  # of the roster's certificates, in place of `certificate`

    def __post_init__(self) -> None:
        parts, self._host, self._port = split_address(self.address)
        if parts.path.strip("/"):
            raise ParameterError(
                f"{self.address!r} has a path; give an address such as https://example.org:8443"
            )
        if parts.scheme == "http" and not is_loopback(self._host):
            raise ParameterError(
                f"{self.address} is not this machine: use https, plain http is refused"
            )
        if parts.scheme == "http":
            self.tls = None
        elif self.tls is None:
            self.tls = file_client(self.certificate)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def join(self) -> bytes:
        _, session = await self._ask("POST", "join")
        return session

    async def post(self, parcel: bytes) -> None:
        if len(parcel) > MOST_BYTES:
            raise WireError(f"a parcel has {len(parcel):,} bytes; {MOST_BYTES:,} are allowed")
        await self._ask("POST", "parcel", parcel)

    async def done(self, round_number: int) -> None:
        await self._ask("POST", f"done/{round_number}")

    async def fetch(self, round_number: int, k: int) -> bytes | None:
        status, parcel = await self._ask("GET", f"parcel/{round_number}/{k}")
        return None if status == 202 else parcel

    async def abort(self, reason: str) -> None:
        await self._ask("POST", "abort", reason[:MOST_REASON].encode())

    async def leave(self) -> None:
        """There is nobody who waits for this party but the relay, which has everything."""

    async def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
            with suppress(OSError):
                await self._streams[1].wait_closed()
            self._streams = None

    async def _ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Send the same bytes until there is an answer, or the time is up."""
        loop = asyncio.get_running_loop()
        end, pause = loop.time() + self.timeout, 0.05
        while True:
            try:
                status, answer = await asyncio.wait_for(
                    self._ask_once(method, path, body), self.timeout + POLL_SECONDS
                )
                if status == 503:
                    raise ConnectionResetError(answer.decode("utf-8", "replace"))
                break
            except (OSError, TimeoutError, asyncio.IncompleteReadError, WireError) as error:
                await self.close()
                if loop.time() + pause > end:
                    raise TransportError(
                        f"{self.address} did not answer within {self.timeout:g} s: {error}"
                    ) from error
                await asyncio.sleep(pause)
                pause = min(2 * pause, 2.0)
        if status not in (200, 202, 204):
            await self.close()
            raise ERRORS.get(status, TransportError)(answer.decode("utf-8", "replace"))
        return status, answer

    async def _ask_once(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                self._host, self._port, limit=MOST_HEAD, ssl=self.tls
            )
        reader, writer = self._streams
        head = (
            f"{method} /v1/{path} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Authorization: Bearer {self.token}\r\nSottovoce-Study: {self.study.hex()}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode())
        writer.write(body)  # on its own: it may be large, and is not copied
        await writer.drain()
        answer = await read_head(reader)
        if answer is None:
            raise ConnectionResetError("the relay hung up")
        status = re.fullmatch(rb"HTTP/1\.1 ([0-9]{3}) [A-Za-z ]+", answer[0])
        length = body_length(answer[1])
        if not status or length > MOST_BYTES:
            raise WireError("the relay's answer is malformed")
        return int(status[1]), await reader.readexactly(length)
