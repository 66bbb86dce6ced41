"""A run between separate processes on loopback, started as `python -m tests.transport.stage`.

This process loads everything once, and then forks one process per party and run. Each plays with
its own key and, if it is a host, its own people's answers, and writes how it ended to a file. A
party may be notices to kill itself when a round closes. The answers and coins are those of `PEOPLE`
and `SEED`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.errors import SottovoceError
from sottovoce.secure import DPDS, TSS, BinomialNoise, Protocol
from sottovoce.secure.parts import Part, result_of, server_part, users_part
from sottovoce.secure.protocol import Prepared
from sottovoce.testing import seeded
from sottovoce.transport import Inbox, Machine, Outbox, Role
from sottovoce.transport.keys import KeyPair, Party, Roster
from sottovoce.transport.network import Played, serve, take_part
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import Patience

SEED = 20
HOSTS, EACH = 4, 50
PEOPLE = np.arange(HOSTS * EACH) ** 2 % 7 % 5  # uneven, and in every host another mixture
LIMIT = 25.0  # seconds for all parties

PROTOCOLS: dict[str, Protocol] = {
    "tss": TSS(5, rate=0.5, report=0.4, collusion=3, users=PEOPLE.size),
    "committee": TSS(5, rate=0.5, report=0.4, collusion=1, committee=5, users=PEOPLE.size),
    "dpds": DPDS(5, rate=0.5, helpers=3, users=PEOPLE.size),
    "letter": DPDS(5, rate=0.5, helpers=0, users=PEOPLE.size),
    "binomial": BinomialNoise(5, epsilon=1.0, helpers=2, users=PEOPLE.size),
}


class Dies(Machine[Any]):
    """A machine whose process is killed when a round closes, before it sends anything."""

    def __init__(self, machine: Machine[Any], round_number: int) -> None:
        self.role, self.members = machine.role, machine.members
        self._machine, self._round = machine, round_number

    def start(self) -> Any:
        return self._machine.start()

    def step(self, state: Any, inbox: Inbox) -> tuple[Any, Outbox]:
        if inbox.closed == self._round:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._machine.step(state, inbox)


def cast(protocol: Protocol) -> tuple[Roster, dict[str, KeyPair]]:
    """Servers as the protocol needs them, and four hosts of 50 users."""
    servers: dict[str, Role] = {"aggregator": Role.AGGREGATOR}
    if isinstance(protocol, TSS):
        servers = {"s1": Role.S1, "s2": Role.S2}
    helpers = getattr(protocol, "helpers", 0) or 0
    servers |= {f"helper-{k}": Role.HELPER for k in range(helpers)}
    relay = next(iter(servers))
    names = [*servers, *(f"host-{k}" for k in range(HOSTS))]
    keys = {name: KeyPair.generate() for name in names}
    parties = [Party(n, r, keys[n].public, relay=n == relay) for n, r in servers.items()]
    parties += [Party(n, Role.USER, keys[n].public, EACH) for n in names[len(servers) :]]
    return Roster(tuple(parties)), keys


def part_of(
    protocol: Protocol, roster: Roster, name: str, source: Any, answers: Any = PEOPLE
) -> Part:
    """A party's part; hosts have the coins that one process would have drawn for everyone."""
    if roster.party(name).role is not Role.USER:
        return server_part(protocol, roster, name, source=source)
    mine = slice(roster.members(name).start, roster.members(name).stop)
    everyone = protocol.prepare(answers, source)
    sets = None if everyone.sets is None else everyone.sets[mine]
    prepared = Prepared(everyone.rows[mine], sets)
    return users_part(protocol, roster, name, prepared, source=source)


def play(protocol: Protocol, seat: Seat, folder: Path, dies: int | None) -> dict[str, Any]:
    """One party to the end; what it knows then."""
    name, where = seat.party.id, folder / "address"
    with seeded(SEED) as source:
        part = part_of(protocol, seat.roster, name, source)
        machine = part.machine if dies is None else Dies(part.machine, dies)

        async def run() -> Played:
            async with asyncio.timeout(LIMIT):
                if seat.party.relay:
                    return await serve(
                        machine,
                        part.rounds,
                        seat,
                        patience=Patience(gathering=10.0, round=3.0),
                        listening=lambda address: tell(where, address),
                    )
                while not where.exists():
                    await asyncio.sleep(0.02)
                return await take_part(machine, part.rounds, seat, where.read_text(), timeout=5.0)

        played = asyncio.run(run())
        end: dict[str, Any] = {"refused": played.refused, "missing": played.missing}
        if part.last:
            counts = result_of(protocol, seat.roster, played.state, seeded=True)
            end["counts"] = counts.tables[protocol.counts.table].tolist()
            end["people"] = counts.reports
    return end


def tell(path: Path, text: str) -> None:
    """Write a file that is whole as soon as it is there."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)


def perform(name: str, folder: Path, deaths: dict[str, int]) -> None:
    """One run: a process per party."""
    protocol = PROTOCOLS[name]
    roster, keys = cast(protocol)
    study = roster.bind(bytes(32))
    children = set()
    for party in roster:
        child = os.fork()
        if child == 0:
            try:
                seat = Seat(roster, study, keys[party.id])
                end = play(protocol, seat, folder, deaths.get(party.id))
            except (SottovoceError, OSError, TimeoutError) as error:
                end = {"error": f"{type(error).__name__}: {error}"}
            tell(folder / f"{party.id}.json", json.dumps(end))
            os._exit(0)
        children.add(child)
    end_time = time.monotonic() + LIMIT + 2
    while children and time.monotonic() < end_time:
        children.discard(os.waitpid(-1, os.WNOHANG)[0])
        time.sleep(0.01)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def main(folder: Path, runs: dict[str, dict[str, int]]) -> None:
    """Runs one after the other; each is named by its protocol and who dies in it."""
    with seeded(0) as source:
        for protocol in PROTOCOLS.values():
            protocol.simulate(PEOPLE, source=source)  # compiles what the parties will need
    for run, deaths in runs.items():
        (folder / run).mkdir()
        perform(run.partition(" ")[0], folder / run, deaths)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
