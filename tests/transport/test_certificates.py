"""Certificates pin the keys of a roster, and TLS lets in exactly these, each under its own name."""

from __future__ import annotations

import asyncio
import ssl
import stat
import tempfile
import tomllib
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from sottovoce.errors import ParameterError, StudyError, TransportError
from sottovoce.transport import Role
from sottovoce.transport.client import HttpOffice
from sottovoce.transport.keys import KeyPair, Party, Roster, is_signed
from sottovoce.transport.network import Address, Patience, Played, serve, take_part
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import Relay
from sottovoce.transport.server import RelayServer
from sottovoce.transport.tls import file_client, pinned_client, pinned_server

from .pads import ROUNDS, cast, machine

ROSTER, KEYS = cast(3)
STUDY = ROSTER.bind(bytes(32))


def seat(name: str, roster: Roster = ROSTER) -> Seat:
    return Seat(roster, STUDY, KEYS[name])


# --- certificates and rosters -----------------------------------------------------------------


def test_there_is_one_certificate_of_a_key_and_name_and_it_has_no_end() -> None:
    keys = KeyPair(bytes(range(32)))
    assert keys.certificate("north") == keys.certificate("north")
    assert keys.certificate("north") != keys.certificate("south")
    read = x509.load_der_x509_certificate(keys.certificate("north"))
    assert read.not_valid_after_utc > datetime(9000, 1, 1, tzinfo=UTC)
    constraints = read.extensions.get_extension_for_class(x509.BasicConstraints)
    assert not constraints.value.ca


def test_a_roster_with_certificates_survives_its_file_and_has_the_keys() -> None:
    read = Roster.from_entries(tomllib.loads(ROSTER.to_toml())["party"])
    assert (read, read.digest) == (ROSTER, ROSTER.digest)
    assert read.certified
    for party in read:
        keys = KEYS[party.id]
        assert party.verify_key == keys.verify_key
        assert is_signed(b"text", keys.sign(b"text"), party.verify_key or b"")
    without = Roster(tuple(replace(party, certificate=None) for party in ROSTER))
    assert without.digest != ROSTER.digest
    assert [party.verify_key for party in without] == [None] * 4
    assert "certificate" not in without.party("A").as_dict()


