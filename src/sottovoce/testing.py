"""The only door to reproducible randomness.

Reports drawn from a seed are marked, carry no guarantee, and are refused outside ``seeded``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from .checks import checked_count
from .randomness import Keystream, Source, allow_seeded


class SeededSource(Source):
    """A source that repeats itself: the same seed gives the same bits. For tests only."""

    seeded = True

    def __init__(self, seed: int) -> None:
        self.seed = seed = checked_count(seed, "seed", 0)
        self._stream = Keystream(hashlib.sha256(f"sottovoce seed {seed}".encode()).digest()[:16])

    def _fill(self, target: memoryview) -> None:
        self._stream.fill(target)

    def __repr__(self) -> str:
        return f"SeededSource({self.seed})"


@contextmanager
def seeded(seed: int) -> Iterator[SeededSource]:
    """A seeded source, and a place where its reports are accepted.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import testing
    >>> m = sv.GRR(2, epsilon=1.0)
    >>> with testing.seeded(7) as source:
    ...     a = m.randomise([0, 1, 1], source=source)
    >>> with testing.seeded(7) as source:
    ...     b = m.randomise([0, 1, 1], source=source)
    >>> a.to_bytes() == b.to_bytes()
    True
    """
    with allow_seeded():
        yield SeededSource(seed)
