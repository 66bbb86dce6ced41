"""Who adds up in which rounds, and what everyone says at the start."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ParameterError, ShareError
from ..sharing.masks import KEY_BYTES, Context
from ..transport import Batch, Role
from ..transport.checking import check_batch
from .blocks import Block

_MOST_ROWS = 1 << 40  # more than any study has; totals then fit into 64 bits


@dataclass(frozen=True)
class SumDesign:
    """Who adds up, and in which rounds.

    Attributes
    ----------
    study : bytes
        Digest of all public parameters.
    parties : tuple of str
        In order; a party is a member of its role by its place here.
    hello, masked : int
        The rounds in which hellos and masked vectors are sent.
    dropouts, collusion : int
        How many parties may be missing from the sum, and how many may work with the curator;
        with drop-outs both sides are those of `double_masking`.
    """

    study: bytes
    parties: tuple[str, ...]
    hello: int = 1
    masked: int = 2
    dropouts: int = 0
    collusion: int = 1

    def __post_init__(self) -> None:
        if len(self.parties) < 2 or len(set(self.parties)) < len(self.parties):
            raise ParameterError(f"sums are between at least 2 different parties: {self.parties}")
        if not 1 <= self.hello < self.masked:
            raise ParameterError(
                f"hellos are in round {self.hello} and masked vectors in {self.masked}; hellos "
                "come first"
            )

        if self.dropouts:
            self._check_threshold()

    def _check_threshold(self) -> None:
        people, needed = len(self.parties), self.threshold
        if self.masked < self.hello + 2:
            raise ParameterError("with drop-outs a round of key shares comes before masked vectors")
        if needed <= self.collusion or 2 * needed <= people + self.collusion:
            most = (people - self.collusion - 1) // 2
            raise ParameterError(
                f"of {people} parties {self.collusion} may collude and {self.dropouts} drop out; "
                f"then {needed} could agree on two different sets of parties, and a curator could "
                f"open both masks of one. Allow at most {max(most, 0)} drop-outs, or fewer "
                "colluders"
            )

    @property
    def threshold(self) -> int:
        """How many parties must agree before anything is unmasked: T = K − drop-outs.

        Colluders may sign two sets and everyone else one, so that T > (K + collusion)/2 lets no
        two sets through.
        """
        return len(self.parties) - self.dropouts

    @property
    def opening(self) -> int:
        """After this round was closed the sums can be opened."""
        return self.masked + (3 if self.dropouts else 0)

    def session(self, hellos: Mapping[int, Hello]) -> bytes:
        """The digest of what everyone said at the start; it names the session."""
        digest = hashlib.sha256(b"sottovoce session of a sum v1" + self.study)
        for k, name in enumerate(self.parties):
            digest.update(len(name.encode()).to_bytes(8, "little") + name.encode())
            digest.update(hellos[k].key + hellos[k].rows.to_bytes(8, "little", signed=True))
            digest.update(hellos[k].commitment)
        return digest.digest()

    def context(self, session: bytes, block: Block) -> Context:
        """What the masks of one block belong to."""
        return Context(self.study, session, self.parties, block.label)

    def name(self, indices: Sequence[int]) -> str:
        """The names of some parties."""
        return ", ".join(repr(self.parties[k]) for k in indices)


@dataclass(frozen=True)
class Hello:
    """What a party says at the start: a fresh public key, and its number of rows or −1.

    With drop-outs also a commitment to the seed of its own mask.
    """

    key: bytes
    rows: int
    commitment: bytes = b""


def take_hellos(
    design: SumDesign, hellos: Mapping[int, Hello], closed: int, batch: Batch
) -> Mapping[int, Hello]:
    """The hellos with those of one batch; each party says hello once."""
    form: dict[str, Any] = {"key": (np.uint8, (KEY_BYTES,)), "rows": (np.int64, ())}
    if design.dropouts:
        form["commitment"] = (np.uint8, (KEY_BYTES,))
    check_batch(batch, design.hello, closed, Role.PARTY, len(design.parties), form)
    known = dict(hellos)
    for i, k in enumerate(batch.sender.tolist()):
        name, rows = design.parties[k], int(batch.payload["rows"][i])
        key = batch.payload["key"][i].tobytes()
        commitment = batch.payload["commitment"][i].tobytes() if design.dropouts else b""
        if k in known:
            raise ShareError(f"{name!r} said hello twice; the second is refused")
        if not -1 <= rows <= _MOST_ROWS:
            raise ShareError(f"{name!r} says that it has {rows} rows; refused")
        if any(hello.key == key for hello in known.values()):
            raise ShareError(f"{name!r} said hello with the key of another party; refused")
        known[k] = Hello(key, rows, commitment)
    return known
