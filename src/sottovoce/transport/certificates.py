"""Certificates of the parties' signing keys: what TLS needs to know a key of the roster by.

There is exactly one certificate for a name and a key, self-signed (Ed25519, RFC 8410), without
end (RFC 5280 §4.1.2.5) and for no other use than to show the key: nobody can issue further ones
with it. What is not exactly that certificate is refused, so that the roster pins a key and nothing
else.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..errors import StudyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
    from cryptography.x509 import Certificate

_SIGNATURE = 64
_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_NEVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def self_signed(signer: Ed25519PrivateKey, name: str) -> bytes:
    """The certificate of a key under a name, as DER; the same key and name give the same bytes."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return _certificate(signer.public_key(), signer, name).public_bytes(Encoding.DER)


def certified_key(certificate: bytes, name: str) -> bytes:
    """The Ed25519 public key in a party's certificate, which `self_signed` made for this name."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
    from cryptography.hazmat.primitives.serialization import Encoding

    from .keys import is_signed

    # All certificates of a name have one form, so that none has to be parsed: this is where
    # another key is in its own, and whoever signs, the bytes before the signature are the same.
    other = Ed25519PrivateKey.generate()
    start = self_signed(other, name).index(other.public_key().public_bytes_raw())
    content, signature = certificate[:-_SIGNATURE], certificate[-_SIGNATURE:]
    raw = certificate[start : start + 32]
    if len(raw) == 32:
        expected = _certificate(Ed25519PublicKey.from_public_bytes(raw), other, name)
        der = expected.public_bytes(Encoding.DER)
        if content == der[:-_SIGNATURE] and is_signed(
            expected.tbs_certificate_bytes, signature, raw
        ):
            return raw
    raise StudyError(
        f"the certificate of {name} is not the one that keygen makes for this name; was it copied "
        "from another party's entry?"
    )


def _certificate(key: Ed25519PublicKey, signer: Ed25519PrivateKey, name: str) -> Certificate:
    from cryptography import x509

    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    number = hashlib.sha256(b"sottovoce certificate v1" + key.public_bytes_raw()).digest()[:16]
    others = "content_commitment key_encipherment data_encipherment key_agreement key_cert_sign"
    usage = dict.fromkeys([*others.split(), "crl_sign", "encipher_only", "decipher_only"], False)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key)
        .serial_number(int.from_bytes(b"\1" + number, "big"))
        .not_valid_before(_BEGIN)
        .not_valid_after(_NEVER)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, **usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key), critical=False)
    )
    return builder.sign(signer, None)
