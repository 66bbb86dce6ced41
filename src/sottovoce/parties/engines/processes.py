"""Engines that compute in a process of their own beside each member's.

End of round 2   every member starts its process, with a job on standard input: one line of JSON,
                 then the codes of its columns, int64, product after product
End of round 3   it waits for the process to end, reads its shares from standard output, and keeps
                 them in a message to itself

The processes talk to each other directly, so that a run cannot be resumed between these rounds.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from ...errors import ParameterError, ShareError, WireError
from ...sharing.triples import Codes, Words
from ...transport import Batch, Role
from ..products import Plan
from . import COMPARED, Engine, PartyEngine

_PATIENCE_SECONDS = 1800.0

#: The shares, once they arrived in a message of the member to itself.
Computed = tuple[Words, ...] | None


@dataclass(eq=False)
class ProcessMember(PartyEngine):
    """One member; the state of the computation is in its process."""

    index: int
    parties: int
    engine: ProcessEngine
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    kinds = frozenset({"computed"})

    @property
    def name(self) -> str:
        """Of the program, for messages."""
        return self.engine.program

    def start(self) -> Computed:
        return None

    def take(self, state: Computed, batch: Batch, plan: Plan) -> Computed:
        own = batch.sent_by is Role.PARTY and batch.sender.tolist() == [self.index]
        if not own or batch.round != COMPARED + 2 or state is not None:
            raise WireError("shares of a product came from another party, or twice; refused")
        cells = _cells(plan)
        names = {f"share{i}": (size,) for i, size in enumerate(cells)}
        if {name: column.shape[1:] for name, column in batch.payload.items()} != names:
            raise WireError("shares of a product do not have the form of the study; refused")
        return tuple(batch.payload[f"share{i}"][0] for i in range(len(cells)))

    def close(
        self, state: Computed, number: int, plan: Plan, columns: Sequence[Codes]
    ) -> tuple[Computed, tuple[Batch, ...]]:
        if number == COMPARED:
            self._begin(plan, columns)
        if number != COMPARED + 1:
            return state, ()
        shares = self._finish(plan)
        if self.index == self.parties:  # the curator
            return state, ()
        me = np.array([self.index], np.int64)
        payload = {f"share{i}": share[None] for i, share in enumerate(shares)}
        return state, (Batch("computed", number + 1, Role.PARTY, Role.PARTY, me, me, payload),)

    def shares(self, state: Computed) -> list[Words]:
        if state is None:
            raise ShareError("the products were not computed; nothing was released")
        return list(state)

    def _begin(self, plan: Plan, columns: Sequence[Codes]) -> None:
        codes = b"".join(np.ascontiguousarray(c, np.int64).tobytes() for c in columns)
        job = {
            "index": self.index,
            "bits": plan.bits,
            **self.engine.job(plan, self.index, self.parties),
        }
        job["products"] = [
            {"order": plan.order, "sizes": chain.sizes, "rows": chain.rows} for chain in plan.chains
        ]
        process = subprocess.Popen(  # noqa: S603
            self.engine.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with contextlib.suppress(BrokenPipeError):  # it ended early, and `_finish` says why
            process.stdin.write(json.dumps(job).encode() + b"\n" + codes)  # type: ignore[union-attr]
            process.stdin.close()  # type: ignore[union-attr]
        process.stdin = None
        self._process = process

    def _finish(self, plan: Plan) -> list[Words]:
        process = self._process
        if process is None:
            raise ShareError(
                f"the process of {self.name} is not running; this engine cannot be resumed, so run "
                "again"
            )
        self._process = None
        try:
            output, errors = process.communicate(timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.communicate()
            raise ShareError(f"{self.name} did not end in time; nothing was released") from error
        if process.returncode:
            lines = errors.decode(errors="replace").splitlines()
            said = [line for line in lines if line.strip() and not line.startswith("[")]
            why = said[-1] if said else "no message"
            raise ShareError(f"the process of {self.name} failed ({why}); nothing was released")
        words = np.frombuffer(output, "<u4" if plan.bits == 32 else "<u8")
        cells = _cells(plan) if self.index < self.parties else []
        if words.size != sum(cells):
            raise ShareError(f"{self.name} gave {words.size} numbers, not {sum(cells)}")
        return np.split(words, np.cumsum(cells)[:-1]) if cells else []


@dataclass(frozen=True)
class ProcessEngine(Engine):
    """An engine whose members run a program of their own.

    Its processes neither encrypt nor authenticate: addresses, host:port, must be on this machine,
    for instance the ends of encrypted tunnels.
    """

    addresses: tuple[str, ...] = ()

    program: ClassVar[str]  # its name
    needs: ClassVar[str]  # whose addresses, in words

    @abstractmethod
    def places(self, parties: int) -> int:
        """How many addresses there are."""

    @abstractmethod
    def command(self) -> list[str]:
        """What is run."""

    @abstractmethod
    def job(self, plan: Plan, index: int, parties: int) -> dict[str, Any]:
        """What is particular in the first line of a member's input."""

    def rounds(self, parties: int) -> int:
        return 2

    def here(self, parties: int) -> Self:
        """The same with addresses on this machine whose ports are free now."""
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(self.places(parties))]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            free = tuple(f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
        return replace(self, addresses=free)

    def party(self, index: int, parties: Sequence[str]) -> ProcessMember:
        self.check()
        if len(self.addresses) != self.places(len(parties)):
            raise ParameterError(
                f"{len(self.addresses)} addresses for {len(parties)} parties; the engine "
                f'{self.name} needs one for {self.needs}, such as "127.0.0.1:9101"'
            )
        for address in self.addresses:
            if address.rsplit(":", 1)[0] not in ("127.0.0.1", "localhost"):
                raise ParameterError(
                    f"the address {address!r} is on another machine; what is sent would travel in "
                    "clear, and anyone could connect. Use the ends of encrypted tunnels on this "
                    "machine"
                )
        return ProcessMember(index, len(parties), self)


def addresses_of(names: Sequence[str], addresses: Mapping[str, str]) -> tuple[str, ...]:
    """The addresses of some members in order; all must be there, each host:port."""
    missing = [name for name in names if name not in addresses]
    if missing:
        raise ParameterError(f"the addresses of {', '.join(map(repr, missing))} are missing")
    for name in names:
        host, _, port = str(addresses[name]).rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise ParameterError(
                f'the address of {name!r} is {addresses[name]!r}; it must be "host:port"'
            )
    return tuple(addresses[name] for name in names)


def _cells(plan: Plan) -> list[int]:
    """How many numbers every share has."""
    products = [int(np.prod(plan.shape)) for _ in plan.products]
    return products + [noise.cells for noise in plan.noises]
