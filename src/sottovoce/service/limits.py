"""How much a server takes on at once, and how it says that this is enough."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


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
