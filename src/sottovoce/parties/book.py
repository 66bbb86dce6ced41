"""The file of a budget ledger: a line for every entry, each with a checksum of all before it."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from ..checks import printable
from ..errors import FileError, GuaranteeError
from ..files import sync_folder
from .accounts import UNSTATED_DELTA, Account, Charge

_FIRST = b"sottovoce budget ledger v1\n"
_SALT_BYTES = 16
_KINDS = {
    "budget": {"budget", "by"},
    "charge": {"study", "session", "epsilon"},
    "receipt": {"study", "session", "receipt"},
    "file": {"salt", "digest"},
}
#: Kinds that state δ beside ε; those of earlier versions do not.
_WITH_DELTA = {"budget", "charge"}


@dataclass
class Book:
    """An open ledger: everything in it is checked on opening."""

    path: Path
    stream: BinaryIO
    accounts: dict[str, Account] = field(default_factory=dict)
    files: list[tuple[str, str, str]] = field(default_factory=list)
    checksum: bytes = b""

    def __post_init__(self) -> None:
        content = self.stream.read()
        if not content:
            return  # new: the first line is written together with the first entry
        first, *lines = content.split(b"\n")
        if first + b"\n" != _FIRST:
            raise self._refusal("it does not begin like one")
        if lines.pop():
            raise self._refusal(
                f"line {len(lines) + 2} is incomplete: a run ended while writing it, before it "
                "sent anything. Delete that line, and only that"
            )
        self.checksum = hashlib.sha256(_FIRST).digest()
        for number, line in enumerate(lines, 2):
            self._read(line, number)

    def _read(self, line: bytes, number: int) -> None:
        word, _, text = line.partition(b" ")
        expected = self._next_checksum(text)
        if word != expected.hex().encode():
            raise self._refusal(
                f"line {number} does not fit its checksum: something was changed or removed. "
                "Restore the file from a backup that has all runs since; starting a new ledger "
                "would forget what was spent"
            )
        try:
            self._apply(json.loads(text))
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise self._refusal(f"line {number} has a form that this version cannot read") from (
                error
            )
        self.checksum = expected

    def _next_checksum(self, text: bytes) -> bytes:
        return hashlib.sha256(self.checksum + text).digest()

    def _apply(self, entry: Mapping[str, Any]) -> None:
        kind, data = entry["kind"], entry["data"]
        stated = {"delta"} & entry.keys() if kind in _WITH_DELTA else set()
        if entry.keys() != {"kind", "data", "date", *_KINDS[kind], *stated}:
            raise ValueError(f"unknown entries in {kind!r}")
        account = self.accounts.get(data, Account(data, Fraction(0)))
        charges = account.charges
        budget, limit = account.budget, account.delta_limit
        if kind == "budget":
            budget, limit = Fraction(entry["budget"]), Fraction(entry.get("delta", limit))
        if kind == "charge":
            who, epsilon = (entry["study"], entry["session"]), Fraction(entry["epsilon"])
            delta = Fraction(entry.get("delta", UNSTATED_DELTA))
            charges += (Charge(*who, epsilon, entry["date"], delta=delta),)
        if kind == "receipt":
            charges = tuple(
                replace(one, receipt=entry["receipt"]) if one.session == entry["session"] else one
                for one in charges
            )
        if kind == "file":
            self.files.append((data, entry["salt"], entry["digest"]))
        self.accounts[data] = Account(data, budget, charges, limit)

    def check_content(self, data: str, content: bytes) -> bool:
        """Whether a file is known as this data set; refused where it is known as another one."""
        known = {
            name for name, salt, digest in self.files if _salted_digest(salt, content) == digest
        }
        if content and known - {data}:
            other = printable(min(known - {data}))
            raise GuaranteeError(
                f"the same file was charged as the data set {other!r} before, and is now called "
                f"{printable(data)!r}; its people have one budget. Nothing was sent. Name the data "
                f"set with --dataset {other}"
            )
        return data in known

    def add(self, kind: str, data: str, **about: str) -> None:
        """Append an entry; on disk before this returns, and not at all where it raises."""
        # The day is enough to recognise a run, and does not say when anyone was there.
        entry = {"kind": kind, "data": data, "date": f"{datetime.now(UTC):%Y-%m-%d}", **about}
        text = json.dumps(entry, sort_keys=True).encode()
        start = b""
        if not self.checksum:
            start, self.checksum = _FIRST, hashlib.sha256(_FIRST).digest()
        self.checksum = self._next_checksum(text)
        line = memoryview(start + self.checksum.hex().encode() + b" " + text + b"\n")
        handle = self.stream.fileno()  # without a buffer, which would be written at the end as well
        end = os.lseek(handle, 0, os.SEEK_END)
        try:
            while line:
                line = line[os.write(handle, line) :]
            os.fsync(handle)
        except OSError:  # a full disk
            os.ftruncate(handle, end)
            raise
        if start:
            sync_folder(self.path.parent)
        self._apply(entry)

    def add_file(self, data: str, content: bytes) -> None:
        """Remember a data set's file by a salted digest."""
        salt = os.urandom(_SALT_BYTES).hex()
        self.add("file", data, salt=salt, digest=_salted_digest(salt, content))

    def _refusal(self, reason: str) -> FileError:
        return FileError(f"{str(self.path)!r} cannot be used as a budget ledger: {reason}")


def _salted_digest(salt: str, content: bytes) -> str:
    return hmac.new(bytes.fromhex(salt), content, hashlib.sha256).hexdigest()
