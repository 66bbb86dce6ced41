"""The curator's side of a sum from which parties may drop out: see `double_masking`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError
from ..sharing import Elements, masks, shamir
from ..transport import EVERYONE, Batch, Role
from ..transport.checking import check_batch
from .blocks import Block, signed
from .double_masking import FIELD, WORDS, bytes_of, commitment, flags_of
from .sums import EMPTY, Opened, OpenedSum


@dataclass(frozen=True, eq=False)
class OpenedTwice(Opened):
    """What the curator has.

    Attributes
    ----------
    survivors : tuple of int, optional
        Whose vectors it has, as it announced to the parties.
    unmasking : mapping of int to array of uint64, (parties, 8)
        By survivor: one share for every party.
    """

    survivors: tuple[int, ...] | None = None
    unmasking: Mapping[int, Elements] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True)
class DoublyOpenedSum(OpenedSum):
    """The curator's side."""

    kinds: ClassVar = frozenset({"hello", "masked", "unmask"})

    def start(self) -> OpenedTwice:
        return OpenedTwice()

    def take(self, opened: Opened, batch: Batch, blocks: Sequence[Block] = ()) -> Opened:
        if batch.kind != "unmask":
            return super().take(opened, batch, blocks)
        state, design = _opened(opened), self.design
        people = len(design.parties)
        form = {"present": (np.bool_, (people,)), "shares": (np.uint64, (people, WORDS))}
        check_batch(batch, design.masked + 3, opened.closed, Role.PARTY, people, form)
        unmasking = dict(state.unmasking)
        for i, k in enumerate(batch.sender.tolist()):
            name, present = design.parties[k], batch.payload["present"][i]
            named = tuple(np.flatnonzero(present).tolist())
            if named != state.survivors or k not in named:
                raise ShareError(f"{name!r} unmasks for other survivors than were named; refused")
            if k in unmasking:
                raise ShareError(f"{name!r} sent unmasking shares twice; refused")
            unmasking[k] = FIELD.check(batch.payload["shares"][i])
        return replace(state, unmasking=unmasking)

    def close(self, opened: Opened, number: int) -> tuple[Opened, tuple[Batch, ...]]:
        state, design = replace(_opened(opened), closed=number), self.design
        if number != design.masked or len(state.masked) < design.threshold:
            return state, ()
        state = replace(state, survivors=tuple(sorted(state.masked)))
        payload = {"present": flags_of(design, state.survivors or ())[None]}
        one, everyone = np.zeros(1, np.int64), np.array([EVERYONE], np.int64)
        batch = Batch(
            "survivors", design.masked + 1, Role.CURATOR, Role.PARTY, one, everyone, payload
        )
        return state, (batch,)

    def sums(self, opened: Opened, blocks: Sequence[Block]) -> list[NDArray[np.int64]]:
        """The opened sums of the survivors, one for each block.

        Raises
        ------
        ShareError
            Where too few survive or agree, or key shares do not fit; nothing is opened.
        """
        state, design = _opened(opened), self.design
        session = self.session(state)
        absent = [k for k in range(len(design.parties)) if k not in state.masked]
        if state.survivors is None:
            raise ShareError(
                f"no result: the masked vectors of {design.name(absent)} are missing, and only "
                f"{design.dropouts} may be; nothing was opened"
            )
        if len(state.unmasking) < design.threshold:
            silent = [k for k in state.survivors if k not in state.unmasking]
            raise ShareError(
                f"no result: {design.name(silent)} did not help to unmask, and "
                f"{design.threshold} parties are needed; nothing was opened"
            )
        secrets = {k: self._reconstructed(state, k) for k in range(len(design.parties))}
        words = self.add_up(state, blocks)
        for block, total in zip(blocks, words, strict=True):
            context = design.context(session, block)
            for k in state.survivors:
                masks.add_own(total, context, k, secrets[k], remove=True)
            for k in absent:
                common = {j: masks.agree(secrets[k], state.hellos[j].key) for j in state.survivors}
                # Adding what the missing party would have added cancels the survivors' masks.
                masks.add_pairwise(total, context, k, common)
        return [signed(total) for total in words]

    def _reconstructed(self, state: OpenedTwice, k: int) -> bytes:
        """The seed of a survivor, or the fresh secret of a party that dropped out."""
        senders = sorted(state.unmasking)
        name, hello = self.design.parties[k], state.hellos[k]
        rows = np.stack([state.unmasking[j][k] for j in senders])
        try:
            elements = shamir.reconstruct(
                FIELD, [j + 1 for j in senders], rows, threshold=self.design.threshold
            )
            secret = bytes_of(elements)
        except ShareError as error:
            raise ShareError(
                f"no result: the key shares of {name!r} do not fit: {error}"
            ) from error
        survives = k in (state.survivors or ())
        right = (
            commitment(secret) == hello.commitment
            if survives
            else masks.public_key(secret) == hello.key
        )
        if not right:
            raise ShareError(
                f"no result: the key shares of {name!r} are not of the key that it announced; at "
                "least one was altered"
            )
        return secret


def _opened(opened: Opened) -> OpenedTwice:
    if not isinstance(opened, OpenedTwice):
        raise TypeError("this state belongs to a sum without drop-outs")
    return opened
