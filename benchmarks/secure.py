"""Secure protocols: how long whole runs take in one process, and their costs beside the formulas.

``python -m benchmarks.secure`` prints the tables; ``--plot FILE`` draws the costs against the
number of users. Formulas (maths page "secure-sampling", section d), per user:

DPDS      sends n N elements, draws (n−1) N, adds 2 (n−1) N
TSS       sends αN (αn + 1), draws (1/n) Σ m_j (m_j − 1), adds twice as many; Σ m_j = n M
Helpers   sends N elements and 32 (S − 1) bytes, draws and adds (S − 1) N
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sottovoce.randomness import source_of
from sottovoce.secure import DPDG, DPDS, TSS, BinomialNoise, Protocol
from sottovoce.transport import Cost, Role
from sottovoce.transport.machine import Inbox

from .machine import FULL, Effort, number, table


@dataclass(frozen=True)
class Figure:
    """One run: wall and processor seconds, and what users did."""

    label: str
    people: int
    items: int
    seconds: float
    processor: float
    users: Cost
    expected: tuple[float, float, float] | None

    @property
    def row(self) -> list[str]:
        """As the table has it."""
        each = [
            c / self.people for c in (self.users.elements, self.users.sampled, self.users.added)
        ]
        shown = [number(c) for c in each]
        if self.expected is not None:
            shown = [f"{a} ({number(b)})" for a, b in zip(shown, self.expected, strict=True)]
        timing = [number(self.seconds), number(self.processor)]
        return [self.label, f"{self.people:,}", str(self.items), *timing, *shown]


def letter(n: int, items: int) -> tuple[float, float, float]:
    """Algorithm 2, per user."""
    return n * items, (n - 1) * items, 2 * (n - 1) * items


def helped(n: int, items: int) -> tuple[float, float, float]:
    """Three helpers, per user."""
    return items, 2 * items, 2 * items


def staged(n: int, items: int, alpha: float = 0.1) -> tuple[float, float, float]:
    """Two-stage sampling, per user: α² (n−1) N draws, twice as many additions."""
    drawn = alpha**2 * (n - 1) * items
    return alpha * items * (alpha * n + 1), drawn, 2 * drawn


def one(
    label: str,
    protocol: Protocol,
    people: int,
    formula: Callable[[int, int], tuple[float, float, float]] | None,
) -> Figure:
    """One run over made-up answers."""
    values = np.arange(people) % protocol.items
    wall, processor = time.perf_counter(), time.process_time()
    run = protocol.simulate(values, views=False)
    seconds = time.perf_counter() - wall, time.process_time() - processor
    expected = None if formula is None else formula(people, protocol.items)
    return Figure(label, people, protocol.items, *seconds, run.costs[Role.USER], expected)


def measure(effort: Effort) -> list[Figure]:
    """All runs, after small ones that compile."""
    for protocol in (DPDS(3, rate=0.9), DPDS(3, rate=0.9, helpers=3), TSS(3, rate=0.9, report=0.4)):
        protocol.simulate(np.arange(300) % 3, views=False)
    many, some = effort.people(100_000), effort.people(10_000)
    return [
        one("DPDS to the letter", DPDS(30, rate=0.4, helpers=0), effort.people(1_000), letter),
        one("DPDS to the letter", DPDS(30, rate=0.4, helpers=0), effort.people(3_000), letter),
        one("DPDS, 3 helpers", DPDS(30, rate=0.4, helpers=3), many, helped),
        one("binomial noise, 3 helpers", BinomialNoise(30, epsilon=1.0, helpers=3), many, helped),
        one("DPDG, 3 helpers", DPDG(30, epsilon=1.0, collusion=100, helpers=3), many, helped),
        one("TSS", TSS(100, rate=0.4, report=0.1), some, staged),
        one("TSS'", TSS(100, rate=0.4, report=0.1, collusion=3), some, staged),
        one(
            "TSS', committee of 10",
            TSS(100, rate=0.4, report=0.1, collusion=3, committee=10),
            some,
            None,
        ),
    ]


def client_side(people: int) -> float:
    """Microseconds per user for everything users do in DPDS with three helpers, 30 items."""
    protocol = DPDS(30, rate=0.4, helpers=3)
    values, source = np.arange(people) % 30, source_of(None)
    best = float("inf")
    for _ in range(3):
        begun = time.perf_counter()
        prepared = protocol.prepare(values, source)
        setting = protocol.setting(people, source)
        users = protocol.users_machine(prepared, range(people), setting)
        _, outbox = users.step(users.start(), Inbox(closed=0))
        for batch in outbox.batches:
            len(batch)
        best = min(best, time.perf_counter() - begun)
    return 1e6 * best / people


def section(figures: list[Figure], client: float) -> str:
    """The part of the page."""
    head = ["protocol", "people", "items", "s", "processor s", "sent", "drawn", "added"]
    return (
        "## Secure protocols\n\nWhole runs with every role in one process. Field elements sent, "
        "drawn and added are per user, with the formula in brackets.\n\n"
        + table(head, [figure.row for figure in figures])
        + f"\n\nUsers of DPDS with 3 helpers and 30 items need {client:.1f} µs each for their "
        "coins and shares (target: 30).\n"
    )


def growth() -> dict[str, list[tuple[int, float, float]]]:
    """Elements sent per user against the number of users: measured and by formula."""
    lines: dict[str, list[tuple[int, float, float]]] = {
        "DPDS": [],
        "TSS, α = 0.1": [],
        "helpers": [],
    }
    for n in (100, 200, 400, 800):
        runs = (
            ("DPDS", one("", DPDS(20, rate=0.4, helpers=0), n, letter)),
            ("TSS, α = 0.1", one("", TSS(20, rate=0.4, report=0.1), n, staged)),
            ("helpers", one("", DPDS(20, rate=0.4, helpers=3), n, helped)),
        )
        for name, figure in runs:
            expected = figure.expected[0] if figure.expected else 0.0
            lines[name].append((n, figure.users.elements / n, expected))
    return lines


def plot(lines: dict[str, list[tuple[int, float, float]]], path: Path) -> None:
    """Points are measured, lines are formulas."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(5, 3.5), layout="constrained")
    axes = picture.subplots()
    for name, points in lines.items():
        n, sent, expected = (list(column) for column in zip(*points, strict=True))
        (line,) = axes.loglog(n, expected, label=name)
        axes.loglog(n, sent, "o", color=line.get_color())
    axes.set(xlabel="users", ylabel="field elements sent per user")
    axes.legend(frameon=False)
    picture.savefig(path)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.secure", description=__doc__)
    parser.add_argument("--plot", type=Path, help="where the picture of the costs goes")
    chosen = parser.parse_args()
    if chosen.plot is not None:
        plot(growth(), chosen.plot)
    print(section(measure(FULL), client_side(100_000)))


if __name__ == "__main__":
    main()
