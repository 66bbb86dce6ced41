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
KINDS: dict[str, Callable[[float], Any]] = {
    "GRR d=100": lambda epsilon: sv.GRR(100, epsilon=epsilon),
    "OUE d=128": lambda epsilon: sv.OUE(128, epsilon=epsilon),
}
# Milliseconds that one rate took from reports to estimate when personal rates were first there
# (commit 5723da7, measured on the page's machine): for a tenth of the people, and for everyone.
FIRST = {"GRR d=100": (1.49, 9.53), "OUE d=128": (1.70, 10.6)}


@dataclass(frozen=True)
class Row:
    """One way in which people differ, or do not."""

    kind: str
    people: str
    reports: int
    randomise: float  # seconds, as the others
    aggregate: float
    estimate: float
    base: float  # aggregate and estimate of as many reports at one rate
    wanted: float | None

    @property
    def both(self) -> float:
        """From reports to an estimate with its standard errors."""
        return self.aggregate + self.estimate

    @property
    def met(self) -> bool:
        """Whether it is as fast as wanted."""
        return self.wanted is None or self.both <= self.wanted


def grid(size: int) -> list[float]:
    """So many rates around the mean one."""
    return np.linspace(0.2 * MEAN_RATE, 1.8 * MEAN_RATE, size).tolist()


def picked(choices: Any, n: int) -> np.ndarray:
    """A choice per person, at random."""
    return np.asarray(choices)[SYSTEM.below(len(choices), n)]


def measure(effort: Effort) -> list[Row]:
    """Every setting on one core."""
    rows: list[Row] = []
    n = effort.people(PEOPLE)
    for kind, make in KINDS.items():
        few, all_ = (2e-3 * first for first in FIRST[kind])
        answers = SYSTEM.below(make(EPSILON).domain.size, n).astype(np.int64)

        def timed(
            people: str,
            mechanism: Any,
            wanted: float | None = None,
            base: float | None = None,
            kind: str = kind,
            answers: np.ndarray = answers,
            **choices: Any,
        ) -> float:
            randomise = min(once(lambda: mechanism.randomise(answers, **choices)) for _ in "12")
            reports = mechanism.randomise(answers, **choices)
            aggregate = mechanism.aggregate(reports)
            repeat = 5 * effort.repeat
            seconds = (
                best(lambda: mechanism.aggregate(reports), repeat),
                best(lambda: mechanism.estimate(aggregate).std_error, repeat),
            )
            row = Row(kind, people, len(reports), randomise, *seconds, base or sum(seconds), wanted)
            rows.append(row)
            return row.both

        one = timed("one rate", sv.Sampled(make(EPSILON), rate=MEAN_RATE))
        for size in GRIDS:
            rates = grid(size)
            sampled = sv.Sampled(make(EPSILON), rate=rates)
            timed(f"{size:,} rates", sampled, few, one, rate=picked(rates, n))
        everyone = timed("everyone reports", sv.Sampled(make(EPSILON), rate=1.0))
        names = picked(list(LEVELS), n)
        menu = sv.Levels({name: make(epsilon) for name, epsilon in LEVELS.items()})
        timed("everyone reports, 4 levels", menu, all_, everyone, level=names)
        for size in (1, *GRIDS[:3]):
            rates = grid(size) if size > 1 else [MEAN_RATE]
            menu = sv.Levels({name: sv.Sampled(make(e), rate=rates) for name, e in LEVELS.items()})
            words = f"4 levels, {size:,} rate{'s' * (size > 1)}"
            timed(words, menu, few, one, level=names, rate=picked(rates, n))
    return rows


def slow(rows: list[Row]) -> list[str]:
    """What is slower than wanted."""
    return [f"{row.kind}, {row.people}" for row in rows if not row.met]


def section(rows: list[Row]) -> str:
    """The page's part on people who differ."""
    head = ["people", "reports", "randomise, ms", "aggregate, ms", "estimate, ms", "both, ms"]
    cells = [
        [
            f"{row.kind}, {row.people}",
            f"{row.reports:,}",
            f"{1e3 * row.randomise:.0f}",
            f"{1e3 * row.aggregate:.2f}",
            f"{1e3 * row.estimate:.2f}",
            f"{1e3 * row.both:.2f}",
            "–" if row.wanted is None else f"≤ {1e3 * row.wanted:.1f}",
            f"{row.both / row.base:.1f}",
        ]
        for row in rows
    ]
    return f"""## People who differ

{PEOPLE:,} people on one core; each draws their own rate, {MEAN_RATE:g} on average, from a public
grid, or chooses one of four levels, or both. Levels and rates are given as columns of text and of
floats. Estimates come with their standard errors. From reports to estimate, wanted is at most
twice the time that one rate for all took when personal rates were first written
({", ".join(f"{kind} {few:.2f} ms" for kind, (few, _) in FIRST.items())}). Since then one rate has
become faster, too: the last column says how much longer people who differ take than as many
reports at one rate do now. What is left of it is mostly the cost of a call, not of a person.

{table([*head, "wanted", "times one rate"], cells)}
"""