def certificate_of_authority(name: str, keys: Ed25519PrivateKey) -> bytes:
    """What an impostor would like best: one that can issue others."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(keys.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2090, 1, 1, tzinfo=UTC))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    return builder.sign(keys, None).public_bytes(Encoding.DER)


def altered(certificate: bytes, k: int) -> bytes:
    return certificate[:k] + bytes([certificate[k] ^ 1]) + certificate[k + 1 :]


def test_every_other_certificate_is_refused() -> None:
    own = KEYS["A"].certificate("A")
    bad = [KEYS["A"].certificate("B"), certificate_of_authority("A", Ed25519PrivateKey.generate())]
    bad += [b"", b"text", own[:-1], own + b"\0", *(altered(own, k) for k in range(len(own)))]
    for certificate in bad:
        with pytest.raises(StudyError, match="certificate"):
            Party("A", Role.PARTY, KEYS["A"].public, certificate=certificate)


def test_a_certificate_of_another_key_than_ones_own_is_noticed() -> None:
    other = KeyPair.generate()
    parties = tuple(
        replace(party, certificate=other.certificate("B")) if party.id == "B" else party
        for party in ROSTER
    )
    with pytest.raises(StudyError, match="of another key than yours"):
        _ = Seat(Roster(parties), STUDY, KEYS["B"]).party


def entry(name: str, role: Role, *, keys: KeyPair | None = None, relay: bool = False) -> Party:
    own = keys or KeyPair.generate()
    return Party(name, role, own.public, relay=relay, certificate=own.certificate(name))


CURATOR, A, B = (
    entry("curator", Role.CURATOR, relay=True),
    entry("A", Role.PARTY),
    entry("B", Role.PARTY),
)
SHARED = KeyPair.generate()
TWINS = entry("A", Role.PARTY, keys=SHARED), entry("D", Role.DEALER, keys=SHARED)


@pytest.mark.parametrize(
    ("parties", "match"),
    [
        ((CURATOR, A, replace(B, certificate=None)), "and B none"),
        ((CURATOR, *TWINS), "the same key"),
        ((CURATOR, TWINS[0], replace(TWINS[1], key=bytes(range(32)))), "certificates of the same"),
        ((CURATOR, entry("C2", Role.CURATOR), A), "2 curators"),
        ((replace(CURATOR, relay=False), replace(A, relay=True), B), "A is the relay"),
        ((entry("x", Role.AGGREGATOR, relay=True), A, B), "x is a aggregator"),
        ((CURATOR, A, B, entry("D", Role.DEALER), entry("E", Role.DEALER)), "at most one"),
        ((CURATOR, entry("D", Role.DEALER)), "no parties"),
        ((CURATOR, A, entry("h", Role.HELPER)), "h is a helper"),
    ],
)
def test_a_roster_of_parties_with_an_error_is_refused(
    parties: tuple[Party, ...], match: str
) -> None:
    with pytest.raises(StudyError, match=match):
        Roster(parties)


def test_parties_curator_and_dealer_are_a_roster() -> None:
    roster = Roster((CURATOR, A, B, entry("D", Role.DEALER)))
    assert [roster.members(name).start for name in ("curator", "A", "B", "D")] == [0, 0, 1, 0]
    with pytest.raises(StudyError, match="one member"):
        replace(A, users=2)


# --- TLS --------------------------------------------------------------------------------------


def test_the_private_key_is_on_disk_encrypted_and_only_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []
    load = ssl.SSLContext.load_cert_chain

    def watched(context: ssl.SSLContext, path: Path, **options: Any) -> None:
        seen.append((stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)))
        assert b"BEGIN ENCRYPTED PRIVATE KEY" in path.read_bytes()
        load(context, path, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    for context in (pinned_client(seat("A")), pinned_server(seat("curator"))):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert seen == [(0o600, 0o700)] * 2
    assert list(tmp_path.iterdir()) == []


def test_a_run_between_certificates() -> None:
    async def run() -> list[Played]:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def one(name: str) -> Played:
            part = machine(ROSTER, name)
            if name == "curator":
                at = Address(tls=True)
                return await serve(
                    part, ROUNDS, seat(name), address=at, listening=address.set_result
                )
            where = await address
            assert where.startswith("https://")
            return await take_part(part, ROUNDS, seat(name), where)

        async with asyncio.timeout(20):
            return list(await asyncio.gather(*map(one, KEYS)))

    ends = asyncio.run(run())
    assert [end.state.total for end in ends] == [111] * 4
    assert sum(end.bytes_sent for end in ends) == sum(end.bytes_received for end in ends) > 0


def tls_served(test: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        relay = Relay(ROSTER, STUDY, bytes(16), ROUNDS, Patience(5.0, 5.0))
        server = RelayServer(relay, seat("curator"), tls=pinned_server(seat("curator")))
        where = await server.start()
        try:
            async with asyncio.timeout(20):
                await test(where)
        finally:
            await server.stop()

    asyncio.run(run())


def office(where: str, token: str, tls: ssl.SSLContext) -> HttpOffice:
    return HttpOffice(where, token, STUDY, timeout=0.3, tls=tls)


def stranger(name: str) -> ssl.SSLContext:
    """Trusts the relay, and has a certificate of the right name and another key."""
    keys = {**KEYS, name: KeyPair.generate()}
    parties = tuple(
        replace(p, key=keys[p.id].public, certificate=keys[p.id].certificate(p.id)) for p in ROSTER
    )
    return pinned_client(Seat(Roster(parties), STUDY, keys[name]))


def test_only_certificates_of_the_roster_are_let_in_and_only_with_their_own_token() -> None:
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    nobody.check_hostname = False
    nobody.load_verify_locations(cadata=ROSTER.relay.certificate or b"")

    async def test(where: str) -> None:
        own = office(where, seat("A").token(), pinned_client(seat("A")))
        assert await own.join() == bytes(16)
        await own.close()
        with pytest.raises(TransportError, match="did not answer"):
            await office(where, seat("A").token(), stranger("A")).join()
        with pytest.raises(TransportError, match="did not answer"):
            await office(where, seat("A").token(), nobody).join()
        with pytest.raises(TransportError, match="token is that of B, and the certificate is not"):
            await office(where, seat("B").token(), pinned_client(seat("A"))).join()

    tls_served(test)


def test_a_party_trusts_no_relay_but_that_of_the_roster() -> None:
    keys = {**KEYS, "curator": KeyPair.generate()}
    parties = tuple(
        replace(p, key=keys[p.id].public, certificate=keys[p.id].certificate(p.id)) for p in ROSTER
    )
    other = Seat(Roster(parties), STUDY, KEYS["A"])

    async def test(where: str) -> None:
        with pytest.raises(TransportError, match="certificate verify failed"):
            await office(where, other.token(), pinned_client(other)).join()
        with pytest.raises(TransportError, match="certificate verify failed"):
            await office(where, seat("A").token(), file_client(None)).join()

    tls_served(test)


def test_certificate_files_and_certificates_of_the_roster_exclude_each_other(
    tmp_path: Path,
) -> None:
    part = machine(ROSTER, "curator")
    at = Address(certificate=tmp_path / "relay.pem")
    with pytest.raises(ParameterError, match="leave it out"):
        asyncio.run(serve(part, ROUNDS, seat("curator"), address=at))
    with pytest.raises(ParameterError, match="leave it out"):
        asyncio.run(
            take_part(
                machine(ROSTER, "A"),
                ROUNDS,
                seat("A"),
                "https://127.0.0.1:1",
                certificate=tmp_path / "relay.pem",
            )
        )
    bare, keys = cast(2, certified=False)
    with pytest.raises(ParameterError, match="no certificates"):
        pinned_client(Seat(bare, STUDY, keys["A"]))
