"""Sums between parties: how long they take and what they send.

``python -m benchmarks.parties_speed`` prints the table.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.errors import MissingExtraError
from sottovoce.parties import Horizontal, Vertical, counting
from sottovoce.parties.engines import engine_of
from sottovoce.parties.releases import Release
from sottovoce.randomness import Source
from sottovoce.transport import Role, drive
from sottovoce.transport.keys import KeyPair, Party, Roster
from sottovoce.transport.network import Address, serve, take_part
from sottovoce.transport.post import Seat

from .machine import FULL, Effort, number, table

#: A study, and a table for every party.
Case = tuple[Any, dict[str, Any]]
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
        apart(row_case, (side, people, options)),
        sent,
    )


def section(figures: list[RowsFigure]) -> str:
    """The table."""
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
        Seconds with all roles in one process, and in a process each.
    opened, sent : int
        Bytes that parties open for the products, and of all messages. Engines in processes of
        their own send more, which is not counted.
    """

    case: str
    rows: int
    one: float
    several: float
    opened: int
    sent: int

    @property
    def row(self) -> list[str]:
        """As the table has it."""
        several = "" if np.isnan(self.several) else number(self.several)
        sizes = [f"{size / 1e6:.2f}" for size in (self.opened, self.sent)]
        return [self.case, f"{self.rows:,}", number(self.one), several, *sizes]


def columns(effort: Effort) -> list[ColumnsFigure]:
    """Tables over columns, by every engine that is installed."""
    cases = [("dealer", (16, 16), 20_000), ("dealer", (8, 8, 8), 20_000)]
    cases += [("dealer", (16, 16), 1_000_000), ("mpyc", (16, 16), 20_000)]
    cases += [("cheetah", (16, 16), 20_000), ("cheetah", (8, 8, 8), 20_000)]
    figures = []
    for engine, sizes, rows in cases:
        try:
            engine_of(engine).check()
        except MissingExtraError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        figures.append(_columns_figure(engine, sizes, effort.people(rows)))
    return figures


def column_case(engine: str, sizes: tuple[int, ...], rows: int) -> Case:
    """One attribute for each party, all budgets 1."""
    names = "ABCDE"[: len(sizes)]
    schemas = {n: [sv.Attribute(n.lower(), size)] for n, size in zip(names, sizes, strict=True)}
    study = Vertical(schemas, list(names.lower()), dict.fromkeys(names, 1), engine=engine)
    generator = np.random.default_rng(1)
    return study, {
        name: {"person_id": np.arange(rows), name.lower(): generator.integers(0, size, rows)}
        for name, size in zip(names, sizes, strict=True)
    }


def _columns_figure(engine: str, sizes: tuple[int, ...], rows: int) -> ColumnsFigure:
    study, frames = column_case(engine, sizes, rows)
    if engine == "dealer":
        study.simulate(_few(frames))  # kernels are compiled
    start = time.perf_counter()
    run = study.simulate(frames, views=False)
    one = time.perf_counter() - start
    sent = sum(cost.bytes + 8 * cost.elements for cost in run.costs.values())
    opened = sum(chain.online_bytes for chain in study.product_plan(rows).chains)
    dealt = engine == "dealer"
    several = apart(column_case, (engine, sizes, rows)) if dealt else float("nan")
    return ColumnsFigure(
        f"{engine}, {'×'.join(map(str, sizes))}", rows, one, several, opened * dealt, sent
    )


def _few(frames: dict[str, Any]) -> dict[str, Any]:
    return {party: {n: c[:100] for n, c in frame.items()} for party, frame in frames.items()}


def apart(build: Callable[..., Case], arguments: tuple[Any, ...]) -> float:
    """Seconds of a run with a process for each role, from the first message to the last.

    Processes are there, with their data and with compiled kernels, before the clock starts.
    """
    study, _ = build(*arguments)
    names = ("curator", *["dealer"] * study.dealer, *study.parties)
    keys = {name: KeyPair.generate() for name in names}
    roles = {"curator": Role.CURATOR, "dealer": Role.DEALER}
    roster = Roster(
        tuple(
            Party(n, roles.get(n, Role.PARTY), keys[n].public, relay=n == "curator") for n in names
        )
    )
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(len(names)), context.Queue()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secrets = {name: pair._secret for name, pair in keys.items()}
    processes = [
        context.Process(
            target=_play, args=(n, build, arguments, roster, secrets, port, ready, results)
        )
        for n in names
    ]
    for process in processes:
        process.start()
    seconds = results.get(timeout=600)
    for process in processes:
        process.join()
    return float(seconds)


def _play(name, build, arguments, roster, secrets, port, ready, results) -> None:  # type: ignore[no-untyped-def]
    study, frames = build(*arguments)
    pairs = {other: KeyPair(secret) for other, secret in secrets.items()}
    public = {other: pair.verify_key for other, pair in pairs.items()}
    seat = Seat(roster, roster.bind(study.digest), pairs[name])
    study.simulate(_few(frames))
    rounds, url = study.message_rounds, f"http://127.0.0.1:{port}"
    if name == "curator":
        machine = study.curator_machine(pairs[name], public)
        ready.wait()
        start = time.perf_counter()
        played = asyncio.run(serve(machine, rounds, seat, address=Address("127.0.0.1", port)))
        study.outcome(played.state)
        results.put(time.perf_counter() - start)
        return
    if name == "dealer":
        machine = study.dealer_machine(pairs[name], public)
    else:
        machine = study.party_machine(name, frames[name], pairs[name], public)
    ready.wait()
    time.sleep(0.05)  # until the curator listens
    asyncio.run(take_part(machine, rounds, seat, url, timeout=600))


def columns_section(figures: list[ColumnsFigure]) -> str:
    """The table."""
    head = ["columns split, pbs-gls", "rows", "one process s", "a process each s", "opened MB",
            "sent MB"]  # fmt: skip
    return table(head, [figure.row for figure in figures])


if __name__ == "__main__":
    print(section(rows(FULL)))
    print(columns_section(columns(FULL)))
