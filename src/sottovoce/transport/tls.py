"""TLS 1.3: between the keys of a roster, or with certificate files.

With certificates in the roster both sides show theirs, and each trusts exactly those of the roster:
no authority, and no host names, since the key itself is pinned. Without them the relay has a
certificate file and the parties show tokens only.
"""

from __future__ import annotations

import secrets
import ssl
import tempfile
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from .keys import KeyPair, Roster
from .post import Seat

# The default from Python 3.13 on; the same everywhere.
_STRICT = ssl.VerifyFlags.VERIFY_X509_STRICT | ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN


def pinned_server(seat: Seat) -> ssl.SSLContext:
    """At the relay: its own certificate, and only parties of the roster may connect."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    others = [party.certificate for party in seat.roster if not party.relay]
    context.num_tickets = 0  # nobody comes back under an earlier handshake
    return _pin(context, seat, b"".join(filter(None, others)))


def pinned_client(seat: Seat) -> ssl.SSLContext:
    """At any other party: its own certificate, and only the relay of the roster is trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    return _pin(context, seat, seat.roster.relay.certificate or b"")


def peer_name(roster: Roster, connection: Any) -> str | None:
    """The party whose certificate the other side of a connection has shown."""
    shown = connection.getpeercert(binary_form=True)
    return next((party.id for party in roster if party.certificate == shown), None)


def file_server(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """At the relay, with a certificate file; parties show no certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise ParameterError(f"cannot use the certificate {str(certificate)!r}: {error}") from error
    return context


def file_client(certificate: Path | None) -> ssl.SSLContext:
    """At a party: the certificate or authority to trust, or those of the system."""
    try:
        context = ssl.create_default_context(cafile=certificate)
    except OSError as error:
        raise ParameterError(f"cannot use the certificate {str(certificate)!r}: {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def _pin(context: ssl.SSLContext, seat: Seat, trusted: bytes) -> ssl.SSLContext:
    own = seat.party.certificate
    if own is None:
        raise ParameterError("the roster has no certificates; TLS needs a certificate file")
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= _STRICT
    context.load_verify_locations(cadata=trusted)
    _load_own(context, seat.keys, own)
    return context


def _load_own(context: ssl.SSLContext, keys: KeyPair, certificate: bytes) -> None:
    """Python reads keys from files only: this one is encrypted, private, and gone at once."""
    password = secrets.token_bytes(32).hex()
    with tempfile.TemporaryDirectory(prefix="sottovoce-") as folder:  # mode 0700
        path = Path(folder) / "own.pem"
        path.touch(mode=0o600)
        path.write_bytes(
            ssl.DER_cert_to_PEM_cert(certificate).encode() + keys.encrypted_signer(password)
        )
        context.load_cert_chain(path, password=password)
