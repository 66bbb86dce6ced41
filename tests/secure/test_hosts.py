"""Hosts play many people: what they know of the noise, and what is then promised."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from sottovoce import testing
from sottovoce.cli import main
from sottovoce.secure import BinomialNoise
from sottovoce.secure.parts import largest_host, result_of
from sottovoce.secure.selection import one_hot
from sottovoce.transport import Role, drive
from sottovoce.transport.keys import KeyPair, Party, Roster

NORTH, SOUTH = 90, 60
STUDY = """\
format = 1
[question]
name = "commute"
values = ["car", "bike"]
[protocol]
name = "binomial"
epsilon = 1.0
delta = 1e-4
"""


def roster(*hosts: int) -> Roster:
    servers = [("server", Role.AGGREGATOR), ("h0", Role.HELPER), ("h1", Role.HELPER)]
    parties = [Party(n, r, KeyPair.generate().public, relay=n == "server") for n, r in servers]
    for k, users in enumerate(hosts):
        parties.append(Party(f"host-{k}", Role.USER, KeyPair.generate().public, users))
    return Roster(tuple(parties))


def test_a_host_may_know_all_of_the_noise() -> None:
    """Those who toss are the first of the roster: here all of them are users of one host."""
    protocol = BinomialNoise(2, epsilon=1.0, delta=1e-4, helpers=2)
    codes = np.arange(NORTH + SOUTH) % 2
    with testing.seeded(1) as source:
        session = protocol.session(codes, source=source)
        run = session.run()
        rows = session._prepared.rows
    coins = (rows - one_hot(codes, 2, np.ones(codes.size, bool)))[:NORTH].sum(axis=0)
    exact = run.aggregate.dense(protocol.counts.table) - coins
    assert exact.tolist() == np.bincount(codes).tolist()


@pytest.mark.parametrize(("hosts", "said"), [((NORTH, SOUTH), True), ((1,) * 150, False)])
def test_the_promise_says_what_a_host_counts_for(hosts: tuple[int, ...], said: bool) -> None:
    protocol = BinomialNoise(2, epsilon=1.0, delta=1e-4, helpers=2)
    with testing.seeded(1) as source:
        prepared = protocol.prepare(np.arange(150) % 2, source)
        machines = protocol.machines(prepared, protocol.setting(150, source))
        driven = drive(machines, protocol.message_rounds(150))
    counts = result_of(protocol, roster(*hosts), driven.states[-1], seeded=True)
    assert largest_host(roster(*hosts)) == max(hosts)
    assert counts.route is not None
    for promise in counts.route.guarantee.promises:
        assert any("counts as all of them (90 " in words for words in promise.assuming) is said


def test_a_study_with_hosts_larger_than_the_collusion_is_pointed_out(tmp_path) -> None:
    for collusion, said in ((1, True), (NORTH, False)):
        path = tmp_path / f"{collusion}.toml"
        entries = "\n".join(party.to_toml() for party in roster(NORTH, SOUTH))
        path.write_text(f"{STUDY}collusion = {collusion}\n{entries}")
        shown = " ".join(CliRunner().invoke(main, ["secure", "check", str(path)]).output.split())
        assert ("unless collusion is 90 or more" in shown) is said
