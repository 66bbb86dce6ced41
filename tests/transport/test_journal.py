"""A journal is private, whole up to its last record, and good for the run it was written in."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sottovoce.errors import FileError, TransportError, WireError
from sottovoce.transport import Inbox, Machine, Outbox
from sottovoce.transport.journal import Journal
from sottovoce.transport.network import Patience, Played
from sottovoce.transport.office import LocalOffice, RunOverError
from sottovoce.transport.playing import play
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import Relay
from sottovoce.transport.sealing import Head, seal
from sottovoce.transport.sessions import Sessions

from .pads import ROUNDS, Holder, State, machine
from .playing import KEYS, ROSTER, STUDY, run_all

ABOUT = {"journal": "party", "study": "00", "party": "A", "rounds": 3}
SESSION = b"s" * 16


# --- the file ---------------------------------------------------------------------------------


def written(path: Path, *bodies: bytes) -> None:
    journal = Journal(path, ABOUT)
    journal.begin(SESSION)
    for body in bodies:
        journal.append(b"x", body)
    journal.sync()
    journal.close()


def contents(path: Path) -> list[bytes]:
    journal = Journal(path, ABOUT)
    try:
        return [journal.read(record) for record in journal.records]
    finally:
        journal.close()


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path, b"one", b"", b"three" * 1000)
    assert path.stat().st_mode & 0o777 == 0o600
    assert contents(path) == [b"one", b"", b"three" * 1000]


def test_a_last_record_that_was_cut_off_is_dropped_and_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path, b"one", b"two")
    whole = path.read_bytes()
    written(tmp_path / "shorter", b"one")
    shorter = (tmp_path / "shorter").stat().st_size
    for size in range(shorter, len(whole)):
        path.write_bytes(whole[:size])
        assert contents(path) == [b"one"]
        assert path.stat().st_size == shorter
    # Its length is on disk, and its bytes are not.
    path.write_bytes(whole[:-7] + bytes(7))
    assert contents(path) == [b"one"]


def test_other_damage_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path, b"one", b"two")
    whole = path.read_bytes()
    start = len(whole) - 2 * (13 + 3 + 4)
    for k in range(start, start + 20):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :])
        with pytest.raises(FileError, match="altered"):
            Journal(path, ABOUT)
    path.write_bytes(b"some text that is not a journal")
    with pytest.raises(FileError, match="altered"):
        Journal(path, ABOUT)


def test_a_journal_that_others_can_read_or_that_is_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path)
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(FileError, match="by others"):
            Journal(path, ABOUT)
    path.chmod(0o600)
    journal = Journal(path, ABOUT)
    with pytest.raises(FileError, match="in use"):
        Journal(path, ABOUT)
    journal.close()
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(FileError, match="cannot open"):
        Journal(tmp_path / "link", ABOUT)


@pytest.mark.parametrize("change", [{"study": "01"}, {"party": "B"}, {"rounds": 4}])
def test_a_journal_of_another_run_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "journal"
    written(path)
    with pytest.raises(TransportError, match=f"of another run \\({next(iter(change))}\\)"):
        Journal(path, ABOUT | change)


def test_a_journal_of_another_session_or_of_one_that_has_ended_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path, b"secret")
    journal = Journal(path, ABOUT)
    with pytest.raises(TransportError, match="a new run, with new noise"):
        journal.check_session(b"t" * 16)
    journal.end()
    journal.close()
    assert b"secret" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    journal = Journal(path, ABOUT)
    assert journal.session is None
    with pytest.raises(TransportError, match="has ended"):
        journal.begin(SESSION)
    journal.begin(b"t" * 16)  # a journal that has ended makes room for the next run
    journal.close()


# --- a party with a journal -------------------------------------------------------------------


def test_a_session_goes_on_with_its_journal_only(tmp_path: Path) -> None:
    """A host that was there before: refused without its journal, and after its journal's end."""
    sessions = Sessions(tmp_path / "sessions", bytes(32))
    relay = Relay(ROSTER, STUDY, SESSION, ROUNDS)
    seat = Seat(ROSTER, STUDY, KEYS["A"])

    class Stops(LocalOffice):
        async def done(self, round_number: int) -> None:
            raise ConnectionResetError

    def start() -> Any:
        return play(
            machine(ROSTER, "A"),
            ROUNDS,
            seat,
            Stops(relay, "A"),
            sessions=sessions,
            journal=tmp_path / "journal",
        )

    async def run() -> None:
        relay.closed = 0
        for _ in range(3):  # breaks off each time, and may come back
            with pytest.raises(ConnectionResetError):
                await start()
        assert sessions.count() == 1
        (tmp_path / "journal").rename(tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(TransportError, match="already"):
                await start()

    asyncio.run(run())


def test_a_run_that_has_ended_is_not_played_again(tmp_path: Path) -> None:
    results: list[Played] = []
    joined: list[bytes] = []

    def options(name: str) -> dict[str, Any]:
        keep = {"joined": joined.append, "finished": results.append}
        return {"journal": tmp_path / name, **keep}

    ends = run_all({name: machine(ROSTER, name) for name in KEYS}, options)
    assert all(isinstance(end, Played) and end.state.total == 111 for end in ends.values())
    assert len(results) == 4
    assert len(joined) == 4
    assert len(set(joined)) == 1
    relay = Relay(ROSTER, STUDY, joined[0], ROUNDS)
    office = LocalOffice(relay, "A")
    seat = Seat(ROSTER, STUDY, KEYS["A"])
    with pytest.raises(TransportError, match="has ended"):
        asyncio.run(play(machine(ROSTER, "A"), ROUNDS, seat, office, journal=tmp_path / "A"))


def test_a_result_that_could_not_be_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    """Everyone else has gone; the curator has everything in its journals."""
    results: list[Played] = []

    def fails(_: Played) -> None:
        raise FileError("the disk is full")

    def options(name: str) -> dict[str, Any]:
        return {"journal": tmp_path / name, "finished": fails} if name == "curator" else {}

    ends = run_all({name: machine(ROSTER, name) for name in KEYS}, options)
    assert isinstance(ends["curator"], FileError)
    again = run_all(
        {"curator": machine(ROSTER, "curator")},
        lambda name: {"journal": tmp_path / name, "finished": results.append},
    )["curator"]
    assert isinstance(again, Played)
    assert results[0].state.total == again.state.total == 111


class Remembers(Holder):
    """Keeps its pad in its state instead of sending it to itself: against the rule."""

    def step(self, state: State, inbox: Inbox) -> tuple[State, Outbox]:
        state, outbox = super().step(state, inbox)
        if inbox.closed != 0:
            return state, outbox
        to_next, to_self = outbox.batches
        pad = int(to_self.payload["value"][0])
        return replace(state, pads={**state.pads, self.index: pad}), Outbox([to_next])


def broken_off(party: Machine[Any], journal: Path | None) -> int | None:
    """The total, where A breaks off when its pad was sent, and starts again."""

    class BreaksOff(LocalOffice):
        async def done(self, round_number: int) -> None:
            raise ConnectionResetError

    async def run() -> int | None:
        relay = Relay(ROSTER, STUDY, SESSION, ROUNDS, Patience(5.0, 5.0))

        def start(name: str, kind: type[LocalOffice] = LocalOffice) -> Any:
            seat = Seat(ROSTER, STUDY, KEYS[name])
            part = party if name == "A" else machine(ROSTER, name)
            own = journal if name == "A" else None
            return play(part, ROUNDS, seat, kind(relay, name), journal=own)

        tasks = [asyncio.create_task(start(name)) for name in ("B", "C", "curator")]
        tasks.append(asyncio.create_task(relay.conduct()))
        try:
            async with asyncio.timeout(10):
                with pytest.raises(ConnectionResetError):
                    await start("A", BreaksOff)
                total: int | None = (await start("A")).state.total
                return total
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(run())


def test_what_was_sent_is_not_drawn_again_and_machines_that_do_so_are_caught(
    tmp_path: Path,
) -> None:
    assert broken_off(machine(ROSTER, "A"), tmp_path / "journal") == 111
    assert broken_off(Remembers(0, 1, 3), tmp_path / "twin") != 111
    with pytest.raises(WireError, match="other content"):
        broken_off(machine(ROSTER, "A"), None)


# --- the relay's journal ----------------------------------------------------------------------


def test_a_relay_that_was_started_again_refuses_what_it_refused_before(tmp_path: Path) -> None:
    about = {"journal": "relay", "study": STUDY.hex()}

    def parcel(sender: str, receiver: str, session: bytes) -> bytes:
        head = Head(STUDY.hex(), session.hex(), 1, "pad", sender, receiver, 0)
        return seal(b"text", head, KEYS[sender], KEYS[receiver].public)

    async def run() -> None:
        journal = Journal(tmp_path / "relay", about)
        relay = Relay(ROSTER, STUDY, os.urandom(16), ROUNDS, Patience(5.0, 0.2), journal)
        session = relay.session
        for name in KEYS:
            await relay.join(name)
        conducting = asyncio.create_task(relay.conduct())
        await relay.parcel("A", 0, 0, 5.0)
        sent = {name: parcel(name, "B", session) for name in "AC"}
        for name, data in sent.items():
            relay.accept(name, data)
        for name in ("A", "B", "curator"):  # C sends, and is never done
            await relay.done(name, 1)
        assert await relay.parcel("B", 1, 0, 5.0) == sent["A"]
        conducting.cancel()
        journal.close()

        journal = Journal(tmp_path / "relay", about)
        relay = Relay(ROSTER, STUDY, os.urandom(16), ROUNDS, Patience(5.0, 5.0), journal)
        assert (relay.session, relay.closed, relay.missing) == (session, 1, {"C": 1})
        assert await relay.parcel("B", 1, 0, 5.0) == sent["A"]
        assert await relay.parcel("B", 1, 1, 5.0) == b""  # nothing of C's, now as before
        relay.accept("A", sent["A"])  # the same bytes
        with pytest.raises(WireError, match="other content"):
            relay.accept("A", parcel("A", "B", session))
        with pytest.raises(TransportError, match="does not belong to the round"):
            relay.accept("A", parcel("A", "C", session))
        with pytest.raises(RunOverError, match="C was too late"):
            await relay.join("C")
        journal.close()

    asyncio.run(run())
