"""Engine `dealer`: products with triples of an offline dealer (`sharing.triples`).

Round 2   dealer → party: "seed", and "correction" matrices to the parties that join
Round 3…  step after step, parties send each other "open": D from holders to the party that joins,
          E from that party to the holders

Any parties but one may collude. The dealer must work with nobody: with a party's help it could
undo what is opened. It never gets the result, and nobody who gets the result is the dealer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import ShareError, WireError
from ...sharing.masks import KEY_BYTES
from ...sharing.triples import SEED_BYTES, Codes, Words
from ...transport import Batch, Role
from ..products import Plan
from . import COMPARED, Engine, PartyEngine
from .matrices import Parts, add_part, check_part, matrix_batches, whole_matrix

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Dealer(Engine):
    """Triples from a dealer."""

    name: str = "dealer"
    dealer: bool = True
    assuming: str = (
        "the dealer of correlated randomness follows the protocol and works with nobody: with the "
        "curator or a party it would learn the other parties' columns"
    )

    def rounds(self, parties: int) -> int:
        return parties - 1

    def party(self, index: int, parties: Sequence[str]) -> PartyEngine:
        return DealtParty(index, tuple(parties))

    def bytes(self, plan: Plan) -> int:
        seeds = (SEED_BYTES + KEY_BYTES) * len(plan.shape)
        return seeds + sum(chain.online_bytes + chain.dealt_bytes for chain in plan.chains)


@dataclass(frozen=True, eq=False)
class Dealt:
    """What a party has.

    Attributes
    ----------
    seed : bytes, optional
        From the dealer.
    corrections : mapping
        From the dealer, by (product, step).
    opened : mapping
        What others opened to it, by (product, step, position of the sender).
    own : tuple of array, optional
        Its share of every product after its last step.
    closed : int
        The last round that was closed.
    """

    seed: bytes | None = None
    corrections: Mapping[tuple[int, int], Parts] = field(default_factory=lambda: _NOTHING)
    opened: Mapping[tuple[int, int, int], Parts] = field(default_factory=lambda: _NOTHING)
    own: tuple[Words, ...] | None = None
    closed: int = COMPARED - 1


@dataclass(frozen=True)
class DealtParty(PartyEngine):
    """A party's side."""

    index: int
    parties: tuple[str, ...]

    kinds = frozenset({"seed", "correction", "open"})

    def start(self) -> Dealt:
        return Dealt()

    # --- what arrives ---------------------------------------------------------------------------

    def take(self, state: Dealt, batch: Batch, plan: Plan) -> Dealt:
        if batch.round <= state.closed:
            raise ShareError(f"{batch.kind!r} came late: round {batch.round} was closed")
        from_dealer = batch.kind != "open"
        if batch.sent_by is not (Role.DEALER if from_dealer else Role.PARTY):
            raise WireError(f"{batch.kind!r} came from {batch.sent_by.value!r}; refused")
        if from_dealer and (batch.round != COMPARED or (batch.sender != 0).any()):
            raise WireError(f"{batch.kind!r} is of round {batch.round}, or not of the dealer")
        if batch.kind == "seed":
            return self._take_seed(state, batch)
        return self._take_matrix(state, batch, plan)

    def _take_seed(self, state: Dealt, batch: Batch) -> Dealt:
        column = batch.payload.get("seed")
        if column is None or column.dtype != np.uint8 or column.shape != (1, SEED_BYTES):
            raise WireError("the dealer's seed does not have the form of one")
        if state.seed is not None:
            raise ShareError("the dealer sent a second seed; refused")
        return replace(state, seed=column[0].tobytes())

    def _take_matrix(self, state: Dealt, batch: Batch, plan: Plan) -> Dealt:
        me, chain = plan.order.index(self.index), plan.chains[0]
        if batch.kind == "correction":
            if me == 0:
                raise WireError("a correction came to the first party, which needs none")
            check_part(batch, len(plan.products), chain.shape(me), chain.words)
            corrections = dict(state.corrections)
            for i in range(len(batch)):
                key = (int(batch.payload["product"][i]), me)
                parts = corrections.get(key, {})
                row = int(batch.payload["row"][i])
                corrections[key] = add_part(parts, row, batch.payload["words"][i])
            return replace(state, corrections=corrections)
        step = batch.round - COMPARED
        if step not in chain.steps or me > step:
            raise WireError(f"'open' of round {batch.round} came to a party with no part in it")
        width = chain.left(step) if me == step else chain.sizes[step]
        check_part(batch, len(plan.products), (plan.rows, width), chain.words)
        opened = dict(state.opened)
        for i, sender in enumerate(batch.sender.tolist()):
            position = plan.order.index(sender) if sender in plan.order else -1
            if not (position in range(step) if me == step else position == step):
                raise WireError(f"'open' of round {batch.round} came from party {sender}; refused")
            of = (int(batch.payload["product"][i]), step, position)
            row = int(batch.payload["row"][i])
            opened[of] = add_part(opened.get(of, {}), row, batch.payload["words"][i])
        return replace(state, opened=opened)

    # --- steps ----------------------------------------------------------------------------------

    def close(
        self, state: Dealt, number: int, plan: Plan, columns: Sequence[Codes]
    ) -> tuple[Dealt, tuple[Batch, ...]]:
        state = replace(state, closed=number)
        if state.seed is None:
            raise ShareError("the dealer's seed is missing; nothing was released")
        me, last = plan.order.index(self.index), len(plan.order) - 1
        done, following = number - COMPARED, number - COMPARED + 1
        if 1 <= done <= last and me <= done:
            state = self._combined(state, done, me, plan, columns)
        batches: tuple[Batch, ...] = ()
        if following <= last and me <= following:
            batches = tuple(self._openings(state, following, me, plan, columns))
        return state, batches

    def _openings(
        self, state: Dealt, step: int, me: int, plan: Plan, columns: Sequence[Codes]
    ) -> list[Batch]:
        seed = state.seed or b""
        batches: list[Batch] = []
        receivers = range(step) if me == step else (step,)
        for p, chain in enumerate(plan.chains):
            own = columns[p] if state.own is None else state.own[p]
            matrix = chain.opened(step, me, own, seed)
            for position in receivers:
                to, sender = plan.order[position], (Role.PARTY, self.index)
                batches += matrix_batches("open", COMPARED + step, sender, to, p, matrix)
        return batches

    def _combined(
        self, state: Dealt, step: int, me: int, plan: Plan, columns: Sequence[Codes]
    ) -> Dealt:
        own: list[Words] = []
        for p, chain in enumerate(plan.chains):
            if me < step:
                opened = self._whole(state, p, step, step, plan, chain.sizes[step])
                own.append(chain.held(step, state.seed or b"", opened))
                continue
            arrived = {
                position: self._whole(state, p, step, position, plan, chain.left(step))
                for position in range(step)
            }
            parts = state.corrections.get((p, step), {})
            correction = whole_matrix(parts, chain.shape(step), "the dealer's correction")
            own.append(chain.joined(step, columns[p], arrived, correction))
        left = {key: parts for key, parts in state.opened.items() if key[1] != step}
        return replace(state, own=tuple(own), opened=left)

    def _whole(
        self, state: Dealt, product: int, step: int, position: int, plan: Plan, width: int
    ) -> Words:
        sender = self.parties[plan.order[position]]
        parts = state.opened.get((product, step, position), {})
        return whole_matrix(parts, (plan.rows, width), f"what {sender!r} had to open")

    def shares(self, state: Dealt) -> list[Words]:
        if state.own is None:
            raise ShareError("the products were not computed; nothing was released")
        return list(state.own)
