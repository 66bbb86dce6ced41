"""What the simulations of coverage share: populations, when to measure again, and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sottovoce.contract.aggregate import Aggregate
from sottovoce.mechanisms.mechanism import Mechanism

LOW, LONG = 0.935, 4000  # rows with a lower coverage are measured again, with that many runs
Row = tuple[str, ...]


def measure(row: Callable[[int], tuple[float, ...]], runs: int) -> tuple[float, ...]:
    """A row's figures, the coverage first; if that is low, those of a fresh and longer run."""
    figures = row(runs)
    return row(LONG) if figures[0] < LOW and runs < LONG else figures


def patterns(n: int, d: int) -> Iterator[tuple[str, np.ndarray]]:
    """People's answers: all alike, evenly spread, and nearly all one of two."""
    yield "all alike", np.zeros(n, np.int64)
    yield "spread", np.arange(n) % d
    yield "one in seven", np.minimum(np.arange(n) % 7, 1)


def is_refused(mechanism: Mechanism, aggregate: Aggregate) -> bool:
    """Whether nobody reported of the people at some level or rate, so that nothing is known."""
    asked, reported = mechanism.turnout(aggregate)
    return bool((reported == 0)[asked > 0].any())


def table(head: Row, rows: list[Row]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
