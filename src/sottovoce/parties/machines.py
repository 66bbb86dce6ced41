"""The role of a party in a run, with its rows or its columns; that of the curator is in `curator`.

Rows
    Round 1      every party → all parties and curator: hello (`sums`)
    Then         where nobody draws the noise (`oblivious`), the engine's rounds as for columns
    Then         masked vectors (with drop-outs the rounds of `double_masking`), and the receipt
Columns
    Round 1      hello; → all parties: 32 random bytes for the secret of the alignment; → the
                 dealer, where there is one: the number of rows, and the fresh key of the hello
    Round 2      every party → all parties: the keyed digest of its keys (`alignment`)
    Rounds 3 …   the engine's products (`engines`)
    Then         masked vectors, and the receipt, as for rows

A party stops before anything is spent where somebody is missing, or rows or keys differ. What it
draws at the start and must remember it sends to itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..randomness import Source
from ..sharing.triples import Codes
from ..transport import EVERYONE, Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import check_batch
from .alignment import SECRET_BYTES, check_digests, common_secret
from .counting import counts, noise_shares
from .engines import COMPARED, PartyEngine
from .products import Plan, keep, sampled
from .receipts import Receipt
from .releases import Release
from .sums import Held, MaskedSum

if TYPE_CHECKING:
    from .horizontal import Horizontal
    from .marginals import Marginals
    from .vertical import Vertical

#: Releases with the numbers of their marginals; shares of tables and noise, or counts.
Numbered = Sequence[tuple[int, Release]]
Vectors = Iterable[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class PartyState:
    """What a party has during a run: what arrived for the sum, the engine and the alignment."""

    held: Held
    engine: Any = None
    contributions: Mapping[int, bytes] = field(default_factory=dict)  # by party
    digests: Mapping[int, bytes] = field(default_factory=dict)  # of keys, by party
    kept: Mapping[int, NDArray[np.uint8]] = field(default_factory=dict)  # by product
    receipt: Receipt | None = None
    failed: str = ""  # why it stopped


@dataclass(frozen=True, eq=False)
class PartyMachine(Machine[PartyState]):
    """A party with a table of its own."""

    protocol: Marginals
    index: int
    table: Any
    sum: MaskedSum
    curator_key: bytes
    source: Source
    engine: PartyEngine | None = None
    role: Role = Role.PARTY

    @property
    def members(self) -> range:  # type: ignore[override]
        return range(self.index, self.index + 1)

    @property
    def name(self) -> str:
        """Of the party."""
        return self.protocol.parties[self.index]

    def start(self) -> PartyState:
        return PartyState(Held(), None if self.engine is None else self.engine.start())

    def step(self, state: PartyState, inbox: Inbox) -> tuple[PartyState, Outbox]:
        for batch in inbox.batches:
            state = self._take(state, batch)
        if inbox.closed is None or state.failed:
            return state, Outbox()
        held, sent = self.sum.close(state.held, inbox.closed, self.source)
        state = replace(state, held=held)
        try:
            state, more = self._close(state, inbox.closed)
        except ShareError as error:
            return replace(state, failed=str(error)), Outbox()
        return state, Outbox((*more, *sent))

    # --- what arrives ---------------------------------------------------------------------------

    def _take(self, state: PartyState, batch: Batch) -> PartyState:
        if batch.kind in self.sum.kinds:
            return replace(state, held=self.sum.take(state.held, batch))
        if self.engine is not None and batch.kind in self.engine.kinds:
            return replace(state, engine=self.engine.take(state.engine, batch, self._plan(state)))
        if batch.kind == "receipt":
            return replace(state, receipt=self._receipt(state, batch))
        raise WireError(f"a party was sent {batch.kind!r}, which is no part of this protocol")

    def _receipt(self, state: PartyState, batch: Batch) -> Receipt:
        """The receipt in a batch: signed, of this run, its costs and the parties in its sums."""
        length = batch.payload["text"].shape[1:] if "text" in batch.payload else (0,)
        form = {"text": (np.uint8, length)}
        number = self.sum.design.opening + 1
        check_batch(batch, number, state.held.closed, Role.CURATOR, 1, form)
        if len(batch) != 1 or state.receipt is not None:
            raise ShareError("the curator sent two receipts; the second is refused")
        receipt = Receipt.from_bytes(batch.payload["text"][0].tobytes())
        if not receipt.is_signed_by(self.curator_key):
            raise ShareError("the receipt is not signed by the curator of the study; refused")
        session, present = self.sum.session(state.held), self.sum.present(state.held)
        costs = self.protocol.costs_of(self.protocol.rows_said(state.held.rows))
        own = (self.protocol.digest, session, present, costs)
        if (receipt.study, receipt.session, receipt.parties, dict(receipt.spent)) != own:
            raise ShareError(
                "the curator's receipt is of another run, or of other costs or parties; refused"
            )
        return receipt

    # --- rounds ---------------------------------------------------------------------------------

    def _close(self, state: PartyState, number: int) -> tuple[PartyState, Sequence[Batch]]:
        design, sent = self.sum.design, ()  # type: Any, tuple[Batch, ...]
        if number == design.hello - 1:
            return state, self._begin()
        if number >= design.masked:
            return state, ()
        if self.engine is not None and number >= COMPARED:
            self._check_present(state)
            plan = self._plan(state)
            codes = self._codes(state, plan)
            engine, sent = self.engine.close(state.engine, number, plan, codes)
            state = replace(state, engine=engine)
        if number == design.masked - 1:
            sent = (*sent, *self._mask_releases(state))
        return state, sent

    def _missing(self, state: PartyState) -> set[int]:
        return set(self.sum.missing(state.held))

    def _check_present(self, state: PartyState) -> None:
        missing = sorted(self._missing(state))
        if missing:
            names = self.sum.design.name(missing)
            raise ShareError(f"stopped before anything was spent: {names} did not take part")

    def _plan(self, state: PartyState) -> Plan:
        return self.protocol.computed_plan(state.held.rows)

    def _mask_releases(self, state: PartyState) -> tuple[Batch, ...]:
        """Every release with the noise of this party, masked."""
        self._check_present(state)
        rows = self.protocol.rows_said(state.held.rows)
        releases, coins = self.protocol.all_releases(rows), self.protocol.coins
        shares = [] if self.engine is None else self.engine.shares(state.engine)
        noises = shares[len(shares) - len(coins) :]
        vectors = []
        for i, vector in enumerate(self._counts(state, releases, shares)):
            noise = noises[i] if coins else noise_shares(releases[i][1], self.name, self.source)
            # Words of the ring and integers add up alike: both are taken modulo 2^bits.
            vectors.append(vector.astype(np.uint64) + noise.astype(np.uint64))
        return self.sum.mask(state.held, self.protocol.blocks(rows), vectors)

    @abstractmethod
    def _begin(self) -> Sequence[Batch]:
        """What is sent at the start."""

    def _codes(self, state: PartyState, plan: Plan) -> Sequence[Codes]:
        """The party's column of every product."""
        return ()

    @abstractmethod
    def _counts(self, state: PartyState, releases: Numbered, shares: Vectors) -> Vectors:
        """What the party adds to every release, without noise."""


