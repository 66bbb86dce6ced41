"""How much a server takes on at once, and how it says that this is enough."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one server.

    Attributes
    ----------
    body_bytes : int
        Of one submission; by default as large as the study allows.
    waiting_bytes : int
        Of all submissions that are being read or wait for a commit.
    connections : int
        At the same time.
    seconds : float
        For the head of a request, and for its body at less than `pace`.
    pace : float
        Bytes per second at which a longer body may arrive.
    rate : float
        Requests per second from one address, in the long run; 0 for no limit.
    burst : int
        Requests from one address at once.
    """

    body_bytes: int
    waiting_bytes: int = 1 << 26
    connections: int = 1000
    seconds: float = 8.0
    pace: float = 50_000.0
    rate: float = 50.0
    burst: int = 500


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
