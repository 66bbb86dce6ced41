"""A secure sum between parties: each sends a masked vector, and the curator learns the sum alone.

Round h     every party → all parties and the curator: "hello" with a fresh X25519 key, and its
            number of rows where that is public (−1 where it is not)
Round m     every party → the curator: "masked", its vector plus pairwise masks (`sharing.masks`).
            Nothing can be opened unless all parties' vectors are there
Round m+1   the curator → every party: a signed receipt (`receipts`)

A session is named by a digest of all hellos. It is in every mask and every masked message, so that
parties who heard different hellos are found out before anything is added up. A party keeps no state
but what arrived: what it must remember it sends to itself ("kept").

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
    opened = curator.close(opened, number)         # when it closes any round; party.close alike
    sums = curator.sums(opened, blocks)            # or ShareError, naming who is missing

`blocks` say how the vectors are cut into releases; everyone computes them alike from public data.
Vectors are integers of any type and count modulo 2^bits of their block.

Bonawitz et al. 2017, "Practical secure aggregation for privacy-preserving machine learning".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, ShareError
from ..randomness import Source
from ..sharing import masks
from ..sharing.masks import KEY_BYTES, Context, Words
from ..transport import EVERYONE, Batch, Role
from ..transport.checking import Columns, check_batch

_EMPTY: Mapping[int, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Block:
    """One release within the vector that parties add up.

    Attributes
    ----------
    label : str
        Distinguishes it from all others of the run.
    cells : int
        How many numbers.
    bits : int
        32 or 64: numbers are added modulo 2^bits.
    """

    label: str
    cells: int
    bits: int

    def __post_init__(self) -> None:
        masks.word_type(self.bits)


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
    """

    study: bytes
    parties: tuple[str, ...]
    hello: int = 1
    masked: int = 2

    def __post_init__(self) -> None:
        if len(self.parties) < 2 or len(set(self.parties)) < len(self.parties):
            raise ParameterError(f"sums are between at least 2 different parties: {self.parties}")
        if not 1 <= self.hello < self.masked:
            raise ParameterError(
                f"hellos are in round {self.hello} and masked vectors in {self.masked}; hellos "
                "come first"
            )

    def session(self, hellos: Mapping[int, Hello]) -> bytes:
        """The digest of what everyone said at the start; it names the session."""
        digest = hashlib.sha256(b"sottovoce session of a sum v1" + self.study)
        for k, name in enumerate(self.parties):
            digest.update(len(name.encode()).to_bytes(8, "little") + name.encode())
            digest.update(hellos[k].key + hellos[k].rows.to_bytes(8, "little", signed=True))
        return digest.digest()

    def context(self, session: bytes, block: Block) -> Context:
        """What the masks of one block belong to."""
        return Context(self.study, session, self.parties, block.label)

    def name(self, indices: Sequence[int]) -> str:
        """The names of some parties."""
        return ", ".join(repr(self.parties[k]) for k in indices)


@dataclass(frozen=True)
class Hello:
    """What a party says at the start: a fresh public key, and its number of rows or −1."""

    key: bytes
    rows: int


@dataclass(frozen=True)
class Held:
    """What a party has heard.

    Attributes
    ----------
    hellos : mapping of int to Hello
        By party.
    secret : bytes, optional
        Of its own fresh key.
    closed : int
        The last round that was closed.
    """

    hellos: Mapping[int, Hello] = field(default_factory=lambda: _EMPTY)
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

    def start(self) -> Held:
        """Before the run."""
        return Held()

    def hello(self, rows: int, source: Source) -> tuple[Batch, ...]:
        """What is sent at the start, when round hello − 1 is closed."""
        drawn = np.empty(KEY_BYTES, np.uint8)
        source.fill(drawn)
        key = np.frombuffer(masks.public_key(drawn.tobytes()), np.uint8)
        public: dict[str, NDArray[Any]] = {"key": key[None], "rows": np.array([rows], np.int64)}
        number = self.design.hello
        return (
            self.batch("hello", number, Role.PARTY, public, EVERYONE),
            self.batch("hello", number, Role.CURATOR, public),
            self.batch("kept", number, Role.PARTY, {"secret": drawn[None]}, self.index),
        )

    def take(self, held: Held, batch: Batch) -> Held:
        """Take in one batch.

        Raises
        ------
        ShareError, WireError
            For what nobody can have sent who follows the protocol.
        """
        if batch.kind == "kept":
            form: Columns = {"secret": (np.uint8, (KEY_BYTES,))}
            self._check(held, batch, form)
            if batch.sender.tolist() != [self.index]:
                raise ShareError("another party sent what a party sends to itself alone; refused")
            return replace(held, secret=batch.payload["secret"][0].tobytes())
        hellos = take_hellos(self.design, held.hellos, held.closed, batch)
        return replace(held, hellos=hellos)

    def _check(self, held: Held, batch: Batch, form: Columns) -> None:
        number, people = self.design.hello, len(self.design.parties)
        check_batch(batch, number, held.closed, Role.PARTY, people, form)

    def close(self, held: Held, number: int) -> Held:
        """Note that a round was closed: what arrives later is refused."""
        return replace(held, closed=number)

    def missing(self, held: Held) -> tuple[int, ...]:
        """The parties of whom there is no hello; a party stops where there are any."""
        return tuple(k for k in range(len(self.design.parties)) if k not in held.hellos)

    def session(self, held: Held) -> bytes:
        """The digest of all hellos."""
        if self.missing(held):
            raise ShareError(f"{self.design.name(self.missing(held))} did not say hello; stopped")
        return self.design.session(held.hellos)

    def mask(
        self, held: Held, blocks: Sequence[Block], vectors: Sequence[NDArray[Any]]
    ) -> tuple[Batch, ...]:
        """The masked vectors, one for each block, when round masked − 1 is closed."""
        words = self.masked(held, blocks, vectors)
        session = np.frombuffer(self.session(held), np.uint8)
        payload = {"session": session[None], **_columns(blocks, words)}
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

    hellos: Mapping[int, Hello] = field(default_factory=lambda: _EMPTY)
    masked: Mapping[int, Mapping[str, NDArray[Any]]] = field(default_factory=lambda: _EMPTY)
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
        form = {"session": (np.uint8, (KEY_BYTES,)), **_form(blocks)}
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
                    f"{name!r} masked for another session: it heard other hellos than the curator; "
                    "refused"
                )
            rows[k] = {column: batch.payload[column][i] for column in _form(blocks)}
        return replace(opened, masked=rows)

    def close(self, opened: Opened, number: int) -> Opened:
        """Note that a round was closed: what arrives later is refused."""
        return replace(opened, closed=number)

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
        return [signed(words) for words in add_up(blocks, opened.masked.values())]


