"""Sums between parties: how long they take and what they send."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.errors import MissingExtraError
from sottovoce.parties import Horizontal, Vertical, counting, machines
from sottovoce.parties.engines import engine_of
from sottovoce.parties.releases import Release
from sottovoce.randomness import Source
from sottovoce.transport import drive
from sottovoce.transport.keys import KeyPair

from .machine import FULL, Effort, number, table
from .parties_processes import Case, first_rows, time_roles_apart

_PORTS = 21_000  # the first that engines use
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
    several : float
        Seconds of a run with a process for each role: everything, from the first message on.
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
    several: float
    sent: int

    @property
    def row(self) -> list[str]:
        """As the table has it."""
        seconds = (self.protocol, self.noise, self.counting, self.solving, self.several)
        return [self.case, str(self.parties), f"{self.cells:,}", *map(number, seconds),
                f"{self.sent / 1e6:.2f}"]  # fmt: skip


@contextmanager
def _timed() -> Iterator[dict[str, float]]:
    """Seconds that all parties spend on noise and on counting."""
    spent = {"noise": 0.0, "counting": 0.0}
    noise, rows = machines.noise_shares, counting.Rows.cells

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

    machines.noise_shares = timed_noise
    counting.Rows.cells = timed_cells  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        machines.noise_shares = noise
        counting.Rows.cells = rows  # type: ignore[method-assign]


def rows(effort: Effort) -> list[RowsFigure]:
    """Five parties, 100,000 cells: with and without colluders, and with drop-outs."""
    side, people = 100 if effort is FULL else 20, effort.people(200_000)
    cases: list[tuple[str, dict[str, int]]] = [
        ("all others may collude", {}),
        ("one may collude", {"collusion": 1}),
        ("one may collude, one drop out", {"collusion": 1, "dropouts": 1}),
    ]
    return [_figure(case, side, people, options) for case, options in cases]


def row_case(side: int, people: int, options: dict[str, int]) -> Case:
    """Five parties with three attributes each."""
    schema = [sv.Attribute("a", 10), sv.Attribute("b", side), sv.Attribute("c", side)]
    study = Horizontal(schema, [a.name for a in schema], BUDGETS, **options)
    generator = np.random.default_rng(1)
    return study, {
        party: {a.name: generator.integers(0, a.size, people) for a in schema} for party in BUDGETS
    }


def _figure(case: str, side: int, people: int, options: dict[str, int]) -> RowsFigure:
    study, frames = row_case(side, people, options)
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
    return RowsFigure(
        case,
        many,
        10 * side * side,
        total - spent["noise"] - spent["counting"],
        spent["noise"] / many,
        spent["counting"] / many,
        solving,
        time_roles_apart(row_case, (side, people, options)),
        sent,
    )


def rows_table(figures: list[RowsFigure]) -> str:
    """The table of split rows."""
    head = ["rows split, sjs", "parties", "cells", "protocol s", "noise s per party",
            "counting s per party", "table s", "a process each s", "MB"]  # fmt: skip
    return table(head, [figure.row for figure in figures])


@dataclass(frozen=True)
class ColumnsFigure:
    """One run over split columns.

    Attributes
    ----------
    case : str
        Engine and table.
    rows : int
        How many people.
    one, several : float
        Seconds with all roles in one process, and in a process each. The processes that the
        engines `mpyc` and `cheetah` start beside every role are started within this time.
    opened, sent : int, optional
        Bytes that parties open for the products, and of all messages. Not for engines in processes
        of their own, whose messages to each other are not counted.
    """

    case: str
    rows: int
    one: float
    several: float
    opened: int | None
    sent: int | None

    @property
    def row(self) -> list[str]:
        """As the table has it."""
        sizes = ["" if size is None else f"{size / 1e6:.2f}" for size in (self.opened, self.sent)]
        return [self.case, f"{self.rows:,}", number(self.one), number(self.several), *sizes]


def columns(effort: Effort) -> list[ColumnsFigure]:
    """Tables over columns, by every engine that is installed."""
    oblivious = {"noise": "oblivious", "method": "mv"}
    cases: list[tuple[str, tuple[int, ...], int, dict[str, Any]]] = [
        ("dealer", (16, 16), 20_000, {}),
        ("dealer", (8, 8, 8), 20_000, {}),
        ("dealer", (16, 16), 1_000_000, {}),
        ("mpyc", (16, 16), 20_000, {}),
        ("mpyc", (8, 8, 8), 20_000, {}),
        ("mpyc", (6, 10), 1_000, {"method": "mv"}),
        ("mpyc", (6, 10), 1_000, oblivious),
        ("cheetah", (16, 16), 20_000, {}),
        ("cheetah", (8, 8, 8), 20_000, {}),
    ]
    figures = []
    for place, (engine, sizes, rows, options) in enumerate(cases):
        try:
            engine_of(engine).check()
        except MissingExtraError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        figures.append(_columns_figure(engine, sizes, effort.people(rows), options, place))
    return figures


def column_case(engine: str, sizes: tuple[int, ...], rows: int, options: dict[str, Any]) -> Case:
    """One attribute for each party, all budgets 1."""
    names = "ABCDE"[: len(sizes)]
    schemas = {n: [sv.Attribute(n.lower(), size)] for n, size in zip(names, sizes, strict=True)}
    budgets = dict.fromkeys(names, 1)
    study = Vertical(schemas, list(names.lower()), budgets, engine=engine, **options)
    generator = np.random.default_rng(1)
    return study, {
        name: {"person_id": np.arange(rows), name.lower(): generator.integers(0, size, rows)}
        for name, size in zip(names, sizes, strict=True)
    }


def _columns_figure(
    engine: str, sizes: tuple[int, ...], rows: int, options: dict[str, Any], place: int
) -> ColumnsFigure:
    study, frames = column_case(engine, sizes, rows, options)
    dealt = engine == "dealer"
    if dealt:
        study.simulate(first_rows(frames))  # kernels are compiled
    start = time.perf_counter()
    run = study.simulate(frames, views=False)
    one = time.perf_counter() - start
    sent = sum(cost.bytes + 8 * cost.elements for cost in run.costs.values())
    opened = sum(chain.online_bytes for chain in study.product_plan(rows).chains)
    if not dealt:
        # Other ports in every case, since those of the last one are not free at once.
        ports = {n: _PORTS + 50 * place + 10 * k for k, n in enumerate((*study.parties, "curator"))}
        options = options | {"addresses": {n: f"127.0.0.1:{port}" for n, port in ports.items()}}
    several = time_roles_apart(column_case, (engine, sizes, rows, options))
    words = [engine, "×".join(map(str, sizes))]
    words += [options[option] for option in ("method", "noise") if option in options]
    case = ", ".join(words)
    return ColumnsFigure(
        case, rows, one, several, opened if dealt else None, sent if dealt else None
    )


def columns_table(figures: list[ColumnsFigure]) -> str:
    """The table of split columns."""
    head = ["columns split, pbs-gls", "rows", "one process s", "a process each s", "opened MB",
            "sent MB"]  # fmt: skip
    return table(head, [figure.row for figure in figures])


def speed_section(effort: Effort = FULL) -> str:
    """Both tables."""
    return "\n".join(
        [
            "## Speed",
            "",
            "Every run is one complete release, measured once. *One process*: all roles play in "
            "turn in one process. *A process each*: parties, curator and dealer run in processes "
            "of their own on this machine and talk through the curator; seconds from the first "
            "message until the curator has the table. Before, every process has its data and, but "
            "for `mpyc` and `cheetah`, compiled code. "
            "MB are payload of the messages. Sums over rows: five parties with 200,000 rows each; "
            "noise and counting (finding the cell of every row) are seconds of one party, protocol "
            "is the rest of all parties together, table is the estimate from the sums.",
            "",
            rows_table(rows(effort)),
            "",
            "Tables over columns: one attribute for each party, ε = 1 for all; noise from shares "
            "unless named. The engines `mpyc` and `cheetah` start a process beside every role "
            "that computes, also where the roles play in one process: both times include the "
            "start of these. What these processes send to each other is not counted.",
            "",
            columns_table(columns(effort)),
            "",
        ]
    )
