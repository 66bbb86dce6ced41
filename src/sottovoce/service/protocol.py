"""HTTP connections that must not dawdle: uvicorn's protocol with limits on heads and numbers.

uvicorn waits for the head of a request for ever; a few thousand connections that send a byte now
and then would use up its sockets. Bodies have their own limit, in `ingest`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .limits import Limits
from .problems import ALL, Problem
from .routes import REPORTS

_MOST_HEAD = 1 << 15


class PatientProtocol(HttpToolsProtocol):
    """One connection; `limits` is set by `with_limits`."""

    limits: Limits
    _timer: asyncio.TimerHandle | None = None
    _reading_head = True
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.logger = logging.getLogger("sottovoce.silent")  # uvicorn's would name addresses
        if len(self.connections) > self.limits.connections:
            self._refuse(ALL["busy"])
            return
        self._timer = self.loop.call_later(self.limits.seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._reading_head:
            self._head_bytes += len(data)
            if self._timer is None:
                self._timer = self.loop.call_later(self.limits.seconds, self._too_slow)
        super().data_received(data)
        if self._reading_head and self._head_bytes > _MOST_HEAD:
            self._refuse(ALL["large"])

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._head_bytes = 0
        self._stop_timer()
        super().on_headers_complete()
        if self.scope["path"] != REPORTS:  # a body that nobody asked for
            self._timer = self.loop.call_later(self.limits.seconds, self._too_slow)

    def on_message_complete(self) -> None:
        self._stop_timer()
        super().on_message_complete()
        self._reading_head = True

    def send_400_response(self, msg: str) -> None:
        self._refuse(ALL["malformed"])

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing is logged about requests."""

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self._refuse(ALL["slow"])

    def _refuse(self, problem: Problem) -> None:
        self._stop_timer()
        body = problem.body()
        lines = [f"HTTP/1.1 {problem.status} {problem.title}".encode()]
        lines += [name + b": " + value for name, value in problem.headers]
        lines += [b"content-length: " + str(len(body)).encode(), b"connection: close", b"", body]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()


def with_limits(limits: Limits) -> type[PatientProtocol]:
    """The protocol of a server with these limits."""
    content: dict[str, Any] = {"limits": limits}
    return type("LimitedProtocol", (PatientProtocol,), content)
