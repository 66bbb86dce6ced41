"""Sending reports and fetching counts: the other side of the protocol, with Python's own HTTP.

A receipt beside the file of reports keeps the submission ids. They are written before anything is
sent, so that whatever happens, sending the same file again sends the same bytes under the same ids,
and the server counts them once.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ..collect.recognise import not_reports, recognise
from ..contract.codec import REPORTS_MAGIC
from ..contract.reports import read_batches
from ..errors import FileError, ParameterError, TransportError, WireError
from ..files import read_file, sync_folder, whole_file
from ..study import Study
from ..transport.http import is_loopback, split_address
from .submission import ID_BYTES, MOST_REPORTS

_AGAIN = (408, 429, 500, 502, 503, 504)
_MOST_ANSWER = 1 << 30


@dataclass
class Server:
    """A collection's server."""

    address: str  # such as https://collector.example
    patience: float = 60.0  # seconds during which a server that is busy or away is asked again
    certificate: Path | None = None  # the only one (or authority) trusted; None for the system's
    _pause: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        parts, self._host, self._port = split_address(self.address)
        if parts.query:  # which may be a secret, so that it is not repeated
            raise ParameterError(
                f"the address {parts.scheme}://{parts.netloc}{parts.path}?… has a query; give it "
                "up to the host or port, such as https://example.org:8443, and the key of an "
                "analyst's link as the token"
            )
        self._path = parts.path.rstrip("/")
        self._tls = parts.scheme == "https"
        self._trust = _trust(self.certificate) if self._tls else None

    def get(self, path: str, token: str, **query: str) -> bytes:
        """What an analyst asks for."""
        if not self._tls and not is_loopback(self._host):
            raise ParameterError(
                f"{self.address} is not this machine, and anyone on the way could read the token; "
                "use https"
            )
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {"Authorization": f"Bearer {_plain(token, 'token')}"}
        return self._ask("GET", target, b"", headers, "ask again later")

    def post(self, body: bytes, code: str | None = None) -> dict[str, Any]:
        """Send a submission; the server's answer."""
        headers = {"Content-Type": "application/octet-stream"}
        if code:
            headers["Sottovoce-Code"] = _plain(code, "code")
        later = "send the same file again later, nothing is counted twice"
        data = self._ask("POST", "/api/v1/reports", body, headers, later)
        try:
            return _check_answer(json.loads(data))
        except (ValueError, RecursionError) as error:  # of a proxy, or another kind of server
            raise WireError(
                f"{self.address} did not answer as a collection does; check the address, then "
                "send the same file again"
            ) from error

    def _ask(
        self, method: str, path: str, body: bytes, headers: dict[str, str], later: str
    ) -> bytes:
        end, pause = time.monotonic() + self.patience, 0.2
        while True:
            wait = pause
            try:
                status, after, answer = self._ask_once(method, path, body, headers)
                if status == 200:
                    return answer
                reason = _reason(status, answer)
                if status not in _AGAIN:
                    kind = WireError if status in (400, 409, 413, 422) else TransportError
                    raise kind(f"{self.address} refuses: {reason}")
                wait = max(pause, after)
            except (TransportError, FileError):
                raise
            except ssl.SSLCertVerificationError as error:
                raise TransportError(f"{self.address}: {error.verify_message}") from error
            except (http.client.HTTPException, OSError) as error:
                reason = str(error) or type(error).__name__
            if time.monotonic() + wait > end:
                raise TransportError(
                    f"{self.address} could not be reached or was busy for {self.patience:g} s: "
                    f"{reason}; {later}"
                )
            self._pause(wait)
            pause = min(2 * pause, 5.0)

    def _ask_once(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, float, bytes]:
        kind: Any = http.client.HTTPConnection
        if self._tls:
            kind = partial(http.client.HTTPSConnection, context=self._trust)
        with closing(kind(self._host, self._port, timeout=30)) as connection:
            connection.request(method, self._path + path, body, headers)
            answer = connection.getresponse()
            after = answer.getheader("Retry-After", "0")
            data = answer.read(_MOST_ANSWER)
            if len(data) == _MOST_ANSWER and answer.read(1):
                raise TransportError(
                    f"{self.address} sends more than {_MOST_ANSWER:,} bytes; write the file where "
                    "the collection is kept: sottovoce collection export"
                )
            if answer.length:  # a connection that was lost: what came would pass for all
                raise http.client.IncompleteRead(data, answer.length)
            return answer.status, float(after) if after.isdigit() else 0.0, data


def _plain(secret: str, what: str) -> str:
    """A token or code that a header can carry; it is not repeated."""
    if not (secret.isascii() and secret.isprintable()):
        raise ParameterError(
            f"the {what} has other characters than letters, digits and signs; copy it again"
        )
    return secret


