"""A secure sum between parties: each sends a masked vector, and the curator learns the sum alone.

Round h     every party → all parties and the curator: "hello" with a fresh X25519 key, and its
            number of rows where that is public (−1 where it is not)
Round m     every party → the curator: "masked", its vector plus pairwise masks (`sharing.masks`).
            Nothing can be opened unless all parties' vectors are there
Round m+1   the curator → every party: a signed receipt (`receipts`)

A session is named by a digest of all hellos. It is in every mask and every masked message, so that
parties who received different hellos are found out before anything is added up. A party keeps no
state but what arrived: what it must remember it sends to itself ("kept").

A protocol with rounds of its own between hello and masked vectors uses the same two objects:

    protocol = SumDesign(study, parties, hello=1, masked=4)
    party = MaskedSum(protocol, index)             # at the party
    held = party.start()
    batches = party.hello(rows, source)            # when it closes round hello − 1
    held = party.take(held, batch)                 # for every batch whose kind is in party.kinds
    rows = held.rows                               # by index, once party.missing(held) is empty
    batches = party.mask(held, blocks, vectors)    # when it closes round masked − 1
    curator = OpenedSum(protocol)                  # at the curator
    opened = curator.start()
    opened = curator.take(opened, batch, blocks)   # kinds in curator.kinds; hellos need no blocks
    opened, _ = curator.close(opened, number)      # when it closes any round; and the party:
    held, _ = party.close(held, number, source)    # what they send is empty without drop-outs
    sums = curator.sums(opened, blocks)            # or ShareError, naming who is missing

`blocks` say how the vectors are cut into releases; everyone computes them alike from public data.
Vectors are integers of any type and count modulo 2^bits of their block.

Bonawitz et al. 2017, "Practical secure aggregation for privacy-preserving machine learning".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError
from ..randomness import Source
from ..sharing import masks
from ..sharing.masks import KEY_BYTES, Words
from ..transport import EVERYONE, Batch, Role
from ..transport.checking import check_batch
from .blocks import Block, add_up, checked_vectors, columns, form_of, signed
from .hellos import Hello, SumDesign, take_hellos

__all__ = ["Block", "Held", "Hello", "MaskedSum", "Opened", "OpenedSum", "SumDesign"]

EMPTY: Mapping[int, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Held:
    """What a party has received.

    Attributes
    ----------
    hellos : mapping of int to Hello
        By party.
    secret : bytes, optional
        Of its own fresh key.
    closed : int
        The last round that was closed.
    """

    hellos: Mapping[int, Hello] = field(default_factory=lambda: EMPTY)
    secret: bytes | None = None
    closed: int = -1

    @property
    def rows(self) -> dict[int, int]:
        """Everyone's number of rows, by party."""
        return {k: hello.rows for k, hello in sorted(self.hellos.items())}


@dataclass(frozen=True)
class MaskedSum:
    """A party's side of the sum."""

    design: SumDesign
    index: int

    kinds: ClassVar = frozenset({"hello", "kept"})
    remembered: ClassVar[tuple[str, ...]] = ("secret",)

    def start(self) -> Held:
        """Before the run."""
        return Held()

    def hello(self, rows: int, source: Source) -> tuple[Batch, ...]:
        """What is sent at the start, when round hello − 1 is closed."""
        public, private = self._drawn(source)
        said: dict[str, NDArray[Any]] = {"rows": np.array([rows], np.int64)}
        said |= {name: _row(part) for name, part in public.items()}
        kept = {name: _row(part) for name, part in private.items()}
        number = self.design.hello
        return (
            self.batch("hello", number, Role.PARTY, said, EVERYONE),
            self.batch("hello", number, Role.CURATOR, said),
            self.batch("kept", number, Role.PARTY, kept, self.index),
        )

    def _drawn(self, source: Source) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """What is drawn at the start: the public part, and what only this party remembers."""
        secret = np.empty(KEY_BYTES, np.uint8)
        source.fill(secret)
        return {"key": masks.public_key(secret.tobytes())}, {"secret": secret.tobytes()}

    def take(self, held: Held, batch: Batch) -> Held:
        """Take in one batch.

        Raises
        ------
        ShareError, WireError
            For what nobody can have sent who follows the protocol.
        """
        if batch.kind == "kept":
            return self._keep(held, batch)
        return replace(held, hellos=take_hellos(self.design, held.hellos, held.closed, batch))

    def _keep(self, held: Held, batch: Batch) -> Held:
        design = self.design
        form = dict.fromkeys(self.remembered, (np.uint8, (KEY_BYTES,)))
        check_batch(batch, design.hello, held.closed, Role.PARTY, len(design.parties), form)
        if batch.sender.tolist() != [self.index] or held.secret is not None:
            raise ShareError("another party sent what a party sends to itself alone; refused")
        return replace(held, secret=batch.payload["secret"][0].tobytes())

    def close(self, held: Held, number: int, source: Source) -> tuple[Held, tuple[Batch, ...]]:
        """Close a round: what arrives later is refused. What is sent besides hello and vectors."""
        return replace(held, closed=number), ()

    def missing(self, held: Held) -> tuple[int, ...]:
        """The parties of whom there is no hello; a party stops where there are any."""
        return tuple(k for k in range(len(self.design.parties)) if k not in held.hellos)

    def present(self, held: Held) -> tuple[str, ...]:
        """The parties whose vectors can be in the sum, as far as this one agreed to it."""
        return self.design.parties

    def session(self, held: Held) -> bytes:
        """The digest of all hellos."""
        if self.missing(held):
            names = self.design.name(self.missing(held))
            raise ShareError(f"stopped: {names} sent no hello, or no key shares")
        return self.design.session(held.hellos)

    def mask(
        self, held: Held, blocks: Sequence[Block], vectors: Sequence[NDArray[Any]]
    ) -> tuple[Batch, ...]:
        """The masked vectors, one for each block, when round masked − 1 is closed."""
        words = self.masked(held, blocks, vectors)
        session = np.frombuffer(self.session(held), np.uint8)
        payload = {"session": session[None], **columns(blocks, words)}
        return (self.batch("masked", self.design.masked, Role.CURATOR, payload),)

    def masked(
        self, held: Held, blocks: Sequence[Block], vectors: Sequence[NDArray[Any]]
    ) -> list[Words]:
        """Every vector with the pairwise masks of all others."""
        session = self.session(held)
        if held.secret is None:
            raise ShareError("this party has not said hello itself; nothing is sent")
        secrets = {
            k: masks.agree(held.secret, hello.key)
            for k, hello in held.hellos.items()
            if k != self.index
        }
        words = checked_vectors(blocks, vectors)
        for block, vector in zip(blocks, words, strict=True):
            masks.add_pairwise(vector, self.design.context(session, block), self.index, secrets)
        return words

    def batch(
        self,
        kind: str,
        number: int,
        sent_to: Role,
        payload: Mapping[str, NDArray[Any]],
        receiver: int = 0,
    ) -> Batch:
        """One message of this party."""
        me, to = np.array([self.index], np.int64), np.array([receiver], np.int64)
        return Batch(kind, number, Role.PARTY, sent_to, me, to, payload)