def take_hellos(
    design: SumDesign, hellos: Mapping[int, Hello], closed: int, batch: Batch
) -> Mapping[int, Hello]:
    """The hellos with those of one batch; each party says hello once."""
    form: Columns = {"key": (np.uint8, (KEY_BYTES,)), "rows": (np.int64, ())}
    check_batch(batch, design.hello, closed, Role.PARTY, len(design.parties), form)
    known = dict(hellos)
    for k, key, rows in zip(
        batch.sender.tolist(), batch.payload["key"], batch.payload["rows"].tolist(), strict=True
    ):
        name = design.parties[k]
        if k in known:
            raise ShareError(f"{name!r} said hello twice; the second is refused")
        if rows < -1:
            raise ShareError(f"{name!r} says that it has {rows} rows; refused")
        if any(hello.key == key.tobytes() for hello in known.values()):
            raise ShareError(f"{name!r} said hello with the key of another party; refused")
        known[k] = Hello(key.tobytes(), rows)
    return known


def checked_vectors(blocks: Sequence[Block], vectors: Sequence[NDArray[Any]]) -> list[Words]:
    """Copies of the vectors as words of their blocks' rings."""
    if len({block.label for block in blocks}) < len(blocks):
        raise ParameterError("two blocks have the same label; one keystream is never used twice")
    if len(vectors) != len(blocks):
        raise ParameterError(f"there are {len(vectors)} vectors for {len(blocks)} blocks")
    words: list[Words] = []
    for block, vector in zip(blocks, vectors, strict=True):
        if vector.shape != (block.cells,) or not np.issubdtype(vector.dtype, np.integer):
            raise ParameterError(
                f"the vector of {block.label!r} has the shape {vector.shape} and type "
                f"{vector.dtype}; {block.cells} integers are expected"
            )
        ring: Words = vector.astype(np.uint64).astype(masks.word_type(block.bits))
        words.append(ring)
    return words


def add_up(
    blocks: Sequence[Block], rows: Sequence[Mapping[str, NDArray[Any]]] | Any
) -> list[Words]:
    """The sum of masked vectors, one for each block."""
    total: dict[str, Words] = {}
    for row in rows:
        for column, words in row.items():
            if column in total:
                total[column] += words
            else:
                total[column] = words.copy()
    ends = dict.fromkeys(total, 0)
    sums: list[Words] = []
    for block in blocks:
        column = f"words{block.bits}"
        start = ends[column]
        ends[column] = start + block.cells
        sums.append(total[column][start : ends[column]])
    return sums


def signed(words: Words) -> NDArray[np.int64]:
    """Words as the integers around 0 that they stand for."""
    kind = np.int32 if words.dtype.itemsize == 4 else np.int64
    return words.view(kind).astype(np.int64)


def _columns(blocks: Sequence[Block], words: Sequence[Words]) -> dict[str, NDArray[Any]]:
    """One column for each ring, the blocks one after the other."""
    columns = {}
    for bits in sorted({block.bits for block in blocks}):
        parts = [w for block, w in zip(blocks, words, strict=True) if block.bits == bits]
        columns[f"words{bits}"] = np.concatenate(parts)[None]
    return columns


def _form(blocks: Sequence[Block]) -> dict[str, tuple[type[Any], tuple[int, ...]]]:
    sizes: dict[int, int] = {}
    for block in blocks:
        sizes[block.bits] = sizes.get(block.bits, 0) + block.cells
    return {f"words{bits}": (masks.word_type(bits), (size,)) for bits, size in sizes.items()}