def _trust(certificate: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificate)
    except OSError as error:  # not a server that is away, so that nothing is tried again
        raise ParameterError(
            f"cannot use the certificate {str(certificate)!r}: {error.strerror or error}; give a "
            "PEM file"
        ) from error


def _reason(status: int, answer: bytes) -> str:
    try:
        return str(json.loads(answer)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {status}"


def _check_answer(answer: Any) -> dict[str, Any]:
    """What a collection answers to a submission; ValueError for anything else."""
    about: dict[str, Any] = answer if isinstance(answer, dict) else {}
    refused = about.get("refused")
    if not (
        type(about.get("accepted")) is int
        and isinstance(about.get("receipt"), str)
        and isinstance(refused, list)
        and all(isinstance(one, dict) and {"position", "reason"} <= one.keys() for one in refused)
    ):
        raise ValueError("not the answer to a submission")
    return about


@dataclass
class Receipt:
    """What was sent of a file, and what the server said."""

    to: str
    content: str  # a digest of the file
    ids: list[str]
    answers: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path, to: str, content: bytes, parts: int) -> Receipt:
        """The receipt beside the file, or a new one."""
        digest, kept = sha256(content).hexdigest(), path_of(path)
        if not kept.exists():
            own = cls(to, digest, [os.urandom(ID_BYTES).hex() for _ in range(parts)])
            try:
                own.save(path, replace=False)
                sync_folder(kept.absolute().parent)
                return own
            except FileError:
                if not kept.exists():
                    raise  # otherwise of another run, which sends the same file now
        known = cls.read(kept)
        same = _place(known.to) == _place(to)
        if same and (known.content, len(known.ids)) == (digest, parts):
            return known
        raise FileError(
            f"{str(kept)!r} is the receipt of other reports, or of another address; move it "
            "away if these are to be sent as well"
        )

    @classmethod
    def read(cls, kept: Path) -> Receipt:
        """The receipt in a file."""
        try:
            known = cls(**json.loads(read_file(kept)))
            known.answers = [_check_answer(answer) for answer in known.answers]
            if any(len(bytes.fromhex(one)) != ID_BYTES for one in known.ids):
                raise ValueError("not the ids of submissions")
        except (ValueError, TypeError, RecursionError) as error:
            raise FileError(f"{str(kept)!r} is not a receipt; move it away") from error
        return known

    def save(self, path: Path, *, replace: bool = True) -> None:
        """Write it beside the file."""
        with whole_file(path_of(path), replace=replace, private=True) as stream:
            stream.write(json.dumps(asdict(self), indent=1).encode())


def _place(address: str) -> tuple[str, str, int, str]:
    """What two ways to write one address have in common: with a slash at the end, or its port."""
    parts, host, port = split_address(address)
    return parts.scheme, host, port, parts.path.rstrip("/")


def path_of(reports: Path) -> Path:
    """Where the receipt of a file of reports is."""
    return reports.with_name(reports.name + ".receipt")


def split_file(path: Path, study: Study | None) -> tuple[bytes, list[bytes]]:
    """The file's content, and the envelopes of each submission."""
    mistaken = not_reports(path, recognise(path))
    if mistaken:
        raise FileError(mistaken)
    content = read_file(path)
    if study is None:
        many = int.from_bytes(content[8:16], "little") if content[:4] == REPORTS_MAGIC else None
        if many is None or many > MOST_REPORTS or content[5] & 2:
            raise ParameterError(
                f"{str(path)!r} has more than {MOST_REPORTS:,} reports, or is not an .svr file; "
                "name its study with --study, so that it can be divided"
            )
        return content, [content]
    return content, [
        batch[start : start + MOST_REPORTS].to_bytes()
        for batch in read_batches(path, expect=study)
        for start in range(0, len(batch), MOST_REPORTS)
    ]


def send_file(
    path: Path,
    server: Server,
    *,
    code: str | None = None,
    study: Study | None = None,
    done: Callable[[int], None] = lambda k: None,
) -> Receipt:
    """Send all reports of a file; again with the same ids, if it was begun before."""
    content, parts = split_file(path, study)
    if code and len(parts) > 1:
        raise ParameterError(
            f"{str(path)!r} needs {len(parts)} submissions, and a code is good for one; split the "
            "file, or ask for more codes"
        )
    receipt = Receipt.of(path, server.address, content, len(parts))
    for k in range(len(receipt.answers), len(parts)):
        receipt.answers.append(server.post(bytes.fromhex(receipt.ids[k]) + parts[k], code))
        receipt.save(path)
        done(k + 1)
    return receipt
