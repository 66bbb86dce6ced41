"""The race: every library at every operation it has, and the table of results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import sottovoce as sv

from .contestants import Contestant, DiffPrivLib, MultiFreq, OpenDP, Ours, PureLDP
from .machine import EPSILON, FULL, Effort, number, once, table
from .ours import Decode, title

STEPS = {"randomise": "randomise", "estimate": "aggregate + estimate"}


@dataclass(frozen=True)
class Result:
    """One library's speed at one operation; the first of an operation is ours."""

    operation: str
    library: str
    n: int
    per_second: float
    times: float  # how many times faster ours is


@dataclass(frozen=True)
class Guess:
    """A peer's time for the heavy OLH decode, from a few reports over all values."""

    library: str
    n: int
    seconds: float


def installed() -> list[Any]:
    """The peers that can be imported here."""
    collected = []
    for kind in (PureLDP, MultiFreq, OpenDP, DiffPrivLib):
        try:
            collected.append(kind())
        except ImportError:
            continue
    return collected


def speed(contestant: Contestant, effort: Effort) -> tuple[int, float]:
    """How many people, and how many per second, n grown until the clock can be trusted."""
    contestant.prepare(contestant.least)()  # compiles, warms up
    n = contestant.least
    while True:
        action = contestant.prepare(n)
        seconds = once(action)
        if seconds >= effort.seconds or n >= contestant.most:
            again = min(3, round(4 * effort.seconds / seconds))
            return n, n / min([seconds] + [once(action) for _ in range(again)])
        growth = math.ceil(1.3 * effort.seconds / seconds)
        n = min(contestant.most, n * max(2, min(32, growth)))


def race(peers: list[Any], effort: Effort) -> list[Result]:
    """Run every operation that a peer has."""
    d = 1024
    mechanisms = [
        sv.GRR(d, epsilon=EPSILON),
        sv.GRR(2, epsilon=EPSILON),
        sv.OUE(d, epsilon=EPSILON),
        sv.SUE(d, epsilon=EPSILON),
        sv.SubsetSelection(d, epsilon=EPSILON),
        sv.OLH(d, epsilon=EPSILON),
        sv.HadamardResponse(1 << 17 if effort is FULL else d, epsilon=EPSILON),
        sv.Piecewise((0, 1), epsilon=EPSILON),
    ]
    results = []
    for mechanism in mechanisms:
        for step, words in STEPS.items():
            others = [(peer, getattr(peer, step)(mechanism)) for peer in peers]
            others = [(peer, contestant) for peer, contestant in others if contestant]
            if not others:
                continue
            n, fastest = speed(getattr(Ours(), step)(mechanism), effort)
            operation = f"{title(mechanism)} {words}"
            results.append(Result(operation, Ours.name, n, fastest, 1.0))
            for peer, contestant in others:
                n, rate = speed(contestant, effort)
                results.append(Result(operation, peer.name, n, rate, fastest / rate))
    return results


def guesses(peers: list[Any], n: int, effort: Effort) -> list[Guess]:
    """What the OLH decode at n = d would take the peers that have it."""
    mechanism = sv.OLH(n, epsilon=EPSILON)
    collected = []
    for peer in peers:
        if contestant := peer.estimate(mechanism):
            few, rate = speed(contestant, effort)
            collected.append(Guess(peer.name, few, n / rate))
    return collected


def section(peers: list[Any], results: list[Result], heavy: Decode, guess: list[Guess]) -> str:
    """The page's part on other libraries."""
    rows = []
    for result in results:
        ours = result.library == Ours.name
        rows.append(
            [
                result.operation if ours else "",
                result.library,
                f"{result.n:,}",
                number(result.per_second),
                "1" if ours else number(result.times),
            ]
        )
    names = ", ".join(f"{peer.name} {version(peer.name)} ({peer.randomness})" for peer in peers)
    hashing = [[Ours.name, duration(heavy.one_core), "1", "measured"]]
    for one in guess:
        hashing.append(
            [
                one.library,
                duration(one.seconds),
                number(one.seconds / heavy.one_core),
                f"extrapolated from n = {one.n}, d = {heavy.n:,}",
            ]
        )
    return f"""## Against other libraries

One core, ε = {EPSILON:g}, reports per second. Every library runs at its own n: as many people as it
handles in {FULL.seconds:g} s, or as fit in memory. The peers take reports one by one, so that more
people would hardly change their rate; pure-ldp's Hadamard decode, which ends in one transform, is
given millions to spread it over. Only what is marked as such is extrapolated. "Times faster" is our
speed over theirs.
Numbers: ours is the piecewise mechanism, theirs Laplace noise; diffprivlib has randomised response
for two values only; multi-freq-ldpy's aggregators also clip and rescale.

Peers and their randomness: {names or "none is installed here"}.

{table(["operation", "library", "n", "reports/s", "times faster"], rows, text=2)}

OLH decode with n = d = {heavy.n:,}, one core:

{table(["library", "time", "times faster", "how"], hashing)}
"""


def duration(seconds: float) -> str:
    """Seconds in the unit that people would say."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2f} s"
