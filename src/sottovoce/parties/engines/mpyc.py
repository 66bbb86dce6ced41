"""Engine `mpyc`: Shamir sharing between the parties and the curator, through the package mpyc.

Every member runs a process of its own (`mpyc_worker`) that the others' connect to. Fewer than half
of the members may work together, the curator counted; what they hold is then independent of the
columns. Each party ends with an additive share modulo 2^b; the curator computes and gets nothing.
Noise that nobody draws (`noise="oblivious"`) comes about in the same way.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import MissingExtraError
from ..design import CURATOR
from ..products import Plan
from .processes import ProcessEngine, ProcessMember, addresses_of

_SLACK_BITS = 80


@dataclass(frozen=True)
class Mpyc(ProcessEngine):
    """Shamir sharing through mpyc; addresses are of every party and, last, of the curator."""

    name = program = "mpyc"
    needs = "each, and one for the curator"
    assuming = (
        "fewer than half of the members who compute (the parties and the curator) work together; "
        "half of them together could see the columns. What is opened during the computation is "
        "masked but for a probability of 2^-80 per cell"
    )

    def check(self) -> None:
        if importlib.util.find_spec("mpyc") is None:
            raise MissingExtraError.of("mpyc", "mpyc", "the engine 'mpyc' and oblivious noise")

    def tolerates(self, parties: int) -> int:
        """How many of the parties and the curator may work together: fewer than half."""
        return parties // 2

    def at(self, addresses: Mapping[str, str], parties: Sequence[str]) -> Mpyc:
        return replace(self, addresses=addresses_of((*parties, CURATOR), addresses))

    def places(self, parties: int) -> int:
        return parties + 1

    def curator(self, parties: Sequence[str]) -> ProcessMember:
        return self.party(len(parties), parties)

    def command(self) -> list[str]:
        return [sys.executable, "-m", f"{__package__}.mpyc_worker"]

    def job(self, plan: Plan, index: int, parties: int) -> dict[str, Any]:
        return {
            "addresses": self.addresses,
            "parties": parties,
            "threshold": self.tolerates(parties),
            "mask_bits": max(plan.bits, plan.largest.bit_length() + _SLACK_BITS),
            "noises": [
                {
                    "cells": noise.cells,
                    "precision": noise.precision,
                    "digits": [str(digit) for digit in noise.digits],
                }
                for noise in plan.noises
            ],
        }
