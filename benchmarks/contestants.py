"""Who runs in the race: every library's way to do an operation, or None where it has none.

Each class offers `randomise(mechanism)`, the participants' side, and `estimate(mechanism)`, from
reports to estimates, for the operation that the given Sottovoce mechanism names.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.randomness import SYSTEM

from .machine import EPSILON
from .ours import answers

MOST = 20_000_000


@dataclass(frozen=True)
class Contestant:
    """`prepare(n)` makes n people's data and returns the action to time."""

    prepare: Callable[[int], Callable[[], object]]
    least: int = 16  # fewer would measure a fixed cost only
    most: int = MOST  # more would not fit in memory

    @classmethod
    def each(cls, one: Callable[[Any], object], values: Callable[[int], Any]) -> Contestant:
        """A library that takes one person at a time."""
        return cls.all(lambda people: [one(person) for person in people], values)

    @classmethod
    def all(
        cls, everyone: Callable[[Any], object], values: Callable[[int], Any], **limits: int
    ) -> Contestant:
        """A library that takes everyone together."""

        def prepare(n: int) -> Callable[[], object]:
            people = values(n)
            return lambda: everyone(people)

        return cls(prepare, **limits)


def codes(d: int, n: int) -> list[int]:
    """Made-up answers as plain integers, which is what the peers take."""
    return SYSTEM.below(d, n).tolist()


def vectors(d: int, n: int) -> np.ndarray:
    """Made-up unary reports."""
    return (SYSTEM.below(4, n * d) == 0).reshape(n, d)


def hashes(n: int) -> list[tuple[int, int]]:
    """Made-up reports of local hashing: bucket and seed."""
    return list(zip(codes(4, n), codes(1 << 31, n), strict=True))


class Ours:
    """Sottovoce."""

    name = "sottovoce"
    randomness = "cryptographic, exact"

    def randomise(self, mechanism: Any) -> Contestant:
        """Answers to reports."""
        return Contestant.all(mechanism.randomise, lambda n: answers(mechanism, n))

    def estimate(self, mechanism: Any) -> Contestant:
        """Reports to estimates."""
        return Contestant.all(
            lambda reports: mechanism.estimate(mechanism.aggregate(reports)),
            lambda n: mechanism.randomise(answers(mechanism, n)),
            most=MOST // 10 if mechanism.layout[0].width else MOST,
        )


class PureLDP:
    """pure-ldp: one class per client and server; values from 0 on by an index mapper."""

    name = "pure-ldp"
    randomness = "Mersenne Twister"

    def __init__(self) -> None:
        from pure_ldp import frequency_oracles

        self._all = frequency_oracles
        self._kinds: dict[str, tuple[str, dict[str, Any]]] = {
            "grr": ("DE", {}),
            "oue": ("UE", {"use_oue": True}),
            "sue": ("UE", {"use_oue": False}),
            "olh": ("LH", {"use_olh": True}),
            "hadamard": ("HadamardResponse", {}),
        }

    def _made(self, mechanism: Any, role: str, **more: Any) -> Any:
        name, options = self._kinds[mechanism.id]
        kind = getattr(self._all, name + role)
        size = mechanism.domain.size
        return kind(EPSILON, size, index_mapper=lambda x: x, **options, **more)

    def randomise(self, mechanism: Any) -> Contestant | None:
        """One `privatise` per person."""
        if mechanism.id not in self._kinds:
            return None
        hadamard = mechanism.id == "hadamard"
        if hadamard and sys.version_info >= (3, 12):
            return None  # its client asks for a random integer below a float, an error since then
        more = {"hash_funcs": None} if hadamard else {}
        client = self._made(mechanism, "Client", **more)
        return Contestant.each(client.privatise, lambda n: codes(mechanism.domain.size, n))

    def estimate(self, mechanism: Any) -> Contestant | None:
        """`aggregate_all`, then `estimate_all` over the domain."""
        if mechanism.id not in self._kinds:
            return None
        d = mechanism.domain.size
        limits: dict[str, int] = {}
        reports: Callable[[int], Any] = lambda n: codes(d, n)  # noqa: E731
        if mechanism.id in ("oue", "sue"):
            reports, limits = (lambda n: list(vectors(d, n).astype(int))), {"most": 40_000}
        elif mechanism.id == "olh":
            reports = hashes
        elif mechanism.id == "hadamard":
            limits = {"least": 40 * d}

        def run(people: Any) -> object:
            server = self._made(mechanism, "Server")
            server.aggregate_all(people)
            return server.estimate_all(range(d), suppress_warnings=True)

        return Contestant.all(run, reports, **limits)


