"""Parcels: the messages of one batch to one party, sealed to its key.

::

    parcel  = length of the head (4 bytes, little-endian) | head | E (32 bytes) | ciphertext
    head    = JSON with sorted keys and no spaces: study, session (hex), round, kind, sender,
              receiver (names of parties), sequence
    E       = public key of an ephemeral pair e, fresh for every parcel
    key     = HKDF-SHA256(x25519(e, R) | x25519(S, R); salt: none, info: label | E | R | S | head)
    ciphertext = ChaCha20-Poly1305(key, nonce 0, associated data: head, plain text)

S and R are the pinned keys of sender and receiver. The exchange is that of HPKE's authenticated
mode (RFC 9180 §4.1, AuthEncap), with one key per message: the ephemeral secret keeps the text from
everyone but R, the static one proves S to R, and hashing both public keys and the head into the key
binds them.

One key pair per party and one pass over the text are enough; a signature would need a second pair
and would prove to third parties who sent what, which nobody should be able to prove. What it does
not give: whoever steals R's private key can read what was sent to R, and can write to R (alone) as
anybody.

A nonce never repeats because no key does. Sealing is per parcel, so that its cost per person is
that of encrypting the bytes.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import DigestError, ShareError, StudyError, WireError
from ..sharing.masks import KEY_BYTES, derive_key
from .keys import KeyPair, Roster

_PARCEL = b"sottovoce parcel v1"
_TOKEN = b"sottovoce token v1"
_LENGTH = struct.Struct("<I")
_MOST_HEAD = 1 << 12
_NONCE = bytes(12)
_TAG = 16
_TEXTS = ("study", "session", "kind", "sender", "receiver")
_NUMBERS = ("round", "sequence")


@dataclass(frozen=True)
class Head:
    """What is known of a parcel without opening it; nobody can alter it unnoticed."""

    study: str  # in hex, as the session
    session: str
    round: int
    kind: str  # the protocol's word for the messages in it
    sender: str  # a party's name
    receiver: str
    sequence: int  # from this sender to this receiver in this round, from 0 on

    @property
    def place(self) -> tuple[str, str, int, int]:
        """What no two parcels of a session have in common."""
        return self.sender, self.receiver, self.round, self.sequence

    def to_bytes(self) -> bytes:
        """In one canonical form."""
        about = asdict(self)
        return json.dumps(about, sort_keys=True, separators=(",", ":")).encode()

    @property
    def name(self) -> str:
        """The parcel in words, for messages."""
        return (
            f"parcel {self.sequence} ({self.kind}) of round {self.round} from {self.sender} "
            f"to {self.receiver}"
        )


def seal(text: bytes, head: Head, keys: KeyPair, receiver: bytes) -> bytes:
    """The sender's side: a parcel that only the receiver can open, and knows to be the sender's."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    ephemeral = KeyPair.generate()
    raw = head.to_bytes()
    secrets = ephemeral.exchange(receiver) + keys.exchange(receiver)
    key = derive_key(secrets, _PARCEL + ephemeral.public + receiver + keys.public + raw)
    sealed = ChaCha20Poly1305(key).encrypt(_NONCE, text, raw)
    return b"".join((_LENGTH.pack(len(raw)), raw, ephemeral.public, sealed))


def unseal(parcel: bytes, keys: KeyPair, sender: bytes) -> bytes:
    """The receiver's side: what is in a parcel, if the pinned sender sealed exactly that."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    head, raw = _split(parcel)
    start = _LENGTH.size + len(raw)
    ephemeral = parcel[start : start + KEY_BYTES]
    try:
        secrets = keys.exchange(ephemeral) + keys.exchange(sender)
        key = derive_key(secrets, _PARCEL + ephemeral + keys.public + sender + raw)
        return ChaCha20Poly1305(key).decrypt(_NONCE, memoryview(parcel)[start + KEY_BYTES :], raw)
    except (InvalidTag, StudyError) as error:
        raise ShareError(
            f"{head.name} cannot be opened: it was altered, or sealed with other keys than those "
            "of the roster; it is not counted"
        ) from error


def read_head(parcel: bytes) -> Head:
    """What a relay can know of a parcel."""
    return _split(parcel)[0]


def check_head(head: Head, roster: Roster, study: bytes, session: bytes) -> None:
    """Refuse parcels of another run, or between parties that are not in the roster."""
    if (head.study, head.session) != (study.hex(), session.hex()):
        raise DigestError(f"{head.name} belongs to another study, roster or session; refused")
    for name in (head.sender, head.receiver):
        if name not in roster:
            raise WireError(f"{head.name}: {name!r} is not in the roster; refused")


def token(keys: KeyPair, other: bytes, study: bytes, party: bytes) -> str:
    """What a party shows to the relay: a secret that only these two can compute.

    Both derive it from their own private key and the other's public key, for one study: there is
    nothing to hand out, and a party with another roster or protocol is not let in. `party` is the
    public key of the one who shows it.
    """
    return derive_key(keys.exchange(other), _TOKEN + study + party).hex()


def _split(parcel: bytes) -> tuple[Head, bytes]:
    if len(parcel) < _LENGTH.size:
        raise WireError(f"a parcel of {len(parcel)} bytes was cut off")
    (length,) = _LENGTH.unpack_from(parcel)
    if length > _MOST_HEAD or len(parcel) < _LENGTH.size + length + KEY_BYTES + _TAG:
        raise WireError("a parcel was cut off, or its head is too long")
    raw = bytes(parcel[_LENGTH.size : _LENGTH.size + length])
    try:
        about: Any = json.loads(raw.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise WireError("the head of a parcel is malformed") from error
    if not (
        isinstance(about, dict)
        and about.keys() == {*_TEXTS, *_NUMBERS}
        and all(isinstance(about[name], str) for name in _TEXTS)
        and all(type(about[name]) is int and 0 <= about[name] < 1 << 40 for name in _NUMBERS)
    ):
        raise WireError("the head of a parcel is malformed")
    head = Head(**about)
    if head.to_bytes() != raw:
        raise WireError("the head of a parcel is not in its canonical form")
    return head, raw
