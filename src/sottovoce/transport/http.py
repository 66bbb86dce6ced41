"""The relay over HTTP/1.1, and a party's way to it: as little of HTTP as that takes.

::

    POST /v1/join             Sottovoce-Study: HEX   → 200, 16 bytes: the session
    POST /v1/parcel           a parcel               → 200
    POST /v1/done/ROUND                              → 200
    POST /v1/abort            the reason             → 200
    GET  /v1/parcel/ROUND/K                          → 200, a parcel; 202: the round is still open,
                                                       ask again; 204: there are no more

Every request carries `Authorization: Bearer TOKEN`; the token also says who it is. A refusal is
400 (malformed), 401 (unknown token), 404, 409 (another study or roster), 410 (too late), 413 (too
long) or 424 (the run is over), with the reason as text; after 503 the same is asked again. Bodies
need a Content-Length; chunked ones are refused. Nothing is read of a body before its token was
found good, and nothing is logged.

Plain HTTP is allowed to and from this machine only; elsewhere TLS 1.3, with the certificates of the
roster on both sides or a certificate file at the relay.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from ..errors import DigestError, ParameterError, SottovoceError, TransportError, WireError
from .office import RunOverError

#: What an error is as a status, and a status as an error; the first that fits.
ERRORS: dict[int, type[SottovoceError]] = {
    409: DigestError,
    424: RunOverError,
    410: TransportError,
    400: WireError,
    413: WireError,
}
MOST_HEAD = 1 << 14
#: How long the relay keeps a question open before it answers 202.
POLL_SECONDS = 20.0
_FIELD = re.compile(rb"([A-Za-z0-9-]{1,64}):[ \t]*([\x20-\x7e]{0,512}?)[ \t]*")
_LENGTH = re.compile(r"[0-9]{1,12}")


async def read_head(reader: asyncio.StreamReader) -> tuple[bytes, dict[str, str]] | None:
    """The first line and the fields of a request or an answer; None at the end."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise WireError("a message was cut off") from error
    except asyncio.LimitOverrunError as error:
        raise WireError(f"the head of a message has more than {MOST_HEAD:,} bytes") from error
    first, *lines = raw[:-4].split(b"\r\n")
    fields: dict[str, str] = {}
    for line in lines:
        match = _FIELD.fullmatch(line)
        if not match or (name := match[1].decode().lower()) in fields:
            raise WireError("the head of a message is malformed")
        fields[name] = match[2].decode()
    return first, fields


def body_length(fields: dict[str, str]) -> int:
    """How many bytes follow the head."""
    text = fields.get("content-length", "0")
    if "transfer-encoding" in fields or not _LENGTH.fullmatch(text):
        raise WireError("a message needs a Content-Length; other codings are refused")
    return int(text)


def split_address(address: str) -> tuple[SplitResult, str, int]:
    """The parts of an address, its host and its port; ParameterError where it is none."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        host.encode("idna")
        known = host and parts.scheme in ("http", "https") and parts.path.isascii()
    except ValueError:  # a port out of range, half an IPv6 address, a host with an empty part
        known = False
    if not known:
        raise ParameterError(f"{address!r} is not an address such as https://example.org:8443")
    return parts, host, port


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine and can mean no other."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
