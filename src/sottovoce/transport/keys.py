"""Who takes part: key pairs, and the roster that pins them.

Every party (a server, or a host of one or many users) has one X25519 key pair. The roster lists
all of them with their roles and public keys; it is public, and everyone has the same: its digest
goes into the digest of the study, which is bound into every message. Members of a role are numbered
in the order of the roster.

One party carries the messages of all others: the relay. It sees ciphertext, and in addition who
sends how many bytes to whom. With S1 in the roster the relay must be S1: that pattern shows which
items a user reports, which S1 knows anyway and S2 must not learn (`secure-sampling.md` §c, d).

A roster is trusted as it is: whoever distributes it could name keys of their own instead of
somebody's. Compare its digest over another channel before the run.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..contract.collection import canonical_digest
from ..domain.columns import first_few
from ..errors import StudyError
from ..files import read_file, whole_file
from ..sharing.masks import KEY_BYTES, derive_key
from .batch import Role
from .certificates import certified_key, self_signed

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FIELDS = {"id", "role", "key", "users", "relay", "certificate"}
_MOST_USERS = 1 << 40
_WITH_PARTIES = (Role.PARTY, Role.CURATOR, Role.DEALER)


class KeyPair:
    """A private key, and the public keys that go with it: one to seal to, one to check signatures.

    Both pairs are derived from the private key (HKDF-SHA256), X25519 for exchanges and Ed25519 for
    signatures. Keys come straight from the operating system; there is no seeded key.
    """

    def __init__(self, private: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        if len(private) != KEY_BYTES:
            raise StudyError(f"a private key has {len(private)} bytes; it must have {KEY_BYTES}")
        self._secret = bytes(private)
        self._private = X25519PrivateKey.from_private_bytes(self._derive(b"exchange"))
        self._signer = Ed25519PrivateKey.from_private_bytes(self._derive(b"sign"))
        self.public: bytes = self._private.public_key().public_bytes_raw()
        self.verify_key: bytes = self._signer.public_key().public_bytes_raw()

    def _derive(self, use: bytes) -> bytes:
        return derive_key(self._secret, b"sottovoce key v1 " + use)

    @classmethod
    def generate(cls) -> KeyPair:
        """A new key pair."""
        return cls(os.urandom(KEY_BYTES))

    def exchange(self, public: bytes) -> bytes:
        """The secret that this key and another party's public key, of large order, share."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        try:
            return self._private.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError as error:
            raise StudyError("a public key is not a usable X25519 key; refused") from error

    def sign(self, message: bytes) -> bytes:
        """A signature of 64 bytes that `is_signed` checks against `verify_key`."""
        return self._signer.sign(message)

    def fingerprint(self, content: bytes) -> str:
        """A digest that nobody else can compute, to recognise what this party has seen before."""
        return hmac.new(self._derive(b"fingerprint"), content, hashlib.sha256).hexdigest()

    def certificate(self, name: str) -> bytes:
        """The signing key's certificate under a party's name, as DER; it never changes."""
        return self_signed(self._signer, name)

    def encrypted_signer(self, password: str) -> bytes:
        """The signing key as encrypted PEM, for TLS."""
        from cryptography.hazmat.primitives import serialization as forms

        encryption = forms.BestAvailableEncryption(password.encode())
        return self._signer.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, encryption)

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the private key to a file that only its owner can read."""
        text = base64.b64encode(self._secret).decode()
        with whole_file(path, replace=replace, private=True) as stream:
            stream.write(f"sottovoce private key v1\n{text}\n".encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> KeyPair:
        """The key pair whose private key is in a file."""
        lines = read_file(path, most=1024).split(b"\n")
        if len(lines) != 3 or lines[0] != b"sottovoce private key v1" or lines[2]:
            raise StudyError(f"{os.fspath(path)!r} is not a private key that keygen wrote")
        return cls(_decode(lines[1], f"the key in {os.fspath(path)!r}", KEY_BYTES))

    def __repr__(self) -> str:
        return f"KeyPair({base64.b64encode(self.public).decode()})"


def is_signed(message: bytes, signature: bytes, verify_key: bytes) -> bool:
    """Whether the holder of a key signed exactly this message."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(verify_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Party:
    """One process: its name, role and public key, and the members of the role that it plays."""

    id: str  # letters, digits, dots, hyphens and underscores
    role: Role
    key: bytes = field(repr=False)
    users: int = 1  # how many members it plays; 1 for servers
    relay: bool = False  # whether it carries the messages of all
    #: Of its signing key (`KeyPair.certificate`), as DER; all parties have one, or none.
    certificate: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.id, str) and _ID.fullmatch(self.id)):
            raise StudyError(
                f"a party is named {self.id!r}; names have up to 64 letters, digits, "
                "dots, hyphens and underscores"
            )
        if type(self.users) is not int or not 1 <= self.users < _MOST_USERS:
            raise StudyError(f"{self.id} plays {self.users!r} users; it must be at least one")
        if self.role is not Role.USER and self.users != 1:
            raise StudyError(
                f"{self.id} is a {self.role.value}, which is one member; only hosts have users"
            )
        if type(self.relay) is not bool or (self.relay and self.role is Role.USER):
            raise StudyError(f"{self.id} cannot be the relay; a server must be")
        if len(self.key) != KEY_BYTES:
            raise StudyError(f"the key of {self.id} has {len(self.key)} bytes, not {KEY_BYTES}")
        if self.certificate is not None:
            object.__setattr__(self, "_verify_key", certified_key(self.certificate, self.id))

    @property
    def verify_key(self) -> bytes | None:
        """The key that the party's signatures are checked with, where it has a certificate."""
        return getattr(self, "_verify_key", None)

    def to_toml(self) -> str:
        """The party's entry; rosters are such entries one after the other."""
        lines = ["[[party]]", f'id = "{self.id}"', f'role = "{self.role.value}"']
        lines += [f"users = {self.users}"] * (self.role is Role.USER)
        lines += ["relay = true"] * self.relay
        lines.append(f'key = "{_text(self.key)}"')
        if self.certificate is not None:
            lines.append(f'certificate = "{_text(self.certificate)}"')
        return "\n".join([*lines, ""])

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        about = {"id": self.id, "role": self.role.value, "key": _text(self.key)}
        about |= {} if self.certificate is None else {"certificate": _text(self.certificate)}
        return {**about, "users": self.users, "relay": self.relay}

    @classmethod
    def from_dict(cls, about: Any) -> Party:
        """The party of an entry, which must have nothing else in it."""
        if not isinstance(about, Mapping) or not {"id", "role", "key"} <= about.keys() <= _FIELDS:
            raise StudyError(
                "an entry [[party]] needs id, role and key, and may have users, relay and "
                "certificate"
            )
        roles = {role.value: role for role in Role}
        if not isinstance(about["role"], str) or about["role"] not in roles:
            raise StudyError(
                f"a party has the role {about['role']!r}; roles are {', '.join(roles)}"
            )
        shown = about.get("certificate")
        return cls(
            about["id"],
            roles[about["role"]],
            _decode(about["key"], f"the key of {about['id']!r}", KEY_BYTES),
            about.get("users", 1),
            about.get("relay", False),
            None if shown is None else _decode(shown, f"the certificate of {about['id']!r}"),
        )


