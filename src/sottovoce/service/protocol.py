"""HTTP connections: uvicorn's protocol, with limits, and with submissions answered right here.

uvicorn waits for the head of a request for ever; a few thousand connections that send a byte now
and then would use up its sockets. So heads, bodies and the number of connections are limited.
A connection on which a request follows a submission that is not answered yet is closed after that
answer: nobody needs it, and it keeps the order of answers out of the question.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from .ingest import Door, Headers, Reception, RefusalError, answer_problem
from .problems import ALL, LINES, Problem
from .routes import REPORTS

_SILENT = logging.getLogger("sottovoce.silent")  # uvicorn's own names addresses
_SILENT.disabled = True
_MOST_HEAD = 1 << 15
_REPORTS = REPORTS.encode()
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class PatientProtocol(HttpToolsProtocol):
    """One connection; `door` is set by `protocol_for`."""

    door: Door
    _timer: asyncio.TimerHandle | None = None
    _reading_head = True
    _head_bytes = 0
    _reception: Reception | None = None  # a submission whose body is being read
    _pending = False  # a submission waits for its commit
    _ignored = False  # this message, and all that follow
    _last = False  # close after the next answer
    _began = 0.0

    # --- the connection ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.logger = _SILENT
        if len(self.connections) > self.door.limits.connections:
            self._refuse(ALL["busy"])
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._forget_reception()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self._pending or self._reception is not None:
            self._last = True
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._reading_head:
            self._head_bytes += len(data)
            if self._timer is None and not self._pending:
                self._start_timer()
        super().data_received(data)
        if self._reading_head and self._head_bytes > _MOST_HEAD and not self._pending:
            self._refuse(ALL["large"])

    # --- one message ------------------------------------------------------------------------------

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._head_bytes = 0
        self._stop_timer()
        if self._ignored:
            return
        busy = self.cycle is not None and not self.cycle.response_complete
        mine = self.url.partition(b"?")[0] == _REPORTS and self.parser.get_method() == b"POST"
        if self._pending or (mine and busy):
            self._ignored = self._last = True
            if busy:
                self.cycle.keep_alive = False
        elif mine:
            self._begin()
        else:
            super().on_headers_complete()
            self._start_timer()  # for a body that nobody asked for

    def _begin(self) -> None:
        try:
            self._reception = self.door.begin(self.headers, self.client[0] if self.client else "")
        except RefusalError as refusal:
            self._refuse(refusal.problem, refusal.detail)
            return
        if self.expect_100_continue:
            self.transport.write(_CONTINUE)
        self._began = self.loop.time()
        self._start_timer()

    def on_body(self, body: bytes) -> None:
        if self._reception is not None:
            try:
                self._reception.add(body)
            except RefusalError as refusal:
                self._refuse(refusal.problem, refusal.detail)
        elif not self._ignored:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_timer()
        self._reading_head = True
        if self._reception is not None:
            reception, self._reception = self._reception, None
            self._last = self._last or not self.parser.should_keep_alive()
            self._pending = True
            reception.finish(self._answer)
        elif not self._ignored:
            super().on_message_complete()

    def _answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Write a whole answer at once."""
        self._pending = False
        self.door.metrics.answered(status)
        if self.transport.is_closing():
            return
        parts = [STATUS_LINE[status]]
        for name, value in headers:
            parts += [name, b": ", value, b"\r\n"]
        parts += [LINES, b"content-length: ", str(len(body)).encode(), b"\r\n"]
        parts.append(b"connection: close\r\n\r\n" if self._last else b"\r\n")
        parts.append(body)
        self.transport.write(b"".join(parts))
        if self._last:
            self.transport.close()
            return
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    # --- refusals ---------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        self._refuse(ALL["malformed"])

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing is logged about requests."""

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.door.limits.seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._reception is not None:  # a long body has more time, as long as it comes
            allowed = self.door.limits.seconds + self._reception.size / self.door.limits.pace
            left = self._began + allowed - self.loop.time()
            if left > 0.01:
                self._timer = self.loop.call_later(left, self._too_slow)
                return
        self._refuse(ALL["slow"])

    def _refuse(self, problem: Problem, detail: str = "") -> None:
        """Answer, and hang up without reading on."""
        self._stop_timer()
        self._forget_reception()
        self._ignored = self._last = True
        answer_problem(self._answer, problem, detail)

    def _forget_reception(self) -> None:
        if self._reception is not None:
            self._reception.release()
            self._reception = None


def protocol_for(door: Door) -> type[PatientProtocol]:
    """The protocol of a server."""
    content: dict[str, Any] = {"door": door}
    return type("DoorProtocol", (PatientProtocol,), content)
