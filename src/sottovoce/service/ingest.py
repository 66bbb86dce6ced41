"""``POST /api/v1/reports``, from its head to the answer after the commit.

The one route that everyone uses is answered below ASGI, by the protocol of a connection: there is
no task, no scope and no second copy of the body. Nothing of a request is kept but the submission.
Limits say how much a server takes on at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import msgspec

from ..errors import SottovoceError
from .codes import hash_code
from .collector import Committer, Entry
from .metrics import Metrics
from .problems import ALL, JSON, Problem
from .submission import Submission, unpack

Headers = list[tuple[bytes, bytes]]
Answer = Callable[[int, Headers, bytes], None]

_TYPE = b"application/octet-stream"
_JSON = [(b"content-type", JSON.encode())]
_MOST_CODE = 64


@dataclass(frozen=True)
class Limits:
    """Limits of one server."""

    body_bytes: int  # of one submission; by default as large as the study allows
    waiting_bytes: int = 1 << 26  # of all submissions that are read or wait for a commit
    connections: int = 1000  # at the same time
    seconds: float = 8.0  # for the head of a request, and for its body at less than `pace`
    pace: float = 50_000.0  # bytes per second at which a longer body may arrive
    rate: float = 50.0  # requests per second from one address in the long run; 0: no limit
    burst: int = 500  # requests from one address at once


class Rates:
    """A bucket of requests per address, in memory only and forgotten when it is full again."""

    _MOST = 20_000

    def __init__(self, limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def allows(self, address: str) -> bool:
        """Take one request out of the bucket, if there is one."""
        rate, burst = self._limits.rate, self._limits.burst
        if not rate:
            return True
        now = self._clock()
        left, then = self._buckets.get(address, (float(burst), now))
        left = min(float(burst), left + (now - then) * rate)
        if len(self._buckets) >= self._MOST and address not in self._buckets:
            self._forget(now)
        self._buckets[address] = (max(left - 1, 0.0) if left >= 1 else left, now)
        return left >= 1

    def _forget(self, now: float) -> None:
        full = self._limits.burst / self._limits.rate
        self._buckets = {k: b for k, b in self._buckets.items() if now - b[1] < full}
        if len(self._buckets) >= self._MOST:
            self._buckets.clear()


class RefusalError(Exception):
    """A request that is not read any further."""

    def __init__(self, problem: Problem, detail: str = "") -> None:
        super().__init__(problem.name)
        self.problem = problem
        self.detail = detail


class Door:
    """Takes submissions; used from one event loop."""

    def __init__(self, committer: Committer, limits: Limits, metrics: Metrics) -> None:
        self.committer = committer
        self.limits = limits
        self.metrics = metrics
        self.study = committer.collector.study
        self._rates = Rates(limits)

    def begin(self, headers: Headers, address: str) -> Reception:
        """Look at the head of a request; raises RefusalError."""
        if not self._rates.allows(address):
            raise RefusalError(ALL["rate"])
        fields = dict(headers)
        kind = fields.get(b"content-type", _TYPE)
        # A compressed body could be a thousand times as large as it looks.
        if (kind != _TYPE and kind.split(b";")[0].strip().lower() != _TYPE) or fields.get(
            b"content-encoding", b"identity"
        ) != b"identity":
            raise RefusalError(ALL["type"])
        stated = fields.get(b"content-length", b"")
        # A body that does not say how long it is may be as long as any.
        size = int(stated) if stated.isdigit() else self.limits.body_bytes
        if size > self.limits.body_bytes:
            raise self.too_large()
        if self.metrics.waiting_bytes + size > self.limits.waiting_bytes:
            raise RefusalError(ALL["busy"])
        return Reception(self, size, fields.get(b"sottovoce-code"))

    def too_large(self) -> RefusalError:
        """Of a submission that this study cannot need."""
        most = f"A submission to this study has at most {self.limits.body_bytes:,} bytes."
        return RefusalError(ALL["large"], most)


class Reception:
    """One submission while it is read, and until it is answered."""

    def __init__(self, door: Door, reserved: int, code: bytes | None) -> None:
        self._door = door
        self._reserved = reserved
        self._code = code
        self._parts: list[bytes] = []
        self.size = 0
        door.metrics.waiting_bytes += reserved

    def add(self, chunk: bytes) -> None:
        """A part of the body; raises RefusalError where it becomes too long."""
        self.size += len(chunk)
        if self.size > self._reserved:
            raise self._door.too_large()
        self._parts.append(chunk)

    def finish(self, answer: Answer) -> None:
        """The body is complete: check it, and answer once it is committed or refused."""
        door = self._door
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        try:
            submission = self._check(body)
        except RefusalError as refusal:
            self.release()
            answer_problem(answer, refusal.problem, refusal.detail)
            return
        code = None
        if self._code and len(self._code) <= _MOST_CODE:
            code = hash_code(self._code.decode("latin-1"), door.study.digest)

        def committed(outcome: str) -> None:
            self.release()
            if outcome in ALL:
                answer_problem(answer, ALL[outcome])
            else:
                answer(200, _JSON, _receipt(submission))

        door.committer.submit(Entry(submission, code), committed)

    def release(self) -> None:
        """Give back the bytes that were reserved."""
        self._door.metrics.waiting_bytes -= self._reserved
        self._reserved = 0

    def _check(self, body: bytes) -> Submission:
        try:
            submission = unpack(body, self._door.study)
        except SottovoceError as error:
            raise RefusalError(ALL["invalid"], str(error)) from error
        if not submission.accepted:
            first = submission.refused[0]
            detail = f"No report is valid; at position {first.position}: {first.reason}."
            raise RefusalError(ALL["invalid"], detail)
        return submission


def answer_problem(answer: Answer, problem: Problem, detail: str = "") -> None:
    """Say what is wrong."""
    answer(problem.status, problem.headers, problem.body(detail))


def _receipt(submission: Submission) -> bytes:
    refused = [asdict(one) for one in submission.refused]
    about = {"accepted": submission.accepted, "refused": refused, "receipt": submission.key.hex()}
    return msgspec.json.encode(about)
