"""Parcels open for the receiver alone, unaltered, from the pinned sender, and once."""

from __future__ import annotations

import hashlib
import hmac
import stat
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from sottovoce.errors import DigestError, FileError, ShareError, StudyError, WireError
from sottovoce.transport import EVERYONE, Batch, Envelope, Role, encode_batch
from sottovoce.transport.keys import KeyPair, Party, Roster
from sottovoce.transport.post import Post, Seat
from sottovoce.transport.sealing import Head, read_head, seal, unseal

from .summing import cast

SESSION = bytes(16)
PARCEL = "054591062f232333b79692fa4eba6a9ca1d9989e68e3b807d0fb0cbdc22c800d"
ROSTER, KEYS = cast([4, 7], 2)
STUDY = ROSTER.bind(bytes(32))
ENVELOPE = Envelope(STUDY, SESSION)


def post(name: str, session: bytes = SESSION) -> Post:
    return Post(Seat(ROSTER, STUDY, KEYS[name]), session)


def shares(sender: Any = (0, 1, 2, 3), receiver: int = 0, **changes: Any) -> Batch:
    who = np.array(sender, np.int64)
    about: dict[str, Any] = {
        "kind": "share",
        "round": 1,
        "sent_by": Role.USER,
        "sent_to": Role.HELPER,
        "sender": who,
        "receiver": np.full(who.size, receiver),
        "payload": {"share": np.arange(who.size, dtype=np.uint64)},
    }
    return Batch(**(about | changes))


def head(**changes: Any) -> Head:
    about: dict[str, Any] = {
        "study": STUDY.hex(),
        "session": SESSION.hex(),
        "round": 1,
        "kind": "share",
        "sender": "host-0",
        "receiver": "helper-0",
        "sequence": 0,
    }
    return Head(**(about | changes))


def sealed(batch: Batch, **changes: Any) -> bytes:
    """As a host would that does not keep to the rules."""
    text = encode_batch(batch, ENVELOPE)
    return seal(text, head(**changes), KEYS["host-0"], KEYS["helper-0"].public)


def test_what_is_sealed_is_opened() -> None:
    (parcel,) = post("host-0").parcels(shares())
    assert read_head(parcel) == head()
    opened = post("helper-0").open(parcel, 1)
    assert encode_batch(opened, ENVELOPE) == encode_batch(shares(), ENVELOPE)


def test_every_altered_byte_is_noticed() -> None:
    parcel = sealed(shares())
    for k in range(len(parcel)):
        for bit in (1, 128):
            altered = bytearray(parcel)
            altered[k] ^= bit
            with pytest.raises((ShareError, WireError)):
                post("helper-0").open(bytes(altered), 1)


def test_every_truncation_and_extension_is_noticed() -> None:
    parcel = sealed(shares())
    for changed in (*(parcel[:k] for k in range(len(parcel))), parcel + b"\0"):
        with pytest.raises((ShareError, WireError)):
            post("helper-0").open(changed, 1)


def test_an_altered_parcel_is_named() -> None:
    parcel = sealed(shares())
    with pytest.raises(ShareError, match=r"parcel 0 \(share\) of round 1 from host-0 .* altered"):
        post("helper-0").open(parcel[:-1] + bytes([parcel[-1] ^ 1]), 1)


def test_a_replay_is_refused_and_another_parcel_is_not() -> None:
    helper, host = post("helper-0"), post("host-0")
    (first,), (second,) = host.parcels(shares()), host.parcels(shares())
    helper.open(first, 1)
    with pytest.raises(ShareError, match="delivered twice"):
        helper.open(first, 1)
    helper.open(second, 1)


@pytest.mark.parametrize("name", ["helper-1", "curator", "host-1"])
def test_a_parcel_is_of_no_use_to_others(name: str) -> None:
    (parcel,) = post("host-0").parcels(shares())
    with pytest.raises(WireError, match=f"was delivered to {name}"):
        post(name).open(parcel, 1)
    with pytest.raises(ShareError, match="cannot be opened"):
        unseal(parcel, KEYS[name], KEYS["host-0"].public)


def test_a_parcel_in_the_name_of_another_is_refused() -> None:
    text = encode_batch(shares(range(4, 11)), ENVELOPE)
    forged = seal(text, head(sender="host-1"), KEYS["host-0"], KEYS["helper-0"].public)
    with pytest.raises(ShareError, match=r"from host-1 .* cannot be opened"):
        post("helper-0").open(forged, 1)


def test_a_parcel_of_another_round_session_or_study_is_refused() -> None:
    (parcel,) = post("host-0").parcels(shares())
    with pytest.raises(WireError, match="was delivered in round 2"):
        post("helper-0").open(parcel, 2)
    with pytest.raises(DigestError, match="session"):
        post("helper-0", b"x" * 16).open(parcel, 1)
    fewer = Roster(ROSTER.parties[:-1])
    other = Post(Seat(fewer, fewer.bind(bytes(32)), KEYS["helper-0"]), SESSION)
    with pytest.raises(DigestError, match="roster"):
        other.open(parcel, 1)


@pytest.mark.parametrize(
    ("batch", "changes", "match"),
    [
        (shares((0, 4)), {}, "in the name of others"),
        (shares((-1,)), {}, "in the name of others"),
        (shares(sent_by=Role.HELPER), {}, "in the name of others"),
        (shares(receiver=1), {}, "to others"),
        (shares(receiver=-2), {}, "to others"),
        (shares(sent_to=Role.AGGREGATOR), {}, "to others"),
        (shares(kind="sum"), {}, "another kind or round"),
        (shares(round=2), {}, "another kind or round"),
    ],
)
def test_a_host_speaks_for_its_own_users_only(
    batch: Batch, changes: dict[str, Any], match: str
) -> None:
    with pytest.raises(WireError, match=match):
        post("helper-0").open(sealed(batch, **changes), 1)


