"""The roles of a sum over rows: a party with its rows, and the curator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..randomness import Source
from ..transport import EVERYONE, Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import check_batch
from ..transport.keys import KeyPair
from .counting import NOISE, Rows, counts
from .receipts import Receipt, sums_digest
from .row_study import RowStudy
from .sums import Held, MaskedSum, Opened, OpenedSum


@dataclass(frozen=True, eq=False)
class PartyState:
    """What a party has during a run.

    Attributes
    ----------
    held : Held
        What it received for the sum.
    receipt : Receipt, optional
        The curator's, at the end.
    failed : str
        Why it stopped; empty where it did not.
    """

    held: Held
    receipt: Receipt | None = None
    failed: str = ""


@dataclass(frozen=True, eq=False)
class RowsParty(Machine[PartyState]):
    """A party with rows of its own."""

    protocol: RowStudy
    index: int
    rows: Rows
    sum: MaskedSum
    curator_key: bytes
    source: Source
    role: Role = Role.PARTY

    @property
    def members(self) -> range:  # type: ignore[override]
        return range(self.index, self.index + 1)

    def start(self) -> PartyState:
        return PartyState(self.sum.start())

    def step(self, state: PartyState, inbox: Inbox) -> tuple[PartyState, Outbox]:
        for batch in inbox.batches:
            state = self._take(state, batch)
        if inbox.closed is None:
            return state, Outbox()
        held, sent = self.sum.close(state.held, inbox.closed, self.source)
        state, design = replace(state, held=held), self.sum.design
        if inbox.closed == design.hello - 1:
            public = len(self.rows) if self.protocol.sizes_are_public else -1
            return state, Outbox((*self.sum.hello(public, self.source), *sent))
        if inbox.closed == design.masked - 1:
            try:
                return state, Outbox((*self._masked(held), *sent))
            except ShareError as error:
                return replace(state, failed=str(error)), Outbox()
        return state, Outbox(sent)

    def _take(self, state: PartyState, batch: Batch) -> PartyState:
        if batch.kind == "receipt":
            return replace(state, receipt=self._receipt(state, batch))
        if batch.kind not in self.sum.kinds:
            raise WireError(f"a party was sent {batch.kind!r}, which is no part of this protocol")
        return replace(state, held=self.sum.take(state.held, batch))

    def _masked(self, held: Held) -> tuple[Batch, ...]:
        missing = self.sum.missing(held)
        if missing:
            names = self.sum.design.name(missing)
            raise ShareError(f"stopped before anything was spent: {names} did not take part")
        rows = self.protocol.rows_said(held.rows)
        blocks = self.protocol.blocks(rows)
        return self.sum.mask(held, blocks, self._vectors(rows))

    def _vectors(self, rows: Mapping[str, int] | None) -> list[NDArray[np.int64]]:
        """Weighted counts with a share of noise, for every release of every marginal."""
        vectors, name = [], self.protocol.parties[self.index]
        noise = NOISE[self.protocol.noise]
        for marginal, releases in zip(
            self.protocol.marginals, self.protocol.releases(rows), strict=True
        ):
            cells = self.rows.cells(marginal)
            for release in releases:
                own = counts(cells, self.protocol.shape(marginal), release, name, self.source)
                vectors.append(own + noise(release, name, self.source))
        return vectors

    def _receipt(self, state: PartyState, batch: Batch) -> Receipt:
        receipt = received(batch, self.sum.design.opening + 1, state.held.closed, self.curator_key)
        if state.receipt is not None:
            raise ShareError("the curator sent two receipts; the second is refused")
        costs = self.protocol.costs_of(self.protocol.rows_said(state.held.rows))
        check_receipt(receipt, self.protocol.digest, self.sum, state.held, costs)
        return receipt


def received(batch: Batch, number: int, closed: int, curator_key: bytes) -> Receipt:
    """The receipt in a batch, if the curator signed it."""
    length = batch.payload["text"].shape[1:] if "text" in batch.payload else (0,)
    check_batch(batch, number, closed, Role.CURATOR, 1, {"text": (np.uint8, length)})
    if len(batch) != 1:
        raise ShareError("the curator sent two receipts; refused")
    receipt = Receipt.from_bytes(batch.payload["text"][0].tobytes())
    if not receipt.is_signed_by(curator_key):
        raise ShareError("the receipt is not signed by the curator of the study; refused")
    return receipt


def check_receipt(
    receipt: Receipt, study: bytes, party: MaskedSum, held: Held, costs: Mapping[str, Fraction]
) -> None:
    """Refuse a receipt that is not of this run, its costs and the parties in its sums."""
    of = (study, party.session(held), party.present(held), dict(costs))
    if (receipt.study, receipt.session, receipt.parties, dict(receipt.spent)) != of:
        raise ShareError(
            "the curator's receipt is of another run, or of other costs or parties; refused"
        )


def receipt_batch(receipt: Receipt, number: int) -> Batch:
    """The message that hands a receipt to every party."""
    text = np.frombuffer(receipt.to_bytes(), np.uint8)[None]
    one, everyone = np.zeros(1, np.int64), np.array([EVERYONE], np.int64)
    return Batch("receipt", number, Role.CURATOR, Role.PARTY, one, everyone, {"text": text})


@dataclass(frozen=True, eq=False)
class CuratorState:
    """What the curator has during a run.

    Attributes
    ----------
    opened : Opened
        What it got for the sum.
    sums : tuple of array, optional
        The opened sums, one for each release.
    receipt : Receipt, optional
        What it signed.
    failed : str
        Why there is no result; empty where there is one.
    """

    opened: Opened
    sums: tuple[NDArray[np.int64], ...] | None = None
    receipt: Receipt | None = None
    failed: str = "the run did not end, so there is no result"


@dataclass(frozen=True, eq=False)
class RowsCurator(Machine[CuratorState]):
    """The curator, who learns sums with noise and nothing else."""

    protocol: RowStudy
    sum: OpenedSum
    keys: KeyPair
    role: Role = Role.CURATOR

    @property
    def members(self) -> range:  # type: ignore[override]
        return range(1)

    def start(self) -> CuratorState:
        return CuratorState(self.sum.start())

    def step(self, state: CuratorState, inbox: Inbox) -> tuple[CuratorState, Outbox]:
        for batch in inbox.batches:
            state = self._take(state, batch)
        if inbox.closed is None:
            return state, Outbox()
        opened, sent = self.sum.close(state.opened, inbox.closed)
        state = replace(state, opened=opened)
        if inbox.closed != self.sum.design.opening:
            return state, Outbox(sent)
        try:
            state = self._open(state)
        except ShareError as error:
            return replace(state, failed=str(error)), Outbox(sent)
        if state.receipt is None:
            return state, Outbox(sent)
        return state, Outbox((*sent, receipt_batch(state.receipt, inbox.closed + 1)))

    def _take(self, state: CuratorState, batch: Batch) -> CuratorState:
        if batch.kind not in self.sum.kinds:
            raise WireError(f"the curator was sent {batch.kind!r}, no part of this protocol")
        blocks = () if batch.kind == "hello" else self.protocol.blocks(self._rows(state))
        return replace(state, opened=self.sum.take(state.opened, batch, blocks))

    def _rows(self, state: CuratorState) -> Mapping[str, int] | None:
        self.sum.session(state.opened)  # refused while somebody's hello is missing
        return self.protocol.rows_said(state.opened.rows)

    def _open(self, state: CuratorState) -> CuratorState:
        rows = self._rows(state)
        sums = tuple(self.sum.sums(state.opened, self.protocol.blocks(rows)))
        present = self.sum.present(state.opened)
        self.protocol.check_sums(sums, rows)
        receipt = Receipt(
            self.protocol.digest,
            self.sum.session(state.opened),
            tuple(self.protocol.parties[k] for k in present),
            self.protocol.costs_of(rows),
            sums_digest(sums),
        )
        return replace(state, sums=sums, receipt=receipt.signed(self.keys), failed="")