@dataclass(frozen=True)
class Roster:
    """All parties, with one relay among them.

    Examples
    --------
    >>> keys = [KeyPair.generate() for _ in range(3)]
    >>> roster = Roster((
    ...     Party("curator", Role.AGGREGATOR, keys[0].public, relay=True),
    ...     Party("north", Role.USER, keys[1].public, users=50),
    ...     Party("south", Role.USER, keys[2].public, users=30),
    ... ))
    >>> roster.members("south"), roster.count(Role.USER), roster.relay.id
    (range(50, 80), 80, 'curator')
    """

    parties: tuple[Party, ...]

    def __post_init__(self) -> None:
        _check_roster(self.parties)

    @classmethod
    def from_entries(cls, entries: Any) -> Roster:
        """The roster of the entries [[party]] of a file."""
        if not isinstance(entries, list):
            raise StudyError("a roster is a list of entries [[party]]")
        return cls(tuple(Party.from_dict(entry) for entry in entries))

    def to_toml(self) -> str:
        """The text of a roster."""
        return "\n".join(party.to_toml() for party in self.parties)

    def __iter__(self) -> Iterator[Party]:
        return iter(self.parties)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    @cached_property
    def _places(self) -> dict[str, tuple[Party, range]]:
        reached: dict[Role, int] = {}
        places = {}
        for party in self.parties:
            start = reached.get(party.role, 0)
            reached[party.role] = start + party.users
            places[party.id] = (party, range(start, start + party.users))
        return places

    def party(self, name: str) -> Party:
        """The party of a name."""
        return self._place(name)[0]

    def members(self, name: str) -> range:
        """The members of its role that a party plays."""
        return self._place(name)[1]

    def _place(self, name: str) -> tuple[Party, range]:
        if name not in self._places:
            raise StudyError(f"{name!r} is not in the roster, which has {first_few(self._places)}")
        return self._places[name]

    def holder(self, keys: KeyPair) -> Party:
        """The party that a private key belongs to."""
        for party in self.parties:
            if party.key == keys.public:
                if party.verify_key not in (None, keys.verify_key):
                    raise StudyError(f"the certificate of {party.id} is of another key than yours")
                return party
        raise StudyError(
            "the roster has no party with this key; was the right key file given, and is this the "
            "roster that was agreed on?"
        )

    def count(self, role: Role) -> int:
        """How many members a role has."""
        return sum(party.users for party in self.parties if party.role is role)

    @property
    def relay(self) -> Party:
        """The party that carries the messages."""
        return next(party for party in self.parties if party.relay)

    @property
    def certified(self) -> bool:
        """Whether the parties have certificates; all do, or none."""
        return self.relay.certificate is not None

    @cached_property
    def digest(self) -> bytes:
        """Of everything in the roster, its order included."""
        return canonical_digest("roster", [party.as_dict() for party in self.parties])

    def bind(self, protocol: bytes) -> bytes:
        """The digest of the study: of a protocol and of who takes part in it."""
        return canonical_digest("study of a roster", [protocol.hex(), self.digest.hex()])


