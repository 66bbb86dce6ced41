"""The roles of a sum over rows where nobody draws the noise: the engine mpyc does (`oblivious`).

Round 1            hellos, as for noise in shares
End of round 2     every member starts its process; at the end of round 3 parties have their shares
Round 5, 6         masked vectors and receipt: counts plus a share of the noise, modulo 2^b
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError
from ..transport import Batch, Inbox, Outbox
from .counting import counts
from .engines import COMPARED, PartyEngine
from .row_machines import CuratorState, PartyState, RowsCurator, RowsParty


@dataclass(frozen=True, eq=False)
class ObliviousState(PartyState):
    """What a party has, with its engine's state."""

    engine: Any = None


@dataclass(frozen=True, eq=False)
class ObliviousParty(RowsParty):
    """A party with rows of its own, whose noise comes from an engine."""

    _: KW_ONLY
    engine: PartyEngine
    noises: tuple[NDArray[Any], ...] = ()

    def start(self) -> ObliviousState:
        return ObliviousState(self.sum.start(), engine=self.engine.start())

    def step(self, state: PartyState, inbox: Inbox) -> tuple[PartyState, Outbox]:
        if not isinstance(state, ObliviousState):
            raise ShareError("this state belongs to a party that draws its own noise")
        plan = self.protocol.noise_plan()
        others: list[Batch] = []
        for batch in inbox.batches:
            if batch.kind in self.engine.kinds:
                state = replace(state, engine=self.engine.take(state.engine, batch, plan))
            else:
                others.append(batch)
        closed, party, sent = inbox.closed, self, ()  # type: tuple[Any, ObliviousParty, Any]
        if closed is not None and COMPARED <= closed < self.sum.design.masked:
            if state.failed or self.sum.missing(state.held):
                return state, Outbox()
            try:
                engine, sent = self.engine.close(state.engine, closed, plan, ())
                state = replace(state, engine=engine)
                if closed == self.sum.design.masked - 1:
                    party = replace(self, noises=tuple(self.engine.shares(engine)))
            except ShareError as error:
                return replace(state, failed=str(error)), Outbox()
        after, outbox = RowsParty.step(party, state, Inbox(tuple(others), closed))
        return after, replace(outbox, batches=(*outbox.batches, *sent))

    def _vectors(self, rows: Mapping[str, int] | None) -> list[NDArray[Any]]:
        name, own = self.protocol.parties[self.index], []
        for marginal, releases in zip(
            self.protocol.marginals, self.protocol.releases(rows), strict=True
        ):
            cells, shape = self.rows.cells(marginal), self.protocol.shape(marginal)
            own += [counts(cells, shape, release, name, self.source) for release in releases]
        # Counts are integers and noise is words of the ring; both are taken modulo 2^bits.
        return [
            vector.astype(np.uint64) + noise.astype(np.uint64)
            for vector, noise in zip(own, self.noises, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class ObliviousCurator(RowsCurator):
    """The curator, who computes on shares of the noise as well, and gets none."""

    _: KW_ONLY
    engine: PartyEngine

    def step(self, state: CuratorState, inbox: Inbox) -> tuple[CuratorState, Outbox]:
        state, outbox = super().step(state, inbox)
        if inbox.closed not in (COMPARED, COMPARED + 1):
            return state, outbox
        missing: Sequence[int] = [
            k for k in range(len(self.protocol.parties)) if k not in state.opened.hellos
        ]
        if missing:
            return state, outbox
        try:
            self.engine.close(self.engine.start(), inbox.closed, self.protocol.noise_plan(), ())
        except ShareError as error:
            return replace(state, failed=str(error)), outbox
        return state, outbox