class MultiFreq:
    """multi-freq-ldpy: one function per client and aggregator, most clients compiled by numba."""

    name = "multi-freq-ldpy"
    randomness = "Mersenne Twister"

    def __init__(self) -> None:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

        self._clients = {
            "grr": GRR_Client,
            "oue": UE_Client,
            "sue": lambda x, d, epsilon: UE_Client(x, d, epsilon, False),
            "olh": LH_Client,
            "subset": SS_Client,
        }
        self._servers = {
            "grr": GRR_Aggregator_MI,
            "oue": lambda reports, d, epsilon: UE_Aggregator_MI(reports, epsilon, True),
            "sue": lambda reports, d, epsilon: UE_Aggregator_MI(reports, epsilon, False),
            "olh": LH_Aggregator_MI,
            "subset": SS_Aggregator_MI,
        }

    def randomise(self, mechanism: Any) -> Contestant | None:
        """One client call per person."""
        if (client := self._clients.get(mechanism.id)) is None:
            return None
        d = mechanism.domain.size
        return Contestant.each(lambda x: client(x, d, EPSILON), lambda n: codes(d, n))

    def estimate(self, mechanism: Any) -> Contestant | None:
        """The aggregator, which estimates as well."""
        if (server := self._servers.get(mechanism.id)) is None:
            return None
        d = mechanism.domain.size

        def subsets(n: int) -> list[np.ndarray]:
            chosen = np.arange(round(d / (math.exp(EPSILON) + 1)))
            return [(chosen + shift) % d for shift in codes(d, n)]

        reports: dict[str, Callable[[int], Any]] = {
            "grr": lambda n: codes(d, n),
            "olh": hashes,
            "subset": subsets,
        }
        contest = reports.get(mechanism.id, lambda n: list(vectors(d, n).astype(float)))
        most = MOST if mechanism.id in ("grr", "olh") else 40_000
        return Contestant.all(lambda people: server(people, d, EPSILON), contest, most=most)


class OpenDP:
    """opendp: measurements that take one person at a time, or a vector of numbers."""

    name = "opendp"
    randomness = "cryptographic, exact"

    def __init__(self) -> None:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        self._dp = dp
        self._flip = 2 / (math.exp(EPSILON / 2) + 1)

    def randomise(self, mechanism: Any) -> Contestant | None:
        """Randomised response over categories or bits; Laplace noise for numbers."""
        dp, d, e = self._dp, mechanism.domain.size, math.exp(EPSILON)
        if mechanism.id == "grr":
            response = dp.m.make_randomized_response(list(range(d)), e / (e + d - 1))
            return Contestant.each(response, lambda n: codes(d, n))
        if mechanism.id == "sue":
            space = dp.bitvector_domain(max_weight=1), dp.discrete_distance()
            response = dp.m.make_randomized_response_bitvec(*space, self._flip)
            one_hot = [bytes(row) for row in np.packbits(np.eye(d, dtype=np.uint8), axis=1)]
            return Contestant.each(response, lambda n: [one_hot[x] for x in codes(d, n)])
        if mechanism.id == "piecewise":
            space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
            noise = dp.m.make_laplace(*space, scale=1 / EPSILON)
            return Contestant.all(noise, lambda n: answers(mechanism, n).tolist())
        return None

    def estimate(self, mechanism: Any) -> Contestant | None:
        """Sum and debias bit vectors."""
        if mechanism.id != "sue":
            return None
        d, debias = mechanism.domain.size, self._dp.m.debias_randomized_response_bitvec
        return Contestant.all(
            lambda people: debias(people, self._flip),
            lambda n: [bytes(row) for row in np.packbits(vectors(d, n), axis=1)],
            most=40_000,
        )


class DiffPrivLib:
    """diffprivlib: mechanisms for one value at a time."""

    name = "diffprivlib"
    randomness = "cryptographic"

    def __init__(self) -> None:
        from diffprivlib import mechanisms

        self._all = mechanisms

    def randomise(self, mechanism: Any) -> Contestant | None:
        """Randomised response on two values; Laplace noise for numbers."""
        if mechanism.id == "grr" and mechanism.domain.size == 2:
            binary = self._all.Binary(epsilon=EPSILON, value0="0", value1="1")
            return Contestant.each(binary.randomise, lambda n: [str(x) for x in codes(2, n)])
        if mechanism.id == "piecewise":
            noise = self._all.Laplace(epsilon=EPSILON, sensitivity=1)
            return Contestant.each(noise.randomise, lambda n: answers(mechanism, n).tolist())
        return None

    def estimate(self, mechanism: Any) -> None:
        """It has no estimators for these."""
