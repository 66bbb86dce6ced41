"""Rounds between machines: hosts state how often their people drew coins, and the most counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.contract.aggregate import Aggregate
from sottovoce.errors import ShareError
from sottovoce.secure.parts import host_part, result_of, server_part
from sottovoce.secure.rounds import WithRounds
from sottovoce.transport import Batch, Role, drive
from sottovoce.transport.in_process import Tamper
from sottovoce.transport.keys import KeyPair, Party, Roster

S = sv.secure
EACH = 40
ANSWERS = np.arange(2 * EACH) % 3
PROTOCOLS: list[Callable[[], S.Protocol]] = [
    lambda: S.BinomialNoise(3, epsilon=1.0, helpers=2),
    lambda: S.BinomialNoise(3, epsilon=1.0, helpers=0),
    lambda: S.DPDG(3, epsilon=1.0, helpers=2),
    lambda: S.DPDS(3, rate=0.3, count=20, delta=1e-2, helpers=2),
    lambda: S.TSS(3, rate=0.3, report=0.7, count=20, delta=1e-1, collusion=1),
    lambda: S.TSS(3, rate=0.3, report=0.7, count=20, delta=1e-1, collusion=1, committee=4),
]


def roster_of(protocol: S.Protocol) -> Roster:
    servers = [("server", Role.AGGREGATOR)]
    if isinstance(protocol, S.TSS):
        servers = [("s1", Role.S1), ("s2", Role.S2)]
    servers += [(f"h{k}", Role.HELPER) for k in range(getattr(protocol, "helpers", 0) or 0)]
    keys = [KeyPair.generate().public for _ in servers]
    parties = [
        Party(name, role, key, relay=k == 0)
        for k, ((name, role), key) in enumerate(zip(servers, keys, strict=True))
    ]
    hosts = [Party(f"host-{k}", Role.USER, KeyPair.generate().public, EACH) for k in range(2)]
    return Roster((*parties, *hosts))


def result(
    protocol: S.Protocol,
    stated: tuple[int, int],
    *,
    known: int = 1,
    tamper: Tamper | None = None,
) -> Aggregate:
    """A run of two hosts, whose people are in so many rounds; the server knows of others."""
    roster, machines = roster_of(protocol), []
    with testing.seeded(1) as source:
        for k, rounds in enumerate(stated):
            mine = ANSWERS[k * EACH : (k + 1) * EACH]
            about: Any = {"source": source, "drawn": lambda rounds=rounds: rounds}
            machines.append(host_part(protocol, roster, f"host-{k}", mine, **about).machine)
        for party in roster:
            if party.role is not Role.USER:
                machines.append(server_part(protocol, roster, party.id, source=source).machine)
        driven = drive(machines, protocol.message_rounds(ANSWERS.size), tamper=tamper)
    state = next(state for state in driven.states if isinstance(state, WithRounds))
    return result_of(protocol, roster, state, rounds=known, seeded=True, refused=driven.refused)


@pytest.mark.parametrize("make", PROTOCOLS)
@pytest.mark.parametrize(("stated", "known"), [((1, 3), 1), ((2, 1), 1), ((1, 1), 4), ((1, 1), 1)])
def test_the_most_rounds_of_any_host_or_of_the_server_count(
    make: Callable[[], S.Protocol], stated: tuple[int, int], known: int
) -> None:
    protocol, rounds = make(), max(*stated, known)
    route = result(protocol, stated, known=known).route
    assert route is not None
    senders = np.ones(ANSWERS.size, bool)
    expected = protocol.promise(ANSWERS.size, senders, rounds)
    for promise, other in zip(route.guarantee.promises, expected.promises, strict=True):
        assert (promise.epsilon, promise.delta) == (other.epsilon, other.delta)
        assert any("rounds with fresh" in s for s in promise.assuming) is (rounds > 1)
        assert any("hosts count all rounds" in s for s in promise.assuming)


@pytest.mark.parametrize("make", PROTOCOLS)
def test_without_word_from_all_hosts_there_is_no_result(make: Callable[[], S.Protocol]) -> None:
    def drop(batch: Batch) -> tuple[Batch, ...]:
        return () if batch.kind == "rounds" and batch.sender[0] == EACH else (batch,)

    with pytest.raises(ShareError, match="80 people are in it, and the hosts of 40 have said"):
        result(make(), (1, 1), tamper=drop)


@pytest.mark.parametrize("rounds", [0, -1, 1001, 2**62])
def test_numbers_of_rounds_that_cannot_be_are_refused(rounds: int) -> None:
    with pytest.raises(ShareError, match="the hosts of 40 have said"):
        result(PROTOCOLS[0](), (1, rounds))
