"""The dealer's machine: correlated randomness for the products, once, before any column is used.

Round 1   every party tells it the number of rows, and the fresh key of its hello
Round 2   it sends each party a seed with that key, and corrections to the parties that join

A party accepts a seed with its own fresh key only. One that starts again in the same session has
another key, so that a relay which delivers the old seed once more gets nothing opened under it.

It gets nothing after that, neither columns nor the result. The dealer is nobody who receives the
result: a curator who deals and sees the shares would recover the table without any noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import ParameterError, ShareError, WireError
from ..randomness import Source
from ..sharing.masks import KEY_BYTES
from ..sharing.triples import SEED_BYTES
from ..transport import Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import check_batch
from .engines import COMPARED
from .engines.matrices import matrix_batches
from .products import Plan

_NOTHING: Mapping[int, Any] = MappingProxyType({})
_FORM = {"rows": (np.int64, ()), "key": (np.uint8, (KEY_BYTES,))}


@dataclass(frozen=True)
class Asked:
    """What the dealer received (numbers of rows, fresh keys), and the last closed round."""

    rows: Mapping[int, int] = field(default_factory=lambda: _NOTHING)
    keys: Mapping[int, bytes] = field(default_factory=lambda: _NOTHING)
    closed: int = -1


@dataclass(frozen=True, eq=False)
class DealerMachine(Machine[Asked]):
    """The dealer.

    Attributes
    ----------
    parties : tuple of str
        In order.
    plan : callable
        From the number of rows to the public form of the products.
    """

    parties: tuple[str, ...]
    plan: Callable[[int], Plan]
    source: Source
    role: Role = Role.DEALER
    members: range = range(1)

    def start(self) -> Asked:
        return Asked()

    def step(self, state: Asked, inbox: Inbox) -> tuple[Asked, Outbox]:
        for batch in inbox.batches:
            state = self._hear(state, batch)
        if inbox.closed is None:
            return state, Outbox()
        state = replace(state, closed=inbox.closed)
        if inbox.closed != COMPARED - 1:
            return state, Outbox()
        missing = [name for k, name in enumerate(self.parties) if k not in state.rows]
        if missing or len(set(state.rows.values())) != 1:
            return state, Outbox()  # the parties themselves say why, and stop
        return state, Outbox(self._deal(self.plan(state.rows[0]), state.keys))

    def _hear(self, state: Asked, batch: Batch) -> Asked:
        if batch.kind != "rows" or batch.sent_by is not Role.PARTY:
            raise WireError(f"the dealer got {batch.kind!r} from {batch.sent_by.value!r}; refused")
        check_batch(batch, COMPARED - 1, state.closed, Role.PARTY, len(self.parties), _FORM)
        rows, keys = dict(state.rows), dict(state.keys)
        for i, k in enumerate(batch.sender.tolist()):
            count = int(batch.payload["rows"][i])
            if k in rows or count < 1:
                raise ShareError(f"party {k} says {count} rows, or says it twice; refused")
            rows[k], keys[k] = count, batch.payload["key"][i].tobytes()
        return replace(state, rows=rows, keys=keys)

    def _deal(self, plan: Plan, keys: Mapping[int, bytes]) -> Iterator[Batch]:
        drawn = np.empty((len(self.parties), SEED_BYTES), np.uint8)
        self.source.fill(drawn)
        many, me = np.arange(len(drawn), dtype=np.int64), (Role.DEALER, 0)
        sender = np.zeros(len(drawn), np.int64)
        payload = {
            "seed": drawn,
            "key": np.array([list(keys[k]) for k in range(len(drawn))], np.uint8),
        }
        yield Batch("seed", COMPARED, Role.DEALER, Role.PARTY, sender, many, payload)
        seeds = [drawn[k].tobytes() for k in plan.order]
        for p, chain in enumerate(plan.chains):
            for step in chain.steps:
                matrix = chain.correction(step, seeds)
                yield from matrix_batches("correction", COMPARED, me, plan.order[step], p, matrix)


def check_dealer(dealer: bytes, others: Mapping[str, bytes]) -> None:
    """Refuse a dealer who is somebody else as well.

    Parameters
    ----------
    dealer : bytes
        The dealer's public key.
    others : mapping of str to bytes
        The keys of the curator and of all parties, by name.
    """
    for name, key in others.items():
        if key == dealer:
            raise ParameterError(
                f"{name!r} is the dealer as well; the dealer must be nobody who receives the "
                "result or holds columns: it could undo what the parties open. Let another "
                "organisation deal, or use engine='mpyc'"
            )
