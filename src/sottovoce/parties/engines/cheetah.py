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
from .processes import ProcessEngine, addresses_of

VARIABLE = "SOTTOVOCE_SPU_PYTHON"


@dataclass(frozen=True)
class Cheetah(ProcessEngine):
    """Two-party products of SPU.

    The address of party i for its link with party j is at place i K + j; the places i = j are not
    used.
    """

    name = "cheetah"
    program = "SPU"
    needs = "each pair and side"
    assuming = (
        "the lattice-based encryption of SPU's two-party products cannot be broken, and all "
        "parties follow its protocol"
    )

    def check(self) -> None:
        if not os.environ.get(VARIABLE):
            raise MissingExtraError(
                "the engine 'cheetah' needs SPU in an environment of its own; set "
                f"{VARIABLE} to the Python there (docs/parties-engines.md says how)"
            )

    def at(self, addresses: Mapping[str, str], parties: Sequence[str]) -> Cheetah:
        """Party i listens for party j at the j-th port from its own on."""
        places = []
        for address in addresses_of(parties, addresses):
            host, port = address.rsplit(":", 1)
            places += [f"{host}:{int(port) + j}" for j in range(len(parties))]
        return replace(self, addresses=tuple(places))

    def places(self, parties: int) -> int:
        return parties * parties

    def command(self) -> list[str]:
        return [os.environ[VARIABLE], str(Path(__file__).with_name("spu_worker.py"))]

    def job(self, plan: Plan, index: int, parties: int) -> dict[str, Any]:
        if plan.noises:
            raise ParameterError("noise='oblivious' needs the engine 'mpyc'")
        at, k = self.addresses, parties
        others = [j for j in range(k) if j != index]
        return {"links": {j: (at[index * k + j], at[j * k + index]) for j in others}}
