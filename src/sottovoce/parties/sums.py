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
    held = Held()
    batches = party.hello(rows, source)            # when it closes round hello − 1
    held = party.take(held, batch)                 # for every batch whose kind is in party.kinds
    rows = held.rows                               # by index, once party.missing(held) is empty
    batches = party.mask(held, blocks, vectors)    # when it closes round masked − 1
    curator = OpenedSum(protocol)                  # at the curator
    opened = Opened()
    opened = curator.take(opened, batch, blocks)   # kinds in curator.kinds; hellos need no blocks
    opened, _ = curator.close(opened, number)      # when it closes any round; and the party:
    held, _ = party.close(held, number, source)    # what they send is empty without drop-outs
    sums = curator.sums(opened, blocks)            # or ShareError, naming who is missing

`blocks` say how the vectors are cut into releases; everyone computes them alike from public data.
Vectors are integers of any type and count modulo 2^bits of their block.

Bonawitz et al. 2017, "Practical secure aggregation for privacy-preserving machine learning".
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, ShareError
from ..randomness import Source
from ..sharing import Elements, masks
from ..sharing.masks import KEY_BYTES, Context, Words
from ..transport import EVERYONE, Batch, Role
from ..transport.checking import check_batch
from .blocks import Block, add_up, checked_vectors, columns, form_of, signed

#: Of a party: more than any study has; totals then fit into 64 bits.
MOST_ROWS = 1 << 40


@dataclass(frozen=True)
class SumDesign:
    """Who adds up, and in which rounds; with drop-outs as in `double_masking`."""

    study: bytes  # digest of all public parameters
    parties: tuple[str, ...]  # a party is a member of its role by its place here
    hello: int = 1  # the rounds in which hellos and masked vectors are sent
    masked: int = 2
    dropouts: int = 0  # how many parties may be missing from the sum
    collusion: int = 1  # how many may work with the curator

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

    def absent(self, known: Container[int]) -> tuple[int, ...]:
        """The parties that are not among some."""
        return tuple(k for k in range(len(self.parties)) if k not in known)

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


@dataclass(frozen=True, eq=False)
class Arrived:
    """What a party or the curator has received: hellos by party, and the last closed round."""

    hellos: Mapping[int, Hello] = field(default_factory=dict)
    closed: int = -1

    @property
    def rows(self) -> dict[int, int]:
        """Everyone's number of rows, by party."""
        return {k: hello.rows for k, hello in sorted(self.hellos.items())}

    def with_hellos(self, design: SumDesign, batch: Batch) -> Self:
        """With the hellos of one batch; each party says hello once."""
        form: dict[str, Any] = {"key": (np.uint8, (KEY_BYTES,)), "rows": (np.int64, ())}
        if design.dropouts:
            form["commitment"] = (np.uint8, (KEY_BYTES,))
        check_batch(batch, design.hello, self.closed, Role.PARTY, len(design.parties), form)
        known = dict(self.hellos)
        for i, k in enumerate(batch.sender.tolist()):
            name, rows = design.parties[k], int(batch.payload["rows"][i])
            key = batch.payload["key"][i].tobytes()
            commitment = batch.payload["commitment"][i].tobytes() if design.dropouts else b""
            if k in known:
                raise ShareError(f"{name!r} said hello twice; the second is refused")
            if not -1 <= rows <= MOST_ROWS:
                raise ShareError(f"{name!r} says that it has {rows} rows; refused")
            if any(hello.key == key for hello in known.values()):
                raise ShareError(f"{name!r} said hello with the key of another party; refused")
            known[k] = Hello(key, rows, commitment)
        return replace(self, hellos=known)


@dataclass(frozen=True, eq=False)
class Held(Arrived):
    """What a party has. All but the secret is for sums from which parties may drop out."""

    secret: bytes | None = None  # of its own fresh key
    seed: bytes | None = None  # of its own mask
    #: By party, (2, 8): a share of its fresh secret, and one of its seed.
    shares: Mapping[int, Elements] = field(default_factory=dict)
    survivors: tuple[int, ...] | None = None  # whose vectors the curator says it has
    agreed: frozenset[int] = frozenset()  # who signed exactly these survivors


@dataclass(frozen=True)
class MaskedSum:
    """A party's side of the sum."""

    design: SumDesign
    index: int

    kinds: ClassVar = frozenset({"hello", "kept"})
    remembered: ClassVar[tuple[str, ...]] = ("secret",)

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
        """Take in one batch; ShareError or WireError for what nobody can have sent."""
        if batch.kind == "kept":
            return self._keep(held, batch)
        return held.with_hellos(self.design, batch)

    def _keep(self, held: Held, batch: Batch) -> Held:
        design = self.design
        form = dict.fromkeys(self.remembered, (np.uint8, (KEY_BYTES,)))
        check_batch(batch, design.hello, held.closed, Role.PARTY, len(design.parties), form)
        if batch.sender.tolist() != [self.index] or held.secret is not None:
            raise ShareError("another party sent what a party sends to itself alone; refused")
        kept = {name: batch.payload[name][0].tobytes() for name in self.remembered}
        return replace(held, **kept)

    def close(self, held: Held, number: int, source: Source) -> tuple[Held, tuple[Batch, ...]]:
        """Close a round: what arrives later is refused. What is sent besides hello and vectors."""
        return replace(held, closed=number), ()

    def missing(self, held: Held) -> tuple[int, ...]:
        """The parties of whom there is no hello; a party stops where there are any."""
        return self.design.absent(held.hellos)

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
class Opened(Arrived):
    """What the curator has. The last two are for sums from which parties may drop out."""

    #: The columns of every party's masked vector.
    masked: Mapping[int, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    survivors: tuple[int, ...] | None = None  # whose vectors it has, as announced to the parties
    #: By survivor, (parties, 8): one share for every party.
    unmasking: Mapping[int, Elements] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenedSum:
    """The curator's side of the sum."""

    design: SumDesign

    kinds: ClassVar = frozenset({"hello", "masked"})

    def take(self, opened: Opened, batch: Batch, blocks: Sequence[Block] = ()) -> Opened:
        """Take in one batch; masked vectors must have the form that `blocks` say."""
        if batch.kind == "hello":
            return opened.with_hellos(self.design, batch)
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
        missing = self.design.absent(opened.hellos)
        if missing:
            raise ShareError(f"no result: {self.design.name(missing)} did not say hello")
        return self.design.session(opened.hellos)

    def sums(self, opened: Opened, blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
        """The opened sums, one for each block; ShareError where a vector is missing."""
        self.session(opened)
        missing = self.design.absent(opened.masked)
        if missing:
            raise ShareError(
                f"no result: the masked vector of {self.design.name(missing)} is missing; nothing "
                "was opened"
            )
        return [signed(words) for words in add_up(blocks, opened.masked.values())]


def _row(part: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(part, np.uint8)[None]