@dataclass(frozen=True, eq=False)
class Opened:
    """What the curator has.

    Attributes
    ----------
    hellos : mapping of int to Hello
        By party.
    masked : mapping of int to mapping
        The columns of every party's masked vector.
    closed : int
        The last round that was closed.
    """

    hellos: Mapping[int, Hello] = field(default_factory=lambda: EMPTY)
    masked: Mapping[int, Mapping[str, NDArray[Any]]] = field(default_factory=lambda: EMPTY)
    closed: int = -1

    @property
    def rows(self) -> dict[int, int]:
        """Everyone's number of rows, by party."""
        return {k: hello.rows for k, hello in sorted(self.hellos.items())}


@dataclass(frozen=True)
class OpenedSum:
    """The curator's side of the sum."""

    design: SumDesign

    kinds: ClassVar = frozenset({"hello", "masked"})

    def start(self) -> Opened:
        """Before the run."""
        return Opened()

    def take(self, opened: Opened, batch: Batch, blocks: Sequence[Block] = ()) -> Opened:
        """Take in one batch; masked vectors must have the form that `blocks` say.

        Raises
        ------
        ShareError, WireError
            For what nobody can have sent who follows the protocol.
        """
        if batch.kind == "hello":
            hellos = take_hellos(self.design, opened.hellos, opened.closed, batch)
            return replace(opened, hellos=hellos)
        form = {"session": (np.uint8, (KEY_BYTES,)), **form_of(blocks)}
        number, people = self.design.masked, len(self.design.parties)
        check_batch(batch, number, opened.closed, Role.PARTY, people, form)
        session = self.session(opened)
        rows: dict[int, Mapping[str, NDArray[Any]]] = dict(opened.masked)
        for i, k in enumerate(batch.sender.tolist()):
            name = self.design.parties[k]
            if k in rows:
                raise ShareError(f"{name!r} sent its masked vector twice; the second is refused")
            if batch.payload["session"][i].tobytes() != session:
                raise ShareError(
                    f"{name!r} masked for another session: it received other hellos than the "
                    "curator; refused"
                )
            rows[k] = {column: batch.payload[column][i] for column in form_of(blocks)}
        return replace(opened, masked=rows)

    def close(self, opened: Opened, number: int) -> tuple[Opened, tuple[Batch, ...]]:
        """Close a round: what arrives later is refused. What the curator sends to open sums."""
        return replace(opened, closed=number), ()

    def present(self, opened: Opened) -> tuple[int, ...]:
        """The parties whose vectors are in the sum."""
        return tuple(sorted(opened.masked))

    def session(self, opened: Opened) -> bytes:
        """The digest of all hellos."""
        missing = [k for k in range(len(self.design.parties)) if k not in opened.hellos]
        if missing:
            raise ShareError(f"no result: {self.design.name(missing)} did not say hello")
        return self.design.session(opened.hellos)

    def sums(self, opened: Opened, blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
        """The opened sums, one for each block.

        Raises
        ------
        ShareError
            Where somebody's vector is missing; it names them, and nothing is opened.
        """
        self.session(opened)
        missing = [k for k in range(len(self.design.parties)) if k not in opened.masked]
        if missing:
            raise ShareError(
                f"no result: the masked vector of {self.design.name(missing)} is missing; nothing "
                "was opened"
            )
        return [signed(words) for words in self.add_up(opened, blocks)]

    def add_up(self, opened: Opened, blocks: Sequence[Block]) -> list[Words]:
        """The sum of what arrived, one for each block."""
        return add_up(blocks, opened.masked.values())


def _row(part: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(part, np.uint8)[None]
