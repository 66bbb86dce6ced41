"""Pairwise masks: two parties add and subtract the same random words, which a sum cancels.

Parties i < j agree on a key by X25519 with fresh keys. Party i adds the words of their keystream to
its vector and party j subtracts them, modulo 2^32 or 2^64. Without the keys of the others a masked
vector is uniform, and all masked vectors together are uniform given their sum.

Key        HKDF-SHA256 of the exchanged secret; the salt is the session, the information contains
           the study, the block of the vector, the roster in its order, i and j
Keystream  AES-256 in counter mode (counter from 0), read as little-endian words

Two vectors under one keystream would differ by their secrets, so everything that distinguishes
them is in the key: study, session, block and pair.

Bonawitz et al. 2017, "Practical secure aggregation for privacy-preserving machine learning".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, ShareError
from ..randomness import Keystream

KEY_BYTES = 32

#: Of uint32 or uint64.
Words = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Context:
    """What a keystream belongs to."""

    study: bytes  # digest of the public parameters, 32 bytes
    session: bytes  # digest of what everyone said at the start, 32 bytes
    roster: tuple[str, ...]  # all parties, in order
    block: str  # which vector of the session

    def __post_init__(self) -> None:
        if len(self.study) != KEY_BYTES or len(self.session) != KEY_BYTES:
            raise ParameterError("a study and a session are named by digests of 32 bytes")

    def pair(self, first: int, second: int) -> bytes:
        """The information for HKDF; no two contexts or pairs have the same."""
        if not 0 <= first < second < len(self.roster):
            raise ParameterError(f"{first} and {second} are no pair of {len(self.roster)} parties")
        return self._pack(b"sottovoce pairwise mask v1", first, second)

    def own(self, index: int) -> bytes:
        """The same for the mask that one party adds alone (double masking)."""
        if not 0 <= index < len(self.roster):
            raise ParameterError(f"there is no party {index} among {len(self.roster)}")
        return self._pack(b"sottovoce own mask v1", index)

    def _pack(self, label: bytes, *places: int) -> bytes:
        """A digest of byte strings with their lengths, so that none can be read as another list."""
        names = (name.encode() for name in (self.block, *self.roster))
        numbers = (place.to_bytes(8, "little") for place in places)
        parts = (label, self.study, self.session, *names, *numbers)
        joined = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        return hashlib.sha256(joined).digest()


def public_key(secret: bytes) -> bytes:
    """The X25519 public key of a secret of 32 bytes."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def agree(secret: bytes, public: bytes) -> bytes:
    """The secret that two parties have in common; the public key must be of large order."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    try:
        private = X25519PrivateKey.from_private_bytes(secret)
        return private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as error:
        raise ShareError("a public key is not a usable X25519 key; refused") from error


def derive_key(secret: bytes, information: bytes, salt: bytes | None = None) -> bytes:
    """A key of 32 bytes by HKDF-SHA256; other information gives an independent one."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY_BYTES, salt=salt, info=information).derive(secret)


def keystream(secret: bytes, context: Context, information: bytes, length: int, bits: int) -> Words:
    """The first words of the keystream of a secret in a context."""
    words = np.empty(length, np.dtype(word_type(bits)).newbyteorder("<"))
    Keystream(derive_key(secret, information, context.session)).fill(words.view(np.uint8).data)
    return words


def add_pairwise(
    vector: Words, context: Context, index: int, secrets: dict[int, bytes], *, remove: bool = False
) -> None:
    """Add party `index`'s masks with all others to its vector, or take them away again.

    The vector is changed in place; `secrets` are what it has in common with each of the others.

    Examples
    --------
    >>> context = Context(bytes(32), bytes(32), ("A", "B"), "y1")
    >>> a, b = np.array([5, 0], np.uint32), np.array([1, 2], np.uint32)
    >>> add_pairwise(a, context, 0, {1: b"common"})
    >>> add_pairwise(b, context, 1, {0: b"common"})
    >>> (a + b).tolist()
    [6, 2]
    """
    bits = 8 * vector.itemsize
    for other, secret in secrets.items():
        low, high = min(index, other), max(index, other)
        mask = keystream(secret, context, context.pair(low, high), vector.size, bits)
        apply = np.add if (index == low) != remove else np.subtract
        apply(vector, mask, out=vector)


def add_own(vector: Words, context: Context, index: int, seed: bytes, *, remove: bool) -> None:
    """Add the mask that a party draws alone, or take it away again."""
    mask = keystream(seed, context, context.own(index), vector.size, 8 * vector.itemsize)
    apply = np.subtract if remove else np.add
    apply(vector, mask, out=vector)


def word_type(bits: int) -> type[np.uint32] | type[np.uint64]:
    """The numpy type of the integers modulo 2^32 or 2^64."""
    if bits not in (32, 64):
        raise ParameterError(f"words have {bits!r} bits; they must have 32 or 64")
    return np.uint32 if bits == 32 else np.uint64
