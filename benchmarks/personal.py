"""A million people with personal rates and privacy levels, beside one rate for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.randomness import SYSTEM

from .machine import Effort, best, once, table

PEOPLE = 1_000_000
MEAN_RATE = 0.1
EPSILON = 2.0
LEVELS = {"very strong": 0.5, "strong": 1.0, "normal": 2.0, "weak": 4.0}
GRIDS = (3, 10, 64, 1000)
MOST = 2.0  # times as long as one rate for all
SEVERAL = (3, 10)
MANY = 64
KINDS: dict[str, Callable[[float], Any]] = {
    "GRR d=100": lambda epsilon: sv.GRR(100, epsilon=epsilon),
    "OUE d=128": lambda epsilon: sv.OUE(128, epsilon=epsilon),
    "SubsetSelection d=128": lambda epsilon: sv.SubsetSelection(128, epsilon=epsilon),
    "HadamardResponse d=1,024": lambda epsilon: sv.HadamardResponse(1024, epsilon=epsilon),
    "OLH d=1,024": lambda epsilon: sv.OLH(1024, epsilon=epsilon),
}
# Every level of these has a hash or blocks of outputs of its own; of subset selection, a set size.
OWN_COUNTS = ("SubsetSelection d=128", "HadamardResponse d=1,024", "OLH d=1,024")
Job = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One way in which people differ, or do not; all times in seconds."""

    setting: str
    reports: int
    randomise: float
    aggregate: float
    estimate: float
    both: float  # from reports to an estimate with its standard errors
    base: float | None  # the same for as many reports at one rate, measured in turn with it
    most: float | None = MOST  # times as long as that, if there is a limit

    @property
    def times(self) -> float:
        """How much longer than at one rate."""
        return 1.0 if self.base is None else self.both / self.base

    @property
    def met(self) -> bool:
        """Whether it is as fast as wanted."""
        return self.most is None or self.times <= self.most


def grid(size: int) -> list[float]:
    """So many rates around the mean one."""
    return np.linspace(0.2 * MEAN_RATE, 1.8 * MEAN_RATE, size).tolist()


def picked(choices: Any, n: int) -> np.ndarray:
    """A choice per person, at random."""
    return np.asarray(choices)[SYSTEM.below(len(choices), n)]


def measure(effort: Effort) -> list[Row]:
    """Every setting on one core."""
    # With fewer, nobody may report at some rate: 31 are expected at the least of 64 at a level.
    n = max(400_000, effort.people(PEOPLE))
    rows: list[Row] = []
    for kind, make in KINDS.items():
        answers = SYSTEM.below(make(EPSILON).domain.size, n).astype(np.int64)

        def timed(
            people: str,
            mechanism: Any,
            base: Job | None = None,
            kind: str = kind,
            answers: np.ndarray = answers,
            **choices: Any,
        ) -> Job:
            randomise = min(once(lambda: mechanism.randomise(answers, **choices)) for _ in "12")
            reports = mechanism.randomise(answers, **choices)
            aggregate = mechanism.aggregate(reports)

            def both() -> None:
                _ = mechanism.estimate(mechanism.aggregate(reports)).std_error

            sides = (
                best(lambda: mechanism.aggregate(reports), effort.repeat),
                best(lambda: mechanism.estimate(aggregate).std_error, effort.repeat),
            )
            slow_kind = kind.startswith("OLH")  # ten milliseconds, not a fraction of one
            pair = in_turn(both, base or both, (1 if slow_kind else 10) * effort.repeat)
            first = pair[0], None if base is None else pair[1]
            most = None if base is None or (kind in OWN_COUNTS and "level" in choices) else MOST
            rows.append(Row(f"{kind}, {people}", len(reports), randomise, *sides, *first, most))
            return both

        one = timed("one rate", sv.Sampled(make(EPSILON), rate=MEAN_RATE))
        for size in GRIDS[: 3 if kind in OWN_COUNTS else None]:
            rates = grid(size)
            sampled = sv.Sampled(make(EPSILON), rate=rates)
            timed(f"{size:,} rates", sampled, one, rate=picked(rates, n))
        names = picked(list(LEVELS), n)
        for size in (*SEVERAL, MANY):
            rates = grid(size)
            menu = {name: sv.Sampled(make(e), rate=rates) for name, e in LEVELS.items()}
            choices = {"level": names, "rate": picked(rates, n)}
            timed(f"4 levels, {size:,} rates", sv.Levels(menu), one, **choices)
        levels = sv.Levels({name: make(epsilon) for name, epsilon in LEVELS.items()})
        everyone = timed("everyone reports", sv.Sampled(make(EPSILON), rate=1.0))
        timed("everyone reports, 4 levels", levels, everyone, level=names)
    return rows


def in_turn(job: Job, other: Job, rounds: int) -> tuple[float, float]:
    """Seconds of the fastest run of each, taking turns so that both see the same machine."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(1 + rounds):
        for side, times in zip((job, other), found, strict=True):
            times.append(once(side))
    return min(found[0]), min(found[1])


def slow(rows: list[Row]) -> list[str]:
    """What is slower than wanted."""
    return [f"{row.setting} ({row.times:.1f} times one rate)" for row in rows if not row.met]


def section(rows: list[Row]) -> str:
    """The page's part on people who differ."""
    head = ["people", "reports", "randomise, ms", "aggregate, ms", "estimate, ms", "both, ms"]
    cells = [
        [
            row.setting,
            f"{row.reports:,}",
            f"{1e3 * row.randomise:.0f}",
            f"{1e3 * row.aggregate:.2f}",
            f"{1e3 * row.estimate:.2f}",
            f"{1e3 * row.both:.2f}",
            "–" if row.base is None else f"{row.times:.2f}",
            "–" if row.most is None else f"≤ {row.most:g}",
        ]
        for row in rows
    ]
    return f"""## People who differ

{PEOPLE:,} people on one core. Everyone draws with a personal rate from a public grid,
{MEAN_RATE:g} on average, or chooses one of four levels, or both; levels come as a column of text,
rates as one of floats. *Both* is the way from reports to an estimate with its standard errors, and
beside it stands how much longer that is than for as many reports at one rate and one epsilon,
measured in turn. The first steps, aggregate and estimate on
their own, run while all is still in the cache.

Bits of people at one rate are added by carry-save adders, 512 at a time and about as fast as they
are read; those of several groups take one addition to eight counters each. Levels of Hadamard
response and OLH have blocks or hashes of different sizes. Their estimates are computed one level
after the other, and the reports of OLH are picked out level by level.

{table([*head, "times one rate", "target"], cells)}
"""
