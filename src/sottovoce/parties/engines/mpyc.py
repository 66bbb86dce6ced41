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

from ...errors import MissingExtraError, ParameterError
from ..design import CURATOR
from ..products import Plan
from . import Engine
from .processes import ROUNDS, ProcessMember, free_addresses, is_here, named, products_job

_SLACK_BITS = 80


@dataclass(frozen=True)
class Mpyc(Engine):
    """Shamir sharing through mpyc.

    Parameters
    ----------
    addresses : sequence of str
        host:port of every party and, last, of the curator. They must be on this machine, for
        instance ends of encrypted tunnels: mpyc's processes neither encrypt nor authenticate.
    """

    addresses: tuple[str, ...] = ()
    name: str = "mpyc"
    assuming: str = (
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

    def rounds(self, parties: int) -> int:
        return ROUNDS

    def at(self, addresses: Mapping[str, str], parties: Sequence[str]) -> Mpyc:
        return replace(self, addresses=named(addresses, (*parties, CURATOR)))

    def here(self, parties: int) -> Mpyc:
        return replace(self, addresses=free_addresses(parties + 1))

    def party(self, index: int, parties: Sequence[str]) -> MpycMember:
        self.check()
        if len(self.addresses) != len(parties) + 1:
            raise ParameterError(
                f"{len(self.addresses)} addresses for {len(parties)} parties and the curator; the "
                'engine mpyc needs one for each, such as "127.0.0.1:9101"'
            )
        away = [address for address in self.addresses if not is_here(address)]
        if away:
            raise ParameterError(
                f"the address {away[0]!r} is on another machine; shares would travel in clear, "
                "and anyone could connect. Use the ends of encrypted tunnels on this machine"
            )
        return MpycMember(index, len(parties), self)

    def curator(self, parties: Sequence[str]) -> MpycMember:
        return self.party(len(parties), parties)


class MpycMember(ProcessMember):
    """One member's process."""

    name = "mpyc"

    def __init__(self, index: int, parties: int, engine: Mpyc) -> None:
        super().__init__(index, parties)
        self.engine = engine

    def command(self) -> list[str]:
        return [sys.executable, "-m", f"{__package__}.mpyc_worker"]

    def job(self, plan: Plan) -> dict[str, Any]:
        return {
            "addresses": self.engine.addresses,
            "index": self.index,
            "parties": self.parties,
            "threshold": self.engine.tolerates(self.parties),
            "bits": plan.bits,
            "mask_bits": max(plan.bits, plan.largest.bit_length() + _SLACK_BITS),
            "products": products_job(plan),
            "noises": [
                {
                    "cells": noise.cells,
                    "precision": noise.precision,
                    "digits": [str(digit) for digit in noise.digits],
                }
                for noise in plan.noises
            ],
        }
