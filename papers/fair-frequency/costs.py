"""Table 1: what users and servers of DPDS and TSS compute and send, counted in real runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sottovoce as sv
from sottovoce import testing
from sottovoce.reproduce import Data
from sottovoce.transport import EVERYONE, Batch, Role

from .people import draw

ADDITIONS, DRAWN = "user: field additions", "user: field elements drawn"
SENT = "user: field elements sent"
SERVER, IDS = "server or S2: field additions", "S1: ids of elected users sent"


def counted(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """One protocol, to the letter or ours, with one number of users, whose mean is counted."""
    people = draw("uniform", setting["size"], data)
    protocol = protocol_of(setting["protocol"], people.items)
    measured: dict[str, list[float]] = {}
    with testing.seeded(seed) as source:
        for _ in range(repeats):
            run = protocol.simulate(people.codes, source=source, views=None)
            for name, number in _costs(run, setting["size"]).items():
                measured.setdefault(name, []).append(number)
    return measured


def protocol_of(name: str, items: int) -> sv.secure.Protocol:
    """The protocol of a row; α = 0.4, γ = e and p = 1 − e^−0.5 where it has them."""
    rate, report = -math.expm1(-0.5), 0.4
    adaptive = {"selection": "adaptive", "gamma": math.e}
    protocols: dict[str, Any] = {
        "DPDS": lambda: sv.secure.DPDS(items, rate=rate, helpers=0),
        "TSS, US": lambda: sv.secure.TSS(items, rate=rate, report=report),
        "TSS, AS": lambda: sv.secure.TSS(items, rate=rate, report=report, **adaptive),
        "DPDS, 3 helpers (ours)": lambda: sv.secure.DPDS(items, rate=rate, helpers=3),
        "TSS, committee of 5 (ours)": lambda: sv.secure.TSS(
            items, rate=rate, report=report, collusion=2, committee=5
        ),
    }
    protocol: sv.secure.Protocol = protocols[name]()
    return protocol


def _costs(run: sv.secure.Run, users: int) -> dict[str, float]:
    user = run.costs[Role.USER]
    server = run.costs.get(Role.S2) or run.costs[Role.AGGREGATOR]
    costs: dict[str, float] = {
        ADDITIONS: user.added / users,
        DRAWN: user.sampled / users,
        SENT: user.elements / users,
        SERVER: server.added,
    }
    if Role.S1 in run.costs:
        costs[IDS] = float(sum(_copies(batch, users) for batch in run.views.batches
                               if batch.kind in ("elected", "committee")))  # fmt: skip
    return costs


def _copies(batch: Batch, users: int) -> int:
    """How many messages leave; what is published goes to every user."""
    public = int((batch.receiver == EVERYONE).sum())
    return len(batch) + public * (users - 1)
