"""Engine `dealer`: products with triples of an offline dealer (`sharing.triples`).

Round 1   every party → dealer: the number of rows, and the fresh key of its hello
Round 2   dealer → party: "seed" with that key, and "correction" matrices to the parties that join
Round 3…  step after step, parties send each other "open": D from holders to the party that joins,
          E from that party to the holders

A party accepts a seed with its own fresh key only. One that starts again in the same session has
another key, so that a relay which delivers the old seed once more gets nothing opened under it.

Any parties but one may collude. The dealer must work with nobody: with a party's help it could
undo what is opened. It never gets the result, and nobody who gets the result is the dealer: a
curator who deals and sees the shares would recover the table without any noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import ParameterError, ShareError, WireError
from ...randomness import Source
from ...sharing.masks import KEY_BYTES
from ...sharing.triples import SEED_BYTES, Codes, Words
from ...transport import Batch, Inbox, Machine, Outbox, Role
from ...transport.checking import check_batch
from ..products import Plan
from . import COMPARED, Engine, PartyEngine

_PART_BYTES = 1 << 22  # of a matrix, so that no message outgrows what a relay carries
_FORM = {"rows": (np.int64, ()), "key": (np.uint8, (KEY_BYTES,))}

#: Parts of a matrix by their first row.
Parts = Mapping[int, Words]


@dataclass(frozen=True)
class Dealer(Engine):
    """Triples from a dealer."""

    name = "dealer"
    dealer = True
    assuming = (
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
    """What a party has: seed and corrections from the dealer, and what others opened to it."""

    seed: bytes | None = None
    corrections: Mapping[tuple[int, int], Parts] = field(default_factory=dict)  # product, step
    #: By product, step and position of the sender.
    opened: Mapping[tuple[int, int, int], Parts] = field(default_factory=dict)
    own: tuple[Words, ...] | None = None  # its share of every product after its last step
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
            state = self._combine(state, done, me, plan, columns)
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

    def _combine(
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


@dataclass(frozen=True)
class Asked:
    """What the dealer received (numbers of rows, fresh keys), and the last closed round."""

    rows: Mapping[int, int] = field(default_factory=dict)
    keys: Mapping[int, bytes] = field(default_factory=dict)
    closed: int = -1


@dataclass(frozen=True, eq=False)
class DealerMachine(Machine[Asked]):
    """The dealer: it gets nothing after the start, neither columns nor the result."""

    parties: tuple[str, ...]
    plan: Callable[[int], Plan]  # from the number of rows
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
        fresh = np.array([list(keys[k]) for k in range(len(drawn))], np.uint8)
        payload = {"seed": drawn, "key": fresh}
        yield Batch("seed", COMPARED, Role.DEALER, Role.PARTY, np.zeros_like(many), many, payload)
        seeds = [drawn[k].tobytes() for k in plan.order]
        for p, chain in enumerate(plan.chains):
            for step in chain.steps:
                matrix = chain.correction(step, seeds)
                yield from matrix_batches("correction", COMPARED, me, plan.order[step], p, matrix)


def check_dealer(dealer: bytes, others: Mapping[str, bytes]) -> None:
    """Refuse a dealer with the public key of the curator or a party."""
    for name, key in others.items():
        if key == dealer:
            raise ParameterError(
                f"{name!r} is the dealer as well; the dealer must be nobody who receives the "
                "result or holds columns: it could undo what the parties open. Let another "
                "organisation deal, or use engine='mpyc'"
            )


def matrix_batches(
    kind: str, number: int, sent_by: tuple[Role, int], to: int, product: int, matrix: Words
) -> Iterator[Batch]:
    """The messages in which one member sends a matrix to a party."""
    height = max(1, _PART_BYTES // max(1, matrix.shape[1] * matrix.itemsize))
    whole = matrix.shape[0] // height * height
    parts = matrix[:whole].reshape(-1, height, matrix.shape[1]), matrix[whole:][None]
    for first, words in zip((0, whole), parts, strict=True):
        rows = first + height * np.arange(len(words), dtype=np.int64)
        if words.size:
            sender, receiver = np.full_like(rows, sent_by[1]), np.full_like(rows, to)
            payload = {"product": np.full_like(rows, product), "row": rows, "words": words}
            order = rows * 2**16 + product
            yield Batch(kind, number, sent_by[0], Role.PARTY, sender, receiver, payload, order)


def check_part(
    batch: Batch, products: int, shape: tuple[int, int], words: np.dtype[np.generic]
) -> None:
    """Refuse parts that cannot belong to a matrix of this shape."""
    if set(batch.payload) != {"product", "row", "words"}:
        raise WireError(f"{batch.kind!r} has the columns {sorted(batch.payload)}")
    product, row, part = (batch.payload[name] for name in ("product", "row", "words"))
    if product.dtype != np.int64 or row.dtype != np.int64 or product.ndim != 1 or row.ndim != 1:
        raise WireError(f"{batch.kind!r} does not say which part of a matrix it is")
    if part.dtype != words or part.ndim != 3 or part.shape[2] != shape[1]:
        raise WireError(
            f"{batch.kind!r} has words of type {part.dtype} and shape {part.shape[1:]}; rows of "
            f"{shape[1]} of type {words} are expected"
        )
    if ((product < 0) | (product >= products)).any():
        raise WireError(f"{batch.kind!r} is of a product that there is not")
    if ((row < 0) | (row + part.shape[1] > shape[0])).any():
        raise WireError(f"{batch.kind!r} has more rows than a matrix of {shape[0]:,}")


def add_part(parts: Parts, row: int, words: Words) -> Parts:
    """The parts with one more, which must be new."""
    if row in parts:
        raise ShareError(f"the part of a matrix from row {row} on arrived twice; refused")
    return {**parts, row: words}


def whole_matrix(parts: Parts, shape: tuple[int, int], what: str) -> Words:
    """The matrix, or an error where parts are missing or overlap."""
    reached = 0
    for row, words in sorted(parts.items()):
        if row != reached:
            break
        reached += len(words)
    if reached != shape[0] or not parts:
        raise ShareError(f"{what} is missing, or not complete; nothing was released")
    ordered = [words for _, words in sorted(parts.items())]
    return ordered[0] if len(ordered) == 1 else np.concatenate(ordered)
