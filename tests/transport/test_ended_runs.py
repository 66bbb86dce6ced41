"""Ending a run for everyone: whoever cannot go on says so, and nobody waits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sottovoce.errors import (
    AnswerError,
    DigestError,
    GuaranteeError,
    ParameterError,
    ShareError,
    SottovoceError,
)
from sottovoce.secure import TSS
from sottovoce.transport import Inbox, Machine, Outbox, Role, playing
from sottovoce.transport.client import HttpOffice
from sottovoce.transport.network import Patience, Played, serve, take_part
from sottovoce.transport.office import RunOverError
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import Relay

from .pads import ROUNDS, State, machine
from .playing import KEYS, ROSTER, STUDY, run_all
from .stage import cast as users_and_servers


@dataclass(frozen=True, eq=False)
class Refuses(Machine[State]):
    """A machine that will not go on after some round."""

    machine: Machine[State]
    after: int
    error: SottovoceError

    @property
    def role(self) -> Any:  # type: ignore[override]
        return self.machine.role

    @property
    def members(self) -> range:  # type: ignore[override]
        return self.machine.members

    def start(self) -> State:
        return self.machine.start()

    def step(self, state: State, inbox: Inbox) -> tuple[State, Outbox]:
        if inbox.closed == self.after:
            raise self.error
        return self.machine.step(state, inbox)


@pytest.mark.parametrize(("name", "after"), [("B", 0), ("B", 3), ("C", 1), ("curator", 2)])
def test_whoever_cannot_go_on_ends_the_run_for_everyone(
    name: str, after: int, tmp_path: Path
) -> None:
    error = GuaranteeError("the budget is spent\nand so on")
    machines = {party: machine(ROSTER, party) for party in KEYS}
    machines[name] = Refuses(machines[name], after, error)
    ends = run_all(machines, lambda party: {"journal": tmp_path / party})
    assert ends.pop(name) is error
    for end in ends.values():
        if after == 3 and isinstance(end, Played):
            continue  # it had everything before the last one refused
        assert isinstance(end, RunOverError)
        assert str(end) == f"{name} ended the run: the budget is spent and so on"
    assert after < 3 or isinstance(ends["curator"], RunOverError)
    for path in tmp_path.iterdir():  # nobody can go on with it
        assert path.stat().st_size < 300, path


def test_when_the_relay_cannot_go_on_nobody_waits_for_it() -> None:
    machines = {party: machine(ROSTER, party) for party in KEYS}
    error = ShareError("no total: too few parties are left")
    machines["curator"] = Refuses(machines["curator"], 2, error)
    ends = run_all(machines)
    assert ends.pop("curator") is error
    for end in ends.values():
        assert str(end) == "curator ended the run: no total: too few parties are left"


def test_a_message_that_is_too_large_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "MOST_BYTES", 200)
    ends = run_all({party: machine(ROSTER, party) for party in KEYS})
    for end in ends.values():
        assert isinstance(end, (ParameterError, RunOverError))
        assert "'pad' has" in str(end)


def test_others_are_not_told_what_is_wrong_with_ones_own_rows() -> None:
    machines = {party: machine(ROSTER, party) for party in KEYS}
    machines["A"] = Refuses(machines["A"], 1, AnswerError("row 7: 'diabetes' is no value"))
    ends = run_all(machines)
    assert isinstance(ends["A"], AnswerError)
    for name in ("B", "C", "curator"):
        assert isinstance(ends[name], RunOverError)
        assert "A ended the run: its own data or files cannot be used" in str(ends[name])
        assert "diabetes" not in str(ends[name])


def test_a_party_with_another_study_ends_the_run_and_both_digests_are_named() -> None:
    other = ROSTER.bind(b"x" * 32)
    machines = {party: machine(ROSTER, party) for party in KEYS}
    ends = run_all(machines, studies={"C": other})
    assert isinstance(ends["C"], DigestError)
    for end in ends.values():
        assert isinstance(end, (DigestError, RunOverError))
        assert f"C has the study {other.hex()[:12]}, and the relay {STUDY.hex()[:12]}" in str(end)


def test_the_party_with_another_study_learns_why_before_the_relay_hangs_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep = Relay.keep

    async def on_a_slow_disk(relay: Relay) -> None:
        await asyncio.sleep(0.5 if relay.aborted else 0.0)
        await keep(relay)

    monkeypatch.setattr(Relay, "keep", on_a_slow_disk)
    machines = {party: machine(ROSTER, party) for party in ("C", "curator")}
    ends = run_all(machines, studies={"C": ROSTER.bind(b"x" * 32)})
    assert isinstance(ends["C"], DigestError)


def test_a_stranger_with_another_study_ends_nothing() -> None:
    async def run() -> None:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        seat = Seat(ROSTER, STUDY, KEYS["curator"])
        serving = asyncio.create_task(
            serve(
                machine(ROSTER, "curator"),
                ROUNDS,
                seat,
                patience=Patience(10.0, 10.0),
                listening=address.set_result,
            )
        )
        where = await address
        office = HttpOffice(where, "00" * 32, bytes(32), timeout=1.0)
        with pytest.raises(DigestError, match=f"a party has the study {'0' * 12}"):
            await office.join()
        seats = {name: Seat(ROSTER, STUDY, KEYS[name]) for name in "ABC"}
        parts = [take_part(machine(ROSTER, n), ROUNDS, seats[n], where) for n in seats]
        async with asyncio.timeout(10):
            await asyncio.gather(*parts)
            played = await serving
        assert played.state.total == 111
        assert len(played.refused) == 1

    asyncio.run(run())


def test_a_run_without_whoever_counts_the_rounds_does_not_begin() -> None:
    """S2 knows how often people drew coins; a run without it would not be counted by the next."""
    roster, _ = users_and_servers(TSS(5, rate=0.5, report=0.4, collusion=3))

    async def run() -> Relay:
        relay = Relay(roster, roster.bind(bytes(32)), bytes(16), 4, Patience(0.2, 5))
        for party in roster:
            if party.role is not Role.S2:
                await relay.join(party.id)
        await relay.conduct()
        for party in roster:
            with pytest.raises(RunOverError, match="s2, who would have the result, did not come"):
                await relay.parcel(party.id, 0, 0, 5.0)
        return relay

    assert asyncio.run(run()).closed == -1
