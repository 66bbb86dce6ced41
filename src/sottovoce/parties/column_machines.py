"""The roles of a table over columns: a party with its columns, and the curator.

Round 1      every party → all parties and curator: hello (`sums`); → all parties: 32 random bytes
             for the secret of the alignment; → the dealer, where there is one: the number of rows,
             and the fresh key of the hello
Round 2      every party → all parties: the keyed digest of its keys (`alignment`)
Rounds 3 …   the engine's products (`engines`)
Then         masked vectors, and the receipt, as for rows

A party stops before anything is spent where rows or keys differ. What it draws at the start and
must remember it sends to itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..randomness import Source
from ..sharing.triples import Codes
from ..transport import EVERYONE, Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import check_batch
from .alignment import SECRET_BYTES, Keys, check_digests, check_rows, common_secret
from .counting import noise_shares
from .engines import COMPARED, PartyEngine
from .products import Plan, Product, keep, sampled
from .receipts import Receipt
from .row_machines import CuratorState, RowsCurator, check_receipt, received
from .sums import Held, MaskedSum

if TYPE_CHECKING:
    from .column_study import ColumnStudy

_NOTHING: Mapping[int, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Columns:
    """A party's columns as one axis, its rows sorted by key.

    Attributes
    ----------
    codes : array of int64
        The position of every row on the party's axis.
    keys : Keys
        The sorted keys.
    """

    codes: Codes
    keys: Keys

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class ColumnsState:
    """What a party has during a run.

    Attributes
    ----------
    held : Held
        What it received for the sum.
    engine : object
        Its engine's state.
    contributions, digests : mapping of int to bytes
        What everyone sent for the alignment, by party.
    kept : mapping of int to array
        The rows that it keeps, by product, where rows are sampled.
    receipt : Receipt, optional
        The curator's, at the end.
    failed : str
        Why it stopped; empty where it did not.
    """

    held: Held
    engine: Any
    contributions: Mapping[int, bytes] = field(default_factory=lambda: _NOTHING)
    digests: Mapping[int, bytes] = field(default_factory=lambda: _NOTHING)
    kept: Mapping[int, NDArray[np.uint8]] = field(default_factory=lambda: _NOTHING)
    receipt: Receipt | None = None
    failed: str = ""


@dataclass(frozen=True, eq=False)
class ColumnsParty(Machine[ColumnsState]):
    """A party with columns of its own."""

    protocol: ColumnStudy
    index: int
    columns: Columns
    sum: MaskedSum
    engine: PartyEngine
    curator_key: bytes
    source: Source
    role: Role = Role.PARTY

    @property
    def members(self) -> range:  # type: ignore[override]
        return range(self.index, self.index + 1)

    def start(self) -> ColumnsState:
        return ColumnsState(self.sum.start(), self.engine.start())

    def step(self, state: ColumnsState, inbox: Inbox) -> tuple[ColumnsState, Outbox]:
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
        return state, Outbox((*sent, *more))

    # --- what arrives ---------------------------------------------------------------------------

    def _take(self, state: ColumnsState, batch: Batch) -> ColumnsState:
        if batch.kind in self.sum.kinds:
            return replace(state, held=self.sum.take(state.held, batch))
        if batch.kind in self.engine.kinds:
            if batch.kind == "seed":
                self._check_dealt(state, batch)
            return replace(state, engine=self.engine.take(state.engine, batch, self._plan(state)))
        if batch.kind == "contribution":
            return replace(state, contributions=self._words(state, batch, 1, state.contributions))
        if batch.kind == "digest":
            return replace(state, digests=self._words(state, batch, COMPARED, state.digests))
        if batch.kind == "sample":
            return replace(state, kept=self._sample(state, batch))
        if batch.kind == "receipt":
            return replace(state, receipt=self._receipt(state, batch))
        raise WireError(f"a party was sent {batch.kind!r}, which is no part of this protocol")

    def _check_dealt(self, state: ColumnsState, batch: Batch) -> None:
        """Refuse a seed that was dealt before this party started: it masks one opening only."""
        own, column = state.held.hellos.get(self.index), batch.payload.get("key")
        if own is None or column is None or column.tobytes() != own.key:
            raise ShareError(
                "the dealer's seed is not for this start of the party; under a seed that was used "
                "before, what it opens would show its columns. Refused"
            )

    def _words(
        self, state: ColumnsState, batch: Batch, number: int, known: Mapping[int, bytes]
    ) -> dict[int, bytes]:
        form = {"words": (np.uint8, (SECRET_BYTES,))}
        parties = len(self.protocol.parties)
        check_batch(batch, number, state.held.closed, Role.PARTY, parties, form)
        words = dict(known)
        for k, row in zip(batch.sender.tolist(), batch.payload["words"], strict=True):
            if k in words:
                name = self.protocol.parties[k]
                raise ShareError(f"{name!r} sent {batch.kind!r} twice; the second is refused")
            words[k] = row.tobytes()
        return words

    def _sample(self, state: ColumnsState, batch: Batch) -> dict[int, NDArray[np.uint8]]:
        length = (-(-len(self.columns) // 8),)
        form = {"product": (np.int64, ()), "bits": (np.uint8, length)}
        parties = len(self.protocol.parties)
        check_batch(batch, 1, state.held.closed, Role.PARTY, parties, form)
        if batch.sender.tolist() != [self.index]:
            raise ShareError("another party sent what a party sends to itself alone; refused")
        return {**state.kept, int(batch.payload["product"][0]): batch.payload["bits"][0]}

    def _receipt(self, state: ColumnsState, batch: Batch) -> Receipt:
        design = self.sum.design
        receipt = received(batch, design.opening + 1, state.held.closed, self.curator_key)
        if state.receipt is not None:
            raise ShareError("the curator sent two receipts; the second is refused")
        costs = self.protocol.costs_of(self.protocol.rows_said(state.held.rows))
        check_receipt(receipt, self.protocol.digest, self.sum, state.held, costs)
        return receipt

    # --- rounds ---------------------------------------------------------------------------------

    def _close(self, state: ColumnsState, number: int) -> tuple[ColumnsState, Sequence[Batch]]:
        if number == 0:
            return state, self._begin()
        if number == 1:
            return state, (self._compare(state),)
        if number >= self.sum.design.masked:
            return state, ()
        if number == COMPARED:
            self._check(state)
        plan = self._plan(state)
        codes = [keep(self.columns.codes, state.kept.get(p)) for p in range(len(plan.products))]
        engine, sent = self.engine.close(state.engine, number, plan, codes)
        state = replace(state, engine=engine)
        if number == self.sum.design.masked - 1:
            sent = (*sent, *self._masked(state, plan))
        return state, sent

    def _begin(self) -> list[Batch]:
        rows = len(self.columns)
        random = np.empty((1, SECRET_BYTES), np.uint8)
        self.source.fill(random)
        hellos = self.sum.hello(rows, self.source)
        batches = [
            *hellos,
            self.sum.batch("contribution", 1, Role.PARTY, {"words": random}, EVERYONE),
        ]
        if self.protocol.dealer:
            about = {"rows": np.array([rows], np.int64), "key": hellos[0].payload["key"]}
            batches.append(self.sum.batch("rows", 1, Role.DEALER, about))
        name = self.protocol.parties[self.index]
        for p, product in enumerate(self.protocol.products()):
            bits = sampled(product, name, rows, self.source)
            if bits is not None:
                payload: dict[str, NDArray[Any]] = {
                    "product": np.array([p], np.int64),
                    "bits": bits[None],
                }
                batches.append(self.sum.batch("sample", 1, Role.PARTY, payload, self.index))
        return batches

    def _compare(self, state: ColumnsState) -> Batch:
        missing = [
            name for k, name in enumerate(self.protocol.parties) if k not in state.contributions
        ]
        if missing or self.sum.missing(state.held):
            names = ", ".join(map(repr, missing)) or self.sum.design.name(
                self.sum.missing(state.held)
            )
            raise ShareError(f"stopped before anything was spent: {names} did not take part")
        check_rows(self.protocol.parties, state.held.rows)
        secret = common_secret(self.sum.session(state.held), state.contributions)
        digest = np.frombuffer(self.columns.keys.digest(secret), np.uint8)[None]
        return self.sum.batch("digest", COMPARED, Role.PARTY, {"words": digest}, EVERYONE)

    def _check(self, state: ColumnsState) -> None:
        check_digests(self.protocol.parties, state.digests)
        lost = [p for p, _ in self._sampled(state) if p not in state.kept]
        if lost:
            raise ShareError("the sampled rows are lost; nothing was released")

    def _sampled(self, state: ColumnsState) -> list[tuple[int, Product]]:
        name = self.protocol.parties[self.index]
        products = enumerate(self._plan(state).products)
        return [(p, product) for p, product in products if product.kept.get(name, 1) < 1]

    def _plan(self, state: ColumnsState) -> Plan:
        return self.protocol.product_plan(check_rows(self.protocol.parties, state.held.rows))

    def _masked(self, state: ColumnsState, plan: Plan) -> Sequence[Batch]:
        """Shares of every release with a share of noise, masked."""
        rows = self.protocol.rows_said(state.held.rows)
        (releases,) = self.protocol.releases(rows)
        shares = self.engine.shares(state.engine)
        vectors = plan.vectors(shares[: len(plan.products)], releases)
        name, noises = self.protocol.parties[self.index], shares[len(plan.products) :]
        if not plan.noises:
            noises = [noise_shares(release, name, self.source) for release in releases]
        # Words of the ring and integers add up alike: both are taken modulo 2^bits.
        noisy = [
            vector.astype(np.uint64) + noise.astype(np.uint64)
            for vector, noise in zip(vectors, noises, strict=True)
        ]
        return self.sum.mask(state.held, self.protocol.blocks(rows), noisy)


@dataclass(frozen=True, eq=False)
class ColumnsCurator(RowsCurator):
    """The curator, who learns sums with noise; some engines let it compute on shares as well."""

    protocol: ColumnStudy  # type: ignore[assignment]
    engine: PartyEngine | None = None

    def step(self, state: CuratorState, inbox: Inbox) -> tuple[CuratorState, Outbox]:
        state, outbox = super().step(state, inbox)
        if self.engine is None or inbox.closed not in (COMPARED, COMPARED + 1):
            return state, outbox
        try:
            rows = check_rows(self.protocol.parties, state.opened.rows)
            plan = self.protocol.product_plan(rows)
            self.engine.close(self.engine.start(), inbox.closed, plan, ())
        except ShareError as error:
            return replace(state, failed=str(error)), outbox
        return state, outbox