def _check_roster(parties: Sequence[Party]) -> None:
    """Refuse rosters that nobody should take part in."""
    for what, values in (
        ("name", [party.id for party in parties]),
        ("key", [party.key for party in parties]),
    ):
        if len(set(values)) < len(values):
            raise StudyError(f"two parties of the roster have the same {what}")
    _check_certificates(parties)
    relays = [party for party in parties if party.relay]
    if len(relays) != 1:
        raise StudyError(
            f"{len(relays)} parties of the roster are the relay; exactly one must have relay = true"
        )
    roles = {party.role for party in parties}
    if Role.S1 in roles and relays[0].role is not Role.S1:
        raise StudyError(
            f"the relay is {relays[0].id}, but it must be S1: who sends to whom shows which "
            "items people report, and nobody but S1 may know that"
        )
    if Role.PARTY in roles or Role.DEALER in roles:
        _check_organisations(parties, relays[0])


def _check_certificates(parties: Sequence[Party]) -> None:
    without = [party.id for party in parties if party.certificate is None]
    if len(without) == len(parties):
        return
    if without:
        raise StudyError(
            f"some parties of the roster have a certificate, and {', '.join(without)} none; all "
            "need one, or nobody"
        )
    if len({party.verify_key for party in parties}) < len(parties):
        raise StudyError("two parties of the roster have certificates of the same key")


def _check_organisations(parties: Sequence[Party], relay: Party) -> None:
    others = [party for party in parties if party.role not in _WITH_PARTIES]
    if others:
        raise StudyError(
            f"{others[0].id} is a {others[0].role.value}; besides parties with data of their own a "
            "roster has a curator, and a dealer where the protocol needs one"
        )
    curators = [party for party in parties if party.role is Role.CURATOR]
    if len(curators) != 1 or relay.role is not Role.CURATOR:
        raise StudyError(
            f"a roster of parties has {len(curators)} curators, and {relay.id} is the relay; "
            "there must be one curator, and it is the relay"
        )
    dealers = [party.id for party in parties if party.role is Role.DEALER]
    if len(dealers) > 1:
        raise StudyError(f"{', '.join(dealers)} are dealers; a roster has at most one")
    if Role.PARTY not in {party.role for party in parties}:
        raise StudyError("a roster with a dealer has no parties that it could deal to")


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _decode(text: Any, what: str, size: int | None = None) -> bytes:
    try:
        value = base64.b64decode(text, validate=True)
    except (ValueError, TypeError) as error:
        raise StudyError(f"{what} is not written in base64") from error
    if _text(value).encode() != (text.encode() if isinstance(text, str) else text):
        raise StudyError(f"{what} is not written in canonical base64")
    if size is not None and len(value) != size:
        raise StudyError(f"{what} must have {size} bytes in base64")
    return value
