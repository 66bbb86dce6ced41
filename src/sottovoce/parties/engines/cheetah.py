"""Engine `cheetah`: homomorphic two-party products of SPU, composed over all pairs of parties.

There is no dealer, and all parties but one may work with the curator. SPU needs an older Python and
older packages, so it runs in an environment of its own: the variable SOTTOVOCE_SPU_PYTHON names the
interpreter there (`docs/parties-engines.md` says how to set it up).

Huang, Lu, Hong, Ding 2022, "Cheetah: lean and fast secure two-party deep neural network inference",
USENIX Security; SPU 0.9.5.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import MissingExtraError, ParameterError
from ..products import Plan
from . import Engine
from .processes import ROUNDS, ProcessMember, free_addresses, is_here, named, products_job

VARIABLE = "SOTTOVOCE_SPU_PYTHON"


@dataclass(frozen=True)
class Cheetah(Engine):
    """Two-party products of SPU.

    Parameters
    ----------
    addresses : sequence of str
        Of party i for its link with party j, at place i K + j; the places i = j are not used. They
        must be on this machine, for instance ends of encrypted tunnels.
    """

    addresses: tuple[str, ...] = ()
    name: str = "cheetah"
    assuming: str = (
        "the lattice-based encryption of SPU's two-party products cannot be broken, and all "
        "parties follow its protocol"
    )

    def check(self) -> None:
        if not os.environ.get(VARIABLE):
            raise MissingExtraError(
                "the engine 'cheetah' needs SPU in an environment of its own; set "
                f"{VARIABLE} to the Python there (docs/parties-engines.md says how)"
            )

    def rounds(self, parties: int) -> int:
        return ROUNDS

    def at(self, addresses: Mapping[str, str], parties: Sequence[str]) -> Cheetah:
        """Party i listens for party j at the j-th port from its own on."""
        places = []
        for address in named(addresses, parties):
            host, port = address.rsplit(":", 1)
            places += [f"{host}:{int(port) + j}" for j in range(len(parties))]
        return replace(self, addresses=tuple(places))

    def here(self, parties: int) -> Cheetah:
        return replace(self, addresses=free_addresses(parties * parties))

    def party(self, index: int, parties: Sequence[str]) -> CheetahMember:
        self.check()
        if len(self.addresses) != len(parties) ** 2:
            raise ParameterError(
                f"{len(self.addresses)} addresses for {len(parties)} parties; the engine cheetah "
                "needs one for each pair and side"
            )
        away = [address for address in self.addresses if not is_here(address)]
        if away:
            raise ParameterError(
                f"the address {away[0]!r} is on another machine, where anyone could connect; use "
                "the ends of encrypted tunnels on this machine"
            )
        return CheetahMember(index, len(parties), self)


class CheetahMember(ProcessMember):
    """One party's process."""

    name = "SPU"

    def __init__(self, index: int, parties: int, engine: Cheetah) -> None:
        super().__init__(index, parties)
        self.engine = engine

    def command(self) -> list[str]:
        return [os.environ[VARIABLE], str(Path(__file__).with_name("spu_worker.py"))]

    def job(self, plan: Plan) -> dict[str, Any]:
        if plan.noises:
            raise ParameterError("noise='oblivious' needs the engine 'mpyc'")
        at, k = self.engine.addresses, self.parties
        links = {
            j: (at[self.index * k + j], at[j * k + self.index]) for j in range(k) if j != self.index
        }
        return {
            "index": self.index,
            "bits": plan.bits,
            "links": links,
            "products": products_job(plan),
        }
