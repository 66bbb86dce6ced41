"""A secure sum from which some parties may drop out: double masking.

Every vector has a second mask from a seed b_k that its party drew alone. Seeds and the secrets of
fresh keys are shared among all (Shamir, threshold T = K − drop-outs), and after the vectors are in,
one of the two is opened for every party:

Round h     hello with a commitment to b_k
Round h+1   every party → every party: "shares" of its fresh secret and of b_k
Round m     "masked": vector + pairwise masks + PRG(b_k)
Round m+1   the curator → parties: "survivors", whose vectors arrived
Round m+2   every survivor → all parties: "agree", its signature of study, session and this set
Round m+3   parties with T valid signatures of the identical set → the curator: "unmask", for every
            survivor the share of its seed, for every other party the share of its fresh secret
Round m+4   a signed receipt

Nobody's two masks are ever both opened. A party speaks for one set only, and of K parties of whom t
collude no two sets can get T > (K + t)/2 signatures, whatever a curator claims to whom. A vector
that comes late stays hidden under its own mask. Fewer than T survivors: nothing is opened, and what
was sent is never used again.

Bonawitz et al. 2017, §6; the round of signatures is that of its actively secure variant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..contract.collection import canonical_digest
from ..errors import ShareError
from ..randomness import Source
from ..sharing import Elements, PrimeField, masks, shamir
from ..sharing.masks import KEY_BYTES, Words
from ..transport import EVERYONE, Batch, Role
from ..transport.checking import check_batch
from ..transport.keys import KeyPair, is_signed
from .blocks import Block, add_up, signed
from .sums import Held, MaskedSum, Opened, OpenedSum, SumDesign

#: The smallest prime above 2^32: every word of 32 bits is an element.
FIELD = PrimeField(4_294_967_311)
WORDS = KEY_BYTES // 4
SIGNATURE_BYTES = 64


@dataclass(frozen=True)
class DoublyMaskedSum(MaskedSum):
    """A party's side, with its signing key and everyone's verification keys in order."""

    keys: KeyPair
    verify_keys: tuple[bytes, ...]

    kinds: ClassVar = frozenset({"hello", "kept", "shares", "survivors", "agree"})
    remembered: ClassVar[tuple[str, ...]] = ("secret", "seed")

    def _drawn(self, source: Source) -> tuple[dict[str, bytes], dict[str, bytes]]:
        public, private = super()._drawn(source)
        seed = np.empty(KEY_BYTES, np.uint8)
        source.fill(seed)
        private["seed"] = seed.tobytes()
        return {**public, "commitment": commitment(seed.tobytes())}, private

    def take(self, held: Held, batch: Batch) -> Held:
        match batch.kind:
            case "shares":
                return self._take_shares(held, batch)
            case "survivors":
                return self._take_survivors(held, batch)
            case "agree":
                return self._take_signatures(held, batch)
        return super().take(held, batch)

    def _take_shares(self, held: Held, batch: Batch) -> Held:
        design = self.design
        form = {"shares": (np.uint64, (2, WORDS))}
        check_batch(batch, design.hello + 1, held.closed, Role.PARTY, len(design.parties), form)
        shares = dict(held.shares)
        for k, row in zip(batch.sender.tolist(), batch.payload["shares"], strict=True):
            if k in shares:
                raise ShareError(f"{design.parties[k]!r} sent key shares twice; refused")
            shares[k] = FIELD.check(row)
        return replace(held, shares=shares)

    def _take_survivors(self, held: Held, batch: Batch) -> Held:
        design = self.design
        form = {"present": (np.bool_, (len(design.parties),))}
        check_batch(batch, design.masked + 1, held.closed, Role.CURATOR, 1, form)
        if held.survivors is not None or len(batch) != 1:
            raise ShareError("the curator named survivors twice; the second set is refused")
        survivors = tuple(np.flatnonzero(batch.payload["present"][0]).tolist())
        if len(survivors) < design.threshold:
            raise ShareError(
                f"the curator names {len(survivors)} survivors; {design.threshold} are needed, and "
                "nothing is unmasked for fewer"
            )
        if self.index not in survivors:
            raise ShareError(
                f"the curator says that {design.parties[self.index]!r} dropped out; it takes no "
                "further part"
            )
        return replace(held, survivors=survivors)

    def _take_signatures(self, held: Held, batch: Batch) -> Held:
        design = self.design
        form = {"signature": (np.uint8, (SIGNATURE_BYTES,))}
        number = design.masked + 2
        check_batch(batch, number, held.closed, Role.PARTY, len(design.parties), form)
        if held.survivors is None:
            raise ShareError("signatures arrived, but the curator named no survivors; refused")
        message = survivors_message(design, self.session(held), held.survivors)
        agreed = set(held.agreed)
        for k, row in zip(batch.sender.tolist(), batch.payload["signature"], strict=True):
            name = design.parties[k]
            if k not in held.survivors or not is_signed(
                message, row.tobytes(), self.verify_keys[k]
            ):
                raise ShareError(
                    f"{name!r} did not sign the survivors that the curator named here; it received "
                    "another set, or the message was altered"
                )
            agreed.add(k)
        return replace(held, agreed=frozenset(agreed))

    def close(self, held: Held, number: int, source: Source) -> tuple[Held, tuple[Batch, ...]]:
        state, design = replace(held, closed=number), self.design
        if number == design.hello and not self.missing(state):
            return state, self._share(state, source)
        if state.survivors is None:
            return state, ()
        if number == design.masked + 1:
            return state, (self._agree(state),)
        if number == design.masked + 2 and len(state.agreed) >= design.threshold:
            return state, (self._unmask(state),)
        return state, ()

    def _share(self, held: Held, source: Source) -> tuple[Batch, ...]:
        if held.secret is None or held.seed is None:
            return ()
        people = len(self.design.parties)
        secret = np.stack([elements_of(held.secret), elements_of(held.seed)])
        shares = shamir.share(FIELD, secret, people, threshold=self.design.threshold, source=source)
        me, to = np.full(people, self.index), np.arange(people)
        number = self.design.hello + 1
        payload = {"shares": shares}
        return (Batch("shares", number, Role.PARTY, Role.PARTY, me, to, payload),)

    def _agree(self, held: Held) -> Batch:
        message = survivors_message(self.design, self.session(held), held.survivors or ())
        signature = np.frombuffer(self.keys.sign(message), np.uint8)
        number = self.design.masked + 2
        return self.batch("agree", number, Role.PARTY, {"signature": signature[None]}, EVERYONE)

    def _unmask(self, held: Held) -> Batch:
        """For every party one share: of the seed of survivors, of the secret of all others."""
        survivors, everyone = held.survivors or (), range(len(self.design.parties))
        rows = np.stack([held.shares[k][int(k in survivors)] for k in everyone])
        payload = {"present": flags_of(self.design, survivors)[None], "shares": rows[None]}
        return self.batch("unmask", self.design.masked + 3, Role.CURATOR, payload)

    def present(self, held: Held) -> tuple[str, ...]:
        return tuple(self.design.parties[k] for k in held.survivors or ())

    def missing(self, held: Held) -> tuple[int, ...]:
        absent = super().missing(held)
        if held.closed < self.design.hello + 1 or absent:
            return absent
        return self.design.absent(held.shares)

    def masked(
        self, held: Held, blocks: Sequence[Block], vectors: Sequence[NDArray[Any]]
    ) -> list[Words]:
        words, seed = super().masked(held, blocks, vectors), held.seed
        if seed is None:
            raise ShareError("this party has drawn no seed for its own mask; nothing is sent")
        session = self.session(held)
        for block, vector in zip(blocks, words, strict=True):
            context = self.design.context(session, block)
            masks.add_own(vector, context, self.index, seed, remove=False)
        return words


@dataclass(frozen=True)
class DoublyOpenedSum(OpenedSum):
    """The curator's side."""

    kinds: ClassVar = frozenset({"hello", "masked", "unmask"})

    def take(self, opened: Opened, batch: Batch, blocks: Sequence[Block] = ()) -> Opened:
        if batch.kind != "unmask":
            return super().take(opened, batch, blocks)
        design, people = self.design, len(self.design.parties)
        form = {"present": (np.bool_, (people,)), "shares": (np.uint64, (people, WORDS))}
        check_batch(batch, design.masked + 3, opened.closed, Role.PARTY, people, form)
        unmasking = dict(opened.unmasking)
        for i, k in enumerate(batch.sender.tolist()):
            name, present = design.parties[k], batch.payload["present"][i]
            named = tuple(np.flatnonzero(present).tolist())
            if named != opened.survivors or k not in named:
                raise ShareError(f"{name!r} unmasks for other survivors than were named; refused")
            if k in unmasking:
                raise ShareError(f"{name!r} sent unmasking shares twice; refused")
            unmasking[k] = FIELD.check(batch.payload["shares"][i])
        return replace(opened, unmasking=unmasking)

    def close(self, opened: Opened, number: int) -> tuple[Opened, tuple[Batch, ...]]:
        state, design = replace(opened, closed=number), self.design
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

        ShareError where too few survive or agree, or key shares do not fit; nothing is opened.
        """
        design, session = self.design, self.session(opened)
        absent = design.absent(opened.masked)
        if opened.survivors is None:
            raise ShareError(
                f"no result: the masked vectors of {design.name(absent)} are missing, and only "
                f"{design.dropouts} may be; nothing was opened"
            )
        if len(opened.unmasking) < design.threshold:
            silent = [k for k in opened.survivors if k not in opened.unmasking]
            raise ShareError(
                f"no result: {design.name(silent)} did not help to unmask, and "
                f"{design.threshold} parties are needed; nothing was opened"
            )
        secrets = {k: self._reconstruct(opened, k) for k in range(len(design.parties))}
        words = add_up(blocks, opened.masked.values())
        for block, total in zip(blocks, words, strict=True):
            context = design.context(session, block)
            for k in opened.survivors:
                masks.add_own(total, context, k, secrets[k], remove=True)
            for k in absent:
                keys = {j: opened.hellos[j].key for j in opened.survivors}
                common = {j: masks.agree(secrets[k], key) for j, key in keys.items()}
                # Adding what the missing party would have added cancels the survivors' masks.
                masks.add_pairwise(total, context, k, common)
        return [signed(total) for total in words]

    def _reconstruct(self, opened: Opened, k: int) -> bytes:
        """The seed of a survivor, or the fresh secret of a party that dropped out."""
        senders = sorted(opened.unmasking)
        name, hello = self.design.parties[k], opened.hellos[k]
        rows = np.stack([opened.unmasking[j][k] for j in senders])
        try:
            elements = shamir.reconstruct(
                FIELD, [j + 1 for j in senders], rows, threshold=self.design.threshold
            )
            secret = bytes_of(elements)
        except ShareError as error:
            raise ShareError(
                f"no result: the key shares of {name!r} do not fit: {error}"
            ) from error
        survives = k in (opened.survivors or ())
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


def survivors_message(design: SumDesign, session: bytes, survivors: Sequence[int]) -> bytes:
    """What parties sign before anything is unmasked."""
    names = [design.parties[k] for k in survivors]
    about = {"study": design.study.hex(), "session": session.hex(), "survivors": names}
    return canonical_digest("survivors of a sum", about)


def commitment(seed: bytes) -> bytes:
    """What a party publishes of its seed at the start."""
    return hashlib.sha256(b"sottovoce own mask seed v1" + seed).digest()


def elements_of(secret: bytes) -> Elements:
    """A secret of 32 bytes as eight elements."""
    return np.frombuffer(secret, "<u4").astype(np.uint64)


def bytes_of(elements: Elements) -> bytes:
    """The secret that eight elements stand for."""
    if (elements >> np.uint64(32)).any():
        raise ShareError("reconstructed words exceed 32 bits; shares were altered")
    return elements.astype("<u4").tobytes()


def flags_of(design: SumDesign, survivors: Sequence[int]) -> NDArray[np.bool_]:
    """Survivors as one truth value per party."""
    flags = np.zeros(len(design.parties), bool)
    flags[list(survivors)] = True
    return flags
