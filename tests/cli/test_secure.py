"""`secure` on the command line: simulations, keys, and the roles as processes."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sottovoce.cli.secure.shared import NAMES
from sottovoce.errors import StudyError
from sottovoce.study.secure import PROTOCOLS, SecureStudy

VALUES = ("--column", "commute", "--values", "car,bike,foot")
RUNS = {
    "binomial": ("--epsilon", "1", "--helpers", "2"),
    "dpdg": ("--epsilon", "1", "--delta", "1e-5", "--helpers", "2"),
    "dummies": ("--epsilon", "1", "--rate", "0.5", "--helpers", "2"),
    "suppressed": ("--epsilon", "1", "--rate", "0.3", "--neighbours", "add-remove"),
    "dpds": ("--rate", "0.4", "--count", "100", "--helpers", "3"),
    "tss": ("--rate", "0.4", "--report", "0.4", "--collusion", "3", "--count", "200"),
    "dpcs": ("--epsilon", "0.5", "--count", "100"),
}
QUESTION = """\
format = 1

[question]
name = "commute"
values = ["car", "bike", "foot"]

[protocol]
name = "binomial"
epsilon = 1.0

"""


def test_names_are_those_of_studies() -> None:
    assert tuple(PROTOCOLS) == NAMES
    assert RUNS.keys() == PROTOCOLS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_can_be_simulated(name: str, json_of: Any) -> None:
    about = json_of("secure", "run", "answers.csv", *VALUES, "--protocol", name, *RUNS[name])
    assert about["people"] == 1000
    assert about["refused"] == []
    estimates = {row["value"]: (row["low"], row["high"]) for row in about["values"]}
    # Wide enough for any noise that comes up once in 10^8 runs.
    for value, truth in {"car": 0.5, "bike": 0.25, "foot": 0.25}.items():
        low, high = estimates[value]
        assert low - 2 * (high - low) <= truth <= high + 2 * (high - low)
    assert about["guarantee"]["promises"]
    assert sum(cost["messages"] for cost in about["costs"].values()) > 0


def test_the_default_promises_the_same_whatever_people_answer(run: Any) -> None:
    shown = run("secure", "run", "answers.csv", *VALUES, "--epsilon", "1").stdout
    assert "commute: 1,000 people" in shown
    assert "ε = 1, δ = 1e-06 for everything that a person contributes" in shown
    full = run("secure", "run", "answers.csv", *VALUES, "--epsilon", "1", "--guarantee").stdout
    assert "Assuming:" in full


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--rate", "0.5", "--epsilon", "1"), "'binomial' has unknown entries 'rate'"),
        ((), "'binomial' needs the parameter 'epsilon'"),
        (("--protocol", "tss", "--rate", "0.5"), "needs the parameter 'report'"),
        (("--epsilon", "1", "--helpers", "1"), "one helper would see every answer"),
        (
            ("--protocol", "tss", "--rate", ".5", "--report", ".5", "--helpers", "2"),
            "has no helpers",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused(
    options: tuple[str, ...], match: str, fails: Any
) -> None:
    assert match in fails("secure", "run", "answers.csv", *VALUES, *options)


def test_values_are_declared_and_never_read_off_the_answers(run: Any, fails: Any) -> None:
    run("secure", "run", "answers.csv", "--column", "commute", "--epsilon", "1", code=2)
    said = fails(
        "secure", "run", "answers.csv", "--column", "commute", "--values", "car,bike",
        "--epsilon", "1",
    )  # fmt: skip
    assert "row 3" in said
    assert "'foot'" in said


def make_keys(run: Any, users: int = 1000) -> None:
    run("secure", "keygen", "curator", "--role", "aggregator", "--relay")
    for name in ("helper-1", "helper-2"):
        run("secure", "keygen", name, "--role", "helper")
    run("secure", "keygen", "north", "--role", "user", "--users", str(users))


def write_study(folder: Path) -> None:
    entries = (path.read_text() for path in sorted(folder.glob("*.party.toml")))
    (folder / "secure.toml").write_text(QUESTION + "\n".join(entries))


def test_keys_are_private_and_never_replaced_by_accident(
    folder: Path, run: Any, fails: Any
) -> None:
    make_keys(run)
    assert stat.S_IMODE((folder / "north.key").stat().st_mode) == 0o600
    assert (folder / "north.key").read_text() not in (folder / "north.party.toml").read_text()
    before = (folder / "north.key").read_bytes()
    fails("secure", "keygen", "north", "--role", "user")
    assert (folder / "north.key").read_bytes() == before
    assert "names have" in fails("secure", "keygen", "North Host", "--role", "user")


def test_check_shows_the_digest_that_everyone_compares(
    folder: Path, run: Any, json_of: Any, fails: Any
) -> None:
    make_keys(run)
    write_study(folder)
    about = json_of("secure", "check", "secure.toml")
    assert about["digest"] == SecureStudy.load(folder / "secure.toml").digest.hex()
    assert about["digest"] in run("secure", "check", "secure.toml").stdout
    assert about["parties"][0]["party"] == "curator"
    text = (folder / "secure.toml").read_text()
    digests = {about["digest"]}
    for old, new in (("epsilon = 1.0", "epsilon = 1.5"), ('"foot"', '"walk"'), ("1000", "999")):
        (folder / "secure.toml").write_text(text.replace(old, new))
        digests.add(json_of("secure", "check", "secure.toml")["digest"])
    assert len(digests) == 4
    (folder / "secure.toml").write_text(text.replace("epsilon", "epsylon"))
    assert "unknown entries 'epsylon'" in fails("secure", "check", "secure.toml")


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("format = 1", "format = 2", "the format is 2"),
        ("[protocol]", "[protocols]", "unknown entries 'protocols'"),
        ('name = "binomial"', 'name = "magic"', "must be one of"),
        ("epsilon = 1.0", "epsilon = [1.0]", "text and numbers"),
        ("epsilon = 1.0", "epsilon = -1.0", "epsilon"),
        ('role = "helper"', 'role = "s1"', "must be S1"),
    ],
)
def test_a_study_with_an_error_is_refused(
    folder: Path, run: Any, old: str, new: str, match: str
) -> None:
    make_keys(run)
    write_study(folder)
    text = (folder / "secure.toml").read_text()
    assert old in text
    with pytest.raises(StudyError, match=match):
        SecureStudy.from_toml(text.replace(old, new, 1))


def test_a_party_must_be_in_the_roster_with_its_role(folder: Path, run: Any, fails: Any) -> None:
    make_keys(run, users=999)
    write_study(folder)
    run("secure", "keygen", "stranger", "--role", "helper")
    base = ("--study", "secure.toml", "--relay", "http://127.0.0.1:9", "--timeout", "0.1")
    said = fails("secure", "helper", *base, "--key", "stranger.key")
    assert "no party with this key" in said
    assert "is a host" in fails("secure", "helper", *base, "--key", "north.key")
    assert "999 users" in fails("secure", "send", "answers.csv", *base, "--key", "north.key")
    assert "is a server" in fails("secure", "send", "answers.csv", *base, "--key", "helper-1.key")
    listen = ("secure", "aggregator", "--study", "secure.toml", "--port", "0")
    assert "not the relay" in fails(*listen, "--key", "helper-1.key")
    assert "needs TLS" in fails(*listen, "--key", "curator.key", "--host", "0.0.0.0")


@pytest.fixture
def start(folder: Path) -> Any:
    """Start commands as processes; all are gone at the end."""
    started: list[subprocess.Popen[str]] = []

    def call(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "sottovoce.cli", "secure", *arguments, "--json"]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command, text=True, start_new_session=True, **pipes))
        return started[-1]

    yield call
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_the_roles_as_processes(folder: Path, run: Any, fails: Any, start: Any) -> None:
    make_keys(run)
    write_study(folder)
    study = ("--study", "secure.toml")
    curator = start("aggregator", *study, "--key", "curator.key", "--port", "0", "--wait", "20")
    address = curator.stderr.readline().split()[-1]
    assert address.startswith("http://127.0.0.1:")
    relay = ("--relay", address)
    others = [
        start("helper", *study, "--key", "helper-1.key", *relay),
        start("helper", *study, "--key", "helper-2.key", *relay),
        start("send", "answers.csv", *study, "--key", "north.key", *relay),
    ]
    for process in (curator, *others):
        shown, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert said == ""
        if process is curator:
            about = json.loads(shown)
    assert (about["people"], about["refused"], about["too_late"]) == (1000, [], [])
    assert about["guarantee"]["promises"][0]["epsilon"] == 1.0
    # A second release of the same answers is never made by accident.
    said = fails("secure", "send", "answers.csv", *study, "--key", "north.key", *relay)
    assert "--again" in said


def test_of_two_hosts_at_once_the_second_is_refused(
    folder: Path, run: Any, fails: Any, monkeypatch: Any
) -> None:
    """Both began before either had a session, so that neither saw the other's at first."""
    make_keys(run)
    write_study(folder)

    async def after_another(*_: Any, sessions: Any, joined: Any, **__: Any) -> None:
        sessions.note(b"another run")
        sessions.note(b"this run")
        joined(b"this run")
        raise AssertionError

    monkeypatch.setattr("sottovoce.transport.network.take_part", after_another)
    send = ("send", "answers.csv", "--study", "secure.toml", "--key", "north.key")
    assert "--again" in fails("secure", *send, "--relay", "http://127.0.0.1:1")


def test_a_new_key_of_the_aggregator_does_not_forget_the_rounds_of_people(
    folder: Path, run: Any, start: Any
) -> None:
    """The aggregator counts the sessions of its own key only; hosts tell theirs."""
    make_keys(run)
    write_study(folder)
    study, deltas = ("--study", "secure.toml"), []
    for again in ((), ("--again",)):
        curator = start("aggregator", *study, "--key", "curator.key", "--port", "0")
        relay = ("--relay", curator.stderr.readline().split()[-1])
        for name in ("helper-1", "helper-2"):
            start("helper", *study, "--key", f"{name}.key", *relay)
        start("send", "answers.csv", *study, "--key", "north.key", *relay, *again)
        shown, said = curator.communicate(timeout=60)
        assert curator.returncode == 0, said
        promise = json.loads(shown)["guarantee"]["promises"][0]
        deltas.append(promise["delta"])
        for path in folder.glob("curator.*"):
            path.unlink()
        run("secure", "keygen", "curator", "--role", "aggregator", "--relay")
        write_study(folder)
    assert deltas[0] == 1e-6
    assert deltas[1] > 1e-4
    assert any("2 rounds" in sentence for sentence in promise["assuming"])
