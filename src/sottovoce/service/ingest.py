"""``POST /api/v1/reports``: the one route that is used by everyone, so written against ASGI itself.

An answer is sent only after the commit. Nothing of a request is kept but the submission.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from ..errors import SottovoceError
from .codes import hash_code
from .collector import Entry, Outcome
from .committing import Committer
from .limits import Limits, Rates
from .metrics import Metrics
from .problems import ALL, JSON, Problem
from .submission import Submission, unpack

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_TYPE = b"application/octet-stream"
_MOST_CODE = 64


class RefusalError(Exception):
    """A request that ends with a problem; `hang_up` where the rest of its body is not read."""

    def __init__(self, problem: Problem, detail: str = "", *, hang_up: bool = False) -> None:
        super().__init__(problem.name)
        self.problem = problem
        self.detail = detail
        self.hang_up = hang_up


class Ingest:
    """Takes submissions."""

    def __init__(self, committer: Committer, limits: Limits, metrics: Metrics) -> None:
        self._committer = committer
        self._limits = limits
        self._metrics = metrics
        self._rates = Rates(limits)
        self._study = committer.collector.study

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        metrics = self._metrics
        reserved = 0
        try:
            headers = self._headers(scope)
            reserved = self._reserve(headers)
            metrics.waiting_bytes += reserved
            body = await self._read(receive, reserved)
            submission = self._unpack(body)
            code = headers.get(b"sottovoce-code")
            hashed = None
            if code and len(code) <= _MOST_CODE:
                hashed = hash_code(code.decode("latin-1"), self._study.digest)
            outcome = await self._committer.submit(Entry(submission, hashed))
            await self._answer(send, submission, outcome)
        except RefusalError as refusal:
            problem = refusal.problem
            await respond(
                send,
                problem.status,
                problem.body(refusal.detail),
                problem.headers + [(b"connection", b"close")] * refusal.hang_up,
            )
        finally:
            metrics.waiting_bytes -= reserved

    def _headers(self, scope: Scope) -> dict[bytes, bytes]:
        address = (scope.get("client") or ("",))[0]
        if not self._rates.allows(address):
            raise RefusalError(ALL["rate"], hang_up=True)
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", _TYPE).split(b";")[0].strip().lower()
        # A compressed body could be a thousand times as large as it looks.
        if kind != _TYPE or headers.get(b"content-encoding", b"identity") != b"identity":
            raise RefusalError(ALL["type"], hang_up=True)
        return headers

    def _reserve(self, headers: dict[bytes, bytes]) -> int:
        """How many bytes the body may take: as many as it says, or the most where it does not."""
        most = self._limits.body_bytes
        stated = headers.get(b"content-length")
        size = int(stated) if stated is not None and stated.isdigit() else most
        if size > most:
            raise RefusalError(ALL["large"], self._too_large(), hang_up=True)
        if self._metrics.waiting_bytes + size > self._limits.waiting_bytes:
            raise RefusalError(ALL["busy"], hang_up=True)
        return size

    def _too_large(self) -> str:
        return f"A submission to this study has at most {self._limits.body_bytes:,} bytes."

    async def _read(self, receive: Receive, most: int) -> bytes:
        """The whole body, or a refusal where it is too long or too slow."""
        loop = asyncio.get_running_loop()
        limits = self._limits
        start = loop.time()
        message = await self._receive(receive, start + limits.seconds)
        chunk: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            if len(chunk) > most:
                raise RefusalError(ALL["large"], self._too_large(), hang_up=True)
            return chunk
        parts = [chunk]
        size = len(chunk)
        while message.get("more_body", False):
            message = await self._receive(receive, start + limits.seconds + size / limits.pace)
            chunk = message.get("body", b"")
            parts.append(chunk)
            size += len(chunk)
            if size > most:
                raise RefusalError(ALL["large"], self._too_large(), hang_up=True)
        return b"".join(parts)

    async def _receive(self, receive: Receive, end: float) -> MutableMapping[str, Any]:
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError:
            raise RefusalError(ALL["slow"], hang_up=True) from None
        if message["type"] == "http.disconnect":
            raise RefusalError(ALL["malformed"], hang_up=True)
        return message

    def _unpack(self, body: bytes) -> Submission:
        try:
            submission = unpack(body, self._study)
        except SottovoceError as error:
            raise RefusalError(ALL["invalid"], str(error)) from error
        if not submission.accepted:
            first = submission.refused[0]
            raise RefusalError(
                ALL["invalid"], f"No report is valid; at position {first.position}: {first.reason}."
            )
        return submission

    async def _answer(self, send: Send, submission: Submission, outcome: Outcome) -> None:
        if outcome.problem:
            raise RefusalError(ALL[outcome.problem])
        refused = [
            {"question": one.question, "position": one.position, "reason": one.reason}
            for one in submission.refused
        ]
        answer: dict[str, Any] = {
            "accepted": submission.accepted,
            "refused": refused,
            "receipt": submission.key.hex(),
        }
        await respond(send, 200, msgspec.json.encode(answer), [(b"content-type", JSON.encode())])


async def respond(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    """Send a whole answer."""
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