def test_published_messages_reach_every_party_of_the_role() -> None:
    everyone = shares((0,), EVERYONE)
    parcels = list(post("host-0").parcels(everyone))
    assert [read_head(parcel).receiver for parcel in parcels] == ["helper-0", "helper-1"]
    assert len(post("helper-1").open(parcels[1], 1)) == 1


def test_many_rows_travel_in_several_parcels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.transport.post._PARCEL_BYTES", 64)
    parcels = list(post("host-0").parcels(shares()))
    assert [read_head(parcel).sequence for parcel in parcels] == [0, 1]
    helper = post("helper-0")
    opened = [helper.open(parcel, 1).payload["share"] for parcel in parcels]
    assert np.concatenate(opened).tolist() == [0, 1, 2, 3]


def test_the_same_text_is_never_sealed_alike() -> None:
    first, second = sealed(shares()), sealed(shares())
    assert first != second
    assert len(first) == len(second)


def test_the_form_of_a_parcel_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed keys; head, key derivation and cipher are written out here once more, and pinned."""
    sender, receiver, ephemeral = (KeyPair(bytes([k]) * 32) for k in (1, 2, 3))
    about = {"study": "00" * 32, "session": "11" * 16, "round": 1, "kind": "share"}
    fixed = Head(**about, sender="a", receiver="b", sequence=0)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(KeyPair, "generate", lambda: ephemeral)
        parcel = seal(b"text", fixed, sender, receiver.public)
    assert hashlib.sha256(parcel).hexdigest() == PARCEL
    head_bytes = fixed.to_bytes()
    e, r, s = (keys.public for keys in (ephemeral, receiver, sender))
    secrets = ephemeral.exchange(r) + sender.exchange(r)
    extracted = hmac.digest(bytes(32), secrets, "sha256")
    info = b"sottovoce parcel v1" + e + r + s + head_bytes
    key = hmac.digest(extracted, info + b"\1", "sha256")
    sealed_text = ChaCha20Poly1305(key).encrypt(bytes(12), b"text", head_bytes)
    assert parcel == len(head_bytes).to_bytes(4, "little") + head_bytes + e + sealed_text
    assert unseal(parcel, receiver, sender.public) == b"text"


# --- keys and rosters -------------------------------------------------------------------------


def test_a_roster_survives_its_file_and_its_digest_sees_everything() -> None:
    read = Roster.from_entries(tomllib.loads(ROSTER.to_toml())["party"])
    assert read == ROSTER
    assert read.digest == ROSTER.digest
    first, *rest = ROSTER.parties
    *others, last = ROSTER.parties
    variants = [
        Roster((*rest, first)),
        Roster(tuple(others)),
        Roster((*others, Party("host-x", Role.USER, last.key, users=7))),
        Roster((*others, Party("host-1", Role.USER, last.key, users=8))),
        Roster((*others, Party("host-1", Role.HELPER, last.key))),
        Roster((*others, Party("host-1", Role.USER, KeyPair.generate().public, users=7))),
    ]
    assert len({ROSTER.digest, *(variant.digest for variant in variants)}) == 7
    assert ROSTER.bind(bytes(32)) != ROSTER.bind(b"x" * 32)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('id = "host-0"', 'id = "host-1"', "the same name"),
        ('id = "host-0"', 'id = "Host 0"', "names have"),
        ('role = "user"', 'role = "tree"', "roles are"),
        ("users = 4", "users = 0", "at least one"),
        ("users = 4", 'users = "4"', "at least one"),
        ("users = 4", "user = 4", "may have users, relay"),
        ("relay = true", "relay = false", "exactly one"),
        ("users = 4", "relay = true", "cannot be the relay"),
        ('key = "', 'key = "x', "base64"),
    ],
)
def test_a_roster_with_an_error_is_refused(old: str, new: str, match: str) -> None:
    text = ROSTER.to_toml()
    assert old in text
    with pytest.raises(StudyError, match=match):
        Roster.from_entries(tomllib.loads(text.replace(old, new, 1))["party"])


def test_two_parties_with_one_key_are_refused() -> None:
    key = KeyPair.generate().public
    parties = (Party("a", Role.AGGREGATOR, key, relay=True), Party("b", Role.HELPER, key))
    with pytest.raises(StudyError, match="the same key"):
        Roster(parties)


def test_a_key_file_is_private_and_strict(tmp_path: Path) -> None:
    path = tmp_path / "host.key"
    keys = KeyPair.generate()
    keys.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert KeyPair.load(path).public == keys.public
    with pytest.raises(FileError):
        KeyPair.generate().save(path)
    text = path.read_bytes()
    for broken in (text[:-2], text + b"x", text.replace(b"v1", b"v2"), b""):
        path.write_bytes(broken)
        with pytest.raises(StudyError):
            KeyPair.load(path)


def test_a_key_of_small_order_is_refused() -> None:
    with pytest.raises(StudyError, match="usable"):
        KeyPair.generate().exchange(bytes(32))
    parcel = sealed(shares())
    start = 4 + int.from_bytes(parcel[:4], "little")
    with pytest.raises(ShareError, match="cannot be opened"):
        post("helper-0").open(parcel[:start] + bytes(32) + parcel[start + 32 :], 1)
