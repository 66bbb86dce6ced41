"""The relay's side of HTTP; the requests are in `http`. It writes no log."""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..errors import DigestError, FileError, ParameterError, SottovoceError, TransportError
from .http import ERRORS, MOST_HEAD, POLL_SECONDS, body_length, is_loopback, read_head
from .post import Seat
from .relay import MOST_BYTES, MOST_REASON, Relay
from .tls import peer_name

_MOST_CONNECTIONS = 4096
_HEAD_SECONDS = 30.0
_REQUEST = re.compile(rb"(GET|POST) (/v1/[a-z0-9/]{1,64}) HTTP/1\.1")
_STUDY = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"[0-9]{1,12}")
_REASONS = {
    200: "OK",
    202: "Accepted",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    424: "Failed Dependency",
    503: "Service Unavailable",
}


@dataclass
class _Request:
    method: str
    path: str
    fields: dict[str, str]
    name: str | None = None  # of the token
    shown: str | None = None  # the party of the certificate that was shown, where TLS asks for one


class _Refusal(Exception):  # noqa: N818, an answer rather than an error
    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason


class RelayServer:
    """Serves one relay; the keys and the roster of its own seat say who may come.

    Port 0 lets the system choose. TLS is needed unless `host` is this machine alone; where it asks
    for certificates, the party of a certificate must be that of the token.
    """

    def __init__(
        self,
        relay: Relay,
        seat: Seat,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if tls is None and not is_loopback(host):
            raise ParameterError(
                f"listening on {host} needs TLS: give a certificate and its key, put certificates "
                "into the roster, or listen on 127.0.0.1"
            )
        self._relay, self._seat, self._host, self._port, self._tls = relay, seat, host, port, tls
        self._names = _names(seat.tokens())
        self._connections: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Listen; the address that parties can use."""
        try:
            self._server = await asyncio.start_server(
                self._serve, self._host, self._port, limit=MOST_HEAD, ssl=self._tls
            )
        except (OSError, OverflowError, UnicodeError) as error:  # of a port, of a host's name
            raise TransportError(
                f"cannot listen on {self._host}:{self._port}: {error}; choose another host or port"
            ) from error
        host, port = self._server.sockets[0].getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        return f"http{'s' if self._tls else ''}://{name}:{port}"

    async def stop(self) -> None:
        """Stop listening, and hang up on everyone."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
        try:
            await self._talk(reader, writer)
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError, ssl.SSLError):
            return  # they will try again, or not; either way there is nobody to tell
        except asyncio.CancelledError:
            return  # by `stop`; asyncio would report a cancelled task as failed
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            if task is not None:
                self._connections.discard(task)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) > _MOST_CONNECTIONS:
            await _answer(writer, 503, b"too many connections; try again", last=True)
            return
        shown = None
        if self._tls is not None and self._tls.verify_mode is ssl.CERT_REQUIRED:
            shown = peer_name(self._seat.roster, writer.get_extra_info("ssl_object")) or ""
        while await self._serve_one(reader, writer, shown):
            pass

    async def _serve_one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, shown: str | None
    ) -> bool:
        request = None
        try:
            head = await asyncio.wait_for(read_head(reader), _HEAD_SECONDS)
            if head is None:
                return False
            match = _REQUEST.fullmatch(head[0])
            if not match:
                raise _Refusal(400, "this is no request that the relay knows")
            request = _Request(match[1].decode(), match[2].decode(), head[1], shown=shown)
            status, body = await self._handle(request, reader)
        except _Refusal as refusal:
            await _answer(writer, refusal.status, refusal.reason.encode(), last=True)
            return False
        except FileError:
            await _answer(writer, 503, b"the relay cannot write its journal", last=True)
            return False
        except SottovoceError as error:
            fitting = (code for code, kind in ERRORS.items() if isinstance(error, kind))
            status, body = next(fitting, 400), str(error).encode()
        await _answer(writer, status, body, last=status >= 400)
        if request and request.name and (status in (409, 424) or request.path == "/v1/abort"):
            self._relay.informed.add(request.name)
        return status < 400

    async def _handle(self, request: _Request, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        study = request.fields.get("sottovoce-study")
        authorization = request.fields.get("authorization", "")
        if study is not None and study != self._relay.study.hex():
            if not _STUDY.fullmatch(study):
                raise _Refusal(400, "this is no digest of a study")
            names = _names(self._seat.tokens(bytes.fromhex(study)))
            request.name = _lookup(names, authorization)
            raise DigestError(await self._relay.refuse_study(request.name, study))
        request.name = name = _lookup(self._names, authorization)
        if name is None:
            raise _Refusal(
                401, "the token is unknown: the key is not in the relay's roster, or rosters differ"
            )
        if request.shown not in (None, name):
            raise _Refusal(401, f"the token is that of {name}, and the certificate is not")
        length = body_length(request.fields)
        if length > MOST_BYTES:
            raise _Refusal(413, f"a parcel may have {MOST_BYTES:,} bytes; this one has {length:,}")
        body = b""
        if length:
            body = await asyncio.wait_for(reader.readexactly(length), self._relay.patience.round)
        match request.method, request.path.removeprefix("/v1/").split("/"):
            case "POST", ["join"]:
                return 200, await self._relay.join(name)
            case "POST", ["parcel"]:
                self._relay.accept(name, body)
                await self._relay.keep()
                return 200, b""
            case "POST", ["abort"]:
                await self._relay.abort(name, body[: 4 * MOST_REASON].decode("utf-8", "replace"))
                return 200, b""
            case "POST", ["done", number]:
                await self._relay.done(name, _number(number))
                return 200, b""
            case "GET", ["parcel", number, k]:
                wanted = _number(number), _number(k)
                parcel = await self._relay.parcel(name, *wanted, POLL_SECONDS)
                return (202, b"") if parcel is None else (200 if parcel else 204, parcel)
        raise _Refusal(404, "the relay has no such path")


async def _answer(
    writer: asyncio.StreamWriter, status: int, body: bytes, *, last: bool = False
) -> None:
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() if last else f"{head}\r\n".encode())
    writer.write(body)
    await writer.drain()


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise _Refusal(404, "the relay has no such path")
    return int(text)


def _names(tokens: dict[str, str]) -> dict[bytes, str]:
    """Parties by the digest of their token: how long a lookup takes says nothing about a token."""
    return {hashlib.sha256(token.encode()).digest(): name for name, token in tokens.items()}


def _lookup(names: dict[bytes, str], authorization: str) -> str | None:
    kind, _, token = authorization.partition(" ")
    return names.get(hashlib.sha256(token.encode()).digest()) if kind == "Bearer" else None
