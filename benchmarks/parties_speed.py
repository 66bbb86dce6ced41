"""Sums between parties: how long they take and what they send, all roles in this process.

``python -m benchmarks.parties_speed`` prints the table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

import sottovoce as sv
from sottovoce.parties import Horizontal, counting
from sottovoce.parties.releases import Release
from sottovoce.randomness import Source
from sottovoce.transport import drive
from sottovoce.transport.keys import KeyPair

from .machine import FULL, Effort, number, table

BUDGETS = {"A": 0.1, "B": 0.5, "C": 1.0, "D": 1.0, "E": 1.0}


@dataclass(frozen=True)
class RowsFigure:
    """One run over split rows.

    Attributes
    ----------
    case : str
        What was run.
    parties, cells : int
        How many.
    protocol, noise, counting, solving : float
        Seconds: all roles together without noise and counting; noise and counting of one party;
        the table from the sums.
    sent : int
        Bytes of payload of all messages.
    """

    case: str
    parties: int
    cells: int
    protocol: float
    noise: float
    counting: float
    solving: float
    sent: int

    @property
    def row(self) -> list[str]:
        """As the table has it."""
        seconds = (self.protocol, self.noise, self.counting, self.solving)
        return [self.case, str(self.parties), f"{self.cells:,}", *map(number, seconds),
                f"{self.sent / 1e6:.2f}"]  # fmt: skip


@contextmanager
def _timed() -> Iterator[dict[str, float]]:
    """Seconds that all parties spend on noise and on counting."""
    spent = {"noise": 0.0, "counting": 0.0}
    noise, rows = counting.NOISE["shares"], counting.Rows.cells

    def timed_noise(release: Release, party: str, source: Source) -> np.ndarray:
        start = time.perf_counter()
        share = noise(release, party, source)
        spent["noise"] += time.perf_counter() - start
        return share

    def timed_cells(self: counting.Rows, names: tuple[str, ...]) -> np.ndarray:
        start = time.perf_counter()
        cells = rows(self, names)
        spent["counting"] += time.perf_counter() - start
        return cells

    counting.NOISE["shares"] = timed_noise
    counting.Rows.cells = timed_cells  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        counting.NOISE["shares"] = noise
        counting.Rows.cells = rows  # type: ignore[method-assign]


def rows(effort: Effort) -> list[RowsFigure]:
    """Five parties, 100,000 cells: with and without colluders, and with drop-outs."""
    side = 10 if effort is FULL else 2
    schema = [sv.Attribute("a", 10), sv.Attribute("b", 10 * side), sv.Attribute("c", 10 * side)]
    people = effort.people(200_000)
    generator = np.random.default_rng(1)
    frames = {
        party: {a.name: generator.integers(0, a.size, people) for a in schema} for party in BUDGETS
    }
    cases: list[tuple[str, dict[str, int]]] = [
        ("all others may collude", {}),
        ("one may collude", {"collusion": 1}),
        ("one may collude, one drop out", {"collusion": 1, "dropouts": 1}),
    ]
    return [_figure(case, schema, frames, options) for case, options in cases]


def _figure(case, schema, frames, options) -> RowsFigure:  # type: ignore[no-untyped-def]
    study = Horizontal(schema, [a.name for a in schema], BUDGETS, **options)
    keys = {name: KeyPair.generate() for name in (*study.parties, "curator")}
    public = {name: pair.verify_key for name, pair in keys.items()}
    machines = [study.party_machine(n, frames[n], keys[n], public) for n in study.parties]
    machines.append(study.curator_machine(keys["curator"], public))
    with _timed() as spent:
        start = time.perf_counter()
        driven = drive(machines, study.message_rounds, views=False)
        total = time.perf_counter() - start
    start = time.perf_counter()
    study.outcome(driven.states[-1])
    solving = time.perf_counter() - start
    sent = sum(cost.bytes + 8 * cost.elements for cost in driven.costs.values())
    many = len(study.parties)
    cells = int(np.prod([a.size for a in schema]))
    return RowsFigure(
        case,
        many,
        cells,
        total - spent["noise"] - spent["counting"],
        spent["noise"] / many,
        spent["counting"] / many,
        solving,
        sent,
    )


def section(figures: list[RowsFigure]) -> str:
    """The table."""
    head = ["rows split, sjs", "parties", "cells", "protocol s", "noise s per party",
            "counting s per party", "table s", "MB"]  # fmt: skip
    return table(head, [figure.row for figure in figures])


if __name__ == "__main__":
    print(section(rows(FULL)))