class RowsParty(PartyMachine):
    """A party with rows of its own."""

    protocol: Horizontal

    def _begin(self) -> Sequence[Batch]:
        public = len(self.table) if self.protocol.sizes_are_public else -1
        return self.sum.hello(public, self.source)

    def _counts(self, state: PartyState, releases: Numbered, shares: Vectors) -> Vectors:
        for m, some in groupby(releases, lambda one: one[0]):
            names = self.protocol.marginals[m]
            cells, shape = self.table.cells(names), self.protocol.shape(names)
            for _, release in some:
                yield counts(cells, shape, release, self.name, self.source)


class ColumnsParty(PartyMachine):
    """A party with columns of its own."""

    protocol: Vertical

    def _take(self, state: PartyState, batch: Batch) -> PartyState:
        if batch.kind == "seed":
            self._check_dealt(state, batch)
        if batch.kind == "contribution":
            return replace(state, contributions=self._words(state, batch, 1, state.contributions))
        if batch.kind == "digest":
            return replace(state, digests=self._words(state, batch, COMPARED, state.digests))
        if batch.kind == "sample":
            return replace(state, kept=self._sample(state, batch))
        return super()._take(state, batch)

    def _check_dealt(self, state: PartyState, batch: Batch) -> None:
        """Refuse a seed that was dealt before this party started: it masks one opening only."""
        own, column = state.held.hellos.get(self.index), batch.payload.get("key")
        if own is None or column is None or column.tobytes() != own.key:
            raise ShareError(
                "the dealer's seed is not for this start of the party; under a seed that was used "
                "before, what it opens would show its columns. Refused"
            )

    def _words(
        self, state: PartyState, batch: Batch, number: int, known: Mapping[int, bytes]
    ) -> dict[int, bytes]:
        form = {"words": (np.uint8, (SECRET_BYTES,))}
        parties = self.protocol.parties
        check_batch(batch, number, state.held.closed, Role.PARTY, len(parties), form)
        words = dict(known)
        for k, row in zip(batch.sender.tolist(), batch.payload["words"], strict=True):
            if k in words:
                raise ShareError(f"{parties[k]!r} sent {batch.kind!r} twice; the second is refused")
            words[k] = row.tobytes()
        return words

    def _sample(self, state: PartyState, batch: Batch) -> dict[int, NDArray[np.uint8]]:
        length = (-(-len(self.table) // 8),)
        form = {"product": (np.int64, ()), "bits": (np.uint8, length)}
        parties = len(self.protocol.parties)
        check_batch(batch, 1, state.held.closed, Role.PARTY, parties, form)
        if batch.sender.tolist() != [self.index]:
            raise ShareError("another party sent what a party sends to itself alone; refused")
        return {**state.kept, int(batch.payload["product"][0]): batch.payload["bits"][0]}

    def _begin(self) -> Sequence[Batch]:
        rows = len(self.table)
        random = np.empty((1, SECRET_BYTES), np.uint8)
        self.source.fill(random)
        hellos = self.sum.hello(rows, self.source)
        contribution = self.sum.batch("contribution", 1, Role.PARTY, {"words": random}, EVERYONE)
        batches = [*hellos, contribution]
        if self.protocol.dealer:
            about = {"rows": np.array([rows], np.int64), "key": hellos[0].payload["key"]}
            batches.append(self.sum.batch("rows", 1, Role.DEALER, about))
        for p, product in enumerate(self.protocol.products()):
            bits = sampled(product, self.name, rows, self.source)
            if bits is not None:
                number: NDArray[Any] = np.array([p], np.int64)
                sample = {"product": number, "bits": bits[None]}
                batches.append(self.sum.batch("sample", 1, Role.PARTY, sample, self.index))
        return batches

    def _close(self, state: PartyState, number: int) -> tuple[PartyState, Sequence[Batch]]:
        if number == COMPARED - 1:
            return state, (self._compare(state),)
        if number == COMPARED:
            check_digests(self.protocol.parties, state.digests)
            products = enumerate(self._plan(state).products)
            if any(one.kept.get(self.name, 1) < 1 and p not in state.kept for p, one in products):
                raise ShareError("the sampled rows are lost; nothing was released")
        return super()._close(state, number)

    def _missing(self, state: PartyState) -> set[int]:
        return super()._missing(state) | set(self.sum.design.absent(state.contributions))

    def _compare(self, state: PartyState) -> Batch:
        self._check_present(state)
        self.protocol.rows_said(state.held.rows)  # refuses different numbers of rows
        secret = common_secret(self.sum.session(state.held), state.contributions)
        digest = np.frombuffer(self.table.keys.digest(secret), np.uint8)[None]
        return self.sum.batch("digest", COMPARED, Role.PARTY, {"words": digest}, EVERYONE)

    def _codes(self, state: PartyState, plan: Plan) -> list[Codes]:
        return [keep(self.table.codes, state.kept.get(p)) for p in range(len(plan.products))]

    def _counts(self, state: PartyState, releases: Numbered, shares: Vectors) -> Vectors:
        plan = self._plan(state)
        computed = list(shares)[: len(plan.products)]
        return plan.vectors(computed, [release for _, release in releases])


class Charged(Machine[Any]):
    """A party's machine, with a charge before its masked vector is sent.

    What a party sends before (a public key, its number of rows where that is public, sealed shares)
    says nothing about its rows, or nothing without its own help. The masked vector is what sums are
    opened from; from then on the party has no say in it, so it is charged whether or not the run
    ends well. `charge` raises where the budget does not allow it; then nothing is sent. A run that
    is continued from its journal sends the vector that is there, and does not call it again.
    """

    def __init__(self, machine: Machine[Any], charge: Callable[[], object]) -> None:
        self.role, self.members = machine.role, machine.members
        self._machine, self._charge = machine, charge

    def start(self) -> Any:
        """The state before the run."""
        return self._machine.start()

    def step(self, state: Any, inbox: Inbox) -> tuple[Any, Outbox]:
        """As the machine does; its masked vector is handed out after the charge."""
        state, outbox = self._machine.step(state, inbox)
        return state, replace(outbox, batches=self._after_charge(outbox.batches))

    def _after_charge(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            if batch.kind == "masked":
                self._charge()
            yield batch
