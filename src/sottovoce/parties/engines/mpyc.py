"""Engine `mpyc`: Shamir sharing between the parties and the curator, through the package mpyc.

Every member runs a process of its own (`mpyc_worker`) that the others' connect to. Fewer than half
of the members may work together, the curator counted; what they hold is then independent of the
columns. Each party ends with an additive share modulo 2^b.

End of round 2   every member starts its process
End of round 3   it waits for the shares, and keeps them in a message to itself

The curator's process computes and gets nothing. `noise="oblivious"` draws noise in the same way.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import MissingExtraError, ParameterError, ShareError, WireError
from ...sharing.triples import Codes, Words
from ...transport import Batch, Role
from ..products import Plan
from . import COMPARED, Engine, PartyEngine

_SLACK_BITS = 80
_PATIENCE_SECONDS = 1800.0


@dataclass(frozen=True)
class Mpyc(Engine):
    """Shamir sharing through mpyc.

    Parameters
    ----------
    addresses : sequence of str
        host:port of every party and, last, of the curator.
    tls : path
        The folder in whose ``.config`` the certificates for mpyc's own TLS are. Without it only
        processes of this machine talk to each other.
    """

    addresses: tuple[str, ...] = ()
    tls: str | None = None
    name: str = "mpyc"

    @property
    def assuming(self) -> str:  # type: ignore[override]
        return (
            "fewer than half of the members who compute (the parties and the curator) work "
            "together; half of them together would see the columns. What is opened during the "
            "computation is masked up to a probability of 2^-80 per cell"
        )

    def check(self) -> None:
        if importlib.util.find_spec("mpyc") is None:
            raise MissingExtraError.of("mpyc", "mpyc", "the engine 'mpyc' and oblivious noise")

    def tolerates(self, parties: int) -> int:
        """How many members may work together: fewer than half of parties and curator."""
        return parties // 2

    def rounds(self, parties: int) -> int:
        return 2

    def here(self, parties: int) -> Mpyc:
        """The same with processes of this machine, at ports that are free now."""
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(parties + 1)]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            return replace(
                self, addresses=tuple(f"127.0.0.1:{s.getsockname()[1]}" for s in sockets), tls=None
            )

    def party(self, index: int, parties: Sequence[str]) -> Member:
        self._check_addresses(len(parties))
        return Member(self, index, len(parties))

    def curator(self, parties: Sequence[str]) -> Member:
        self._check_addresses(len(parties))
        return Member(self, len(parties), len(parties))

    def _check_addresses(self, parties: int) -> None:
        self.check()
        if len(self.addresses) != parties + 1:
            raise ParameterError(
                f"{len(self.addresses)} addresses for {parties} parties and the curator; the "
                'engine mpyc needs one for each, such as "host:port"'
            )
        away = [a for a in self.addresses if a.rsplit(":", 1)[0] not in ("127.0.0.1", "localhost")]
        if away and self.tls is None:
            raise ParameterError(
                f"the address {away[0]!r} is on another machine, and there are no certificates; "
                "shares would travel in clear. Name the folder with mpyc's certificates (tls=…)"
            )


@dataclass(frozen=True, eq=False)
class Computed:
    """The shares, once they arrived in a message of the member to itself."""

    shares: tuple[Words, ...] | None = None
    closed: int = COMPARED - 1


@dataclass(eq=False)
class Member(PartyEngine):
    """One member's process; the state of the computation is in it, not here."""

    engine: Mpyc
    index: int
    parties: int
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    kinds = frozenset({"computed"})

    def start(self) -> Computed:
        return Computed()

    def take(self, state: Computed, batch: Batch, plan: Plan) -> Computed:
        own = batch.sent_by is Role.PARTY and batch.sender.tolist() == [self.index]
        if not own or batch.round != COMPARED + 2 or state.shares is not None:
            raise WireError("shares of a product came from another party, or twice; refused")
        shares = tuple(batch.payload[f"share{i}"][0] for i in range(len(_cells(plan))))
        return replace(state, shares=shares)

    def close(
        self, state: Computed, number: int, plan: Plan, columns: Sequence[Codes]
    ) -> tuple[Computed, tuple[Batch, ...]]:
        state = replace(state, closed=number)
        if number == COMPARED:
            self._begin(plan, columns)
        if number != COMPARED + 1:
            return state, ()
        shares = self._finish(plan)
        if self.index == self.parties:
            return state, ()
        me = np.array([self.index], np.int64)
        payload = {f"share{i}": share[None] for i, share in enumerate(shares)}
        return state, (Batch("computed", number + 1, Role.PARTY, Role.PARTY, me, me, payload),)

    def shares(self, state: Computed) -> list[Words]:
        if state.shares is None:
            raise ShareError("the products were not computed; nothing was released")
        return list(state.shares)

    # --- the process ----------------------------------------------------------------------------

    def _begin(self, plan: Plan, columns: Sequence[Codes]) -> None:
        job = {
            "addresses": self.engine.addresses,
            "tls": self.engine.tls is not None,
            "index": self.index,
            "parties": self.parties,
            "threshold": self.engine.tolerates(self.parties),
            "bits": plan.bits,
            "mask_bits": max(plan.bits, plan.largest.bit_length() + _SLACK_BITS),
            "products": [
                {"order": plan.order, "sizes": chain.sizes, "rows": chain.rows}
                for chain in plan.chains
            ],
            "noises": [
                {
                    "cells": noise.cells,
                    "precision": noise.precision,
                    "digits": [str(digit) for digit in noise.digits],
                }
                for noise in plan.noises
            ],
        }
        codes = b"".join(np.ascontiguousarray(c, np.int64).tobytes() for c in columns)
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", f"{__package__}.mpyc_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=None if self.engine.tls is None else Path(self.engine.tls),
        )
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(job).encode() + b"\n" + codes)
            self._process.stdin.close()
            self._process.stdin = None

    def _finish(self, plan: Plan) -> list[Words]:
        process = self._process
        if process is None:
            raise ShareError("mpyc's process is not running: it cannot be resumed; run again")
        try:
            output, errors = process.communicate(timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.communicate()
            raise ShareError("mpyc did not end in time; nothing was released") from error
        finally:
            self._process = None
        if process.returncode:
            last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            raise ShareError(f"mpyc's process failed ({last[0]}); nothing was released")
        words = np.frombuffer(output, "<u4" if plan.bits == 32 else "<u8")
        cells = _cells(plan) if self.index < self.parties else []
        if words.size != sum(cells):
            raise ShareError(f"mpyc gave {words.size} numbers, not {sum(cells)}")
        return np.split(words, np.cumsum(cells)[:-1]) if cells else []


def _cells(plan: Plan) -> list[int]:
    """How many numbers every share has."""
    products = [int(np.prod(plan.shape)) for _ in plan.products]
    return products + [noise.cells for noise in plan.noises]
