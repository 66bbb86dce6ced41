"""The curator's role in a run, whose rounds `machines` has: it learns sums with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..transport import EVERYONE, Batch, Inbox, Machine, Outbox, Role
from ..transport.keys import KeyPair
from .engines import COMPARED, PartyEngine
from .receipts import Receipt, sums_digest
from .sums import Opened, OpenedSum

if TYPE_CHECKING:
    from .marginals import Marginals


@dataclass(frozen=True, eq=False)
class CuratorState:
    """What the curator has during a run: what it got, and at the end sums and receipt."""

    opened: Opened
    sums: tuple[NDArray[np.int64], ...] | None = None
    receipt: Receipt | None = None
    failed: str = "the run did not end, so there is no result"


@dataclass(frozen=True, eq=False)
class Curator(Machine[CuratorState]):
    """The curator, who learns sums with noise; some engines let it compute on shares as well."""

    protocol: Marginals
    sum: OpenedSum
    keys: KeyPair
    engine: PartyEngine | None = None
    role: Role = Role.CURATOR
    members: range = range(1)

    def start(self) -> CuratorState:
        return CuratorState(Opened())

    def step(self, state: CuratorState, inbox: Inbox) -> tuple[CuratorState, Outbox]:
        for batch in inbox.batches:
            state = self._take(state, batch)
        if inbox.closed is None:
            return state, Outbox()
        opened, sent = self.sum.close(state.opened, inbox.closed)
        state = replace(state, opened=opened)
        try:
            if self.engine is not None and inbox.closed in (COMPARED, COMPARED + 1):
                self._rows(state)
                plan = self.protocol.computed_plan(opened.rows)
                self.engine.close(self.engine.start(), inbox.closed, plan, ())
            if inbox.closed == self.sum.design.opening:
                state, receipt = self._open(state, inbox.closed + 1)
                sent = (*sent, receipt)
        except ShareError as error:
            state = replace(state, failed=str(error))
        return state, Outbox(sent)

    def _take(self, state: CuratorState, batch: Batch) -> CuratorState:
        if batch.kind not in self.sum.kinds:
            raise WireError(f"the curator was sent {batch.kind!r}, no part of this protocol")
        blocks = () if batch.kind == "hello" else self.protocol.blocks(self._rows(state))
        return replace(state, opened=self.sum.take(state.opened, batch, blocks))

    def _rows(self, state: CuratorState) -> Mapping[str, int] | None:
        self.sum.session(state.opened)  # refused while somebody's hello is missing
        return self.protocol.rows_said(state.opened.rows)

    def _open(self, state: CuratorState, number: int) -> tuple[CuratorState, Batch]:
        """The sums, and the message that hands everyone a receipt of them."""
        rows = self._rows(state)
        sums = tuple(self.sum.sums(state.opened, self.protocol.blocks(rows)))
        self.protocol.check_sums(sums, rows)
        receipt = Receipt(
            self.protocol.digest,
            self.sum.session(state.opened),
            tuple(self.protocol.parties[k] for k in self.sum.present(state.opened)),
            self.protocol.costs_of(rows),
            sums_digest(sums),
        ).signed(self.keys)
        text = np.frombuffer(receipt.to_bytes(), np.uint8)[None]
        one, everyone = np.zeros(1, np.int64), np.array([EVERYONE], np.int64)
        batch = Batch("receipt", number, Role.CURATOR, Role.PARTY, one, everyone, {"text": text})
        return replace(state, sums=sums, receipt=receipt, failed=""), batch
