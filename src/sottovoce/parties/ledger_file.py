"""The lines of a budget ledger, as `budget` describes them: read, checked and added."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from ..checks import printable
from ..errors import FileError, GuaranteeError
from .accounts import Account, Charge

FIRST = b"sottovoce budget ledger v1\n"
_DIGITS = 64
_SALT_BYTES = 16
_KINDS = {
    "budget": {"budget", "by"},
    "charge": {"study", "session", "epsilon"},
    "receipt": {"study", "session", "receipt"},
    "file": {"salt", "digest"},
}


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
        if first + b"\n" != FIRST:
            raise self._refused("it does not begin like one")
        if lines.pop():
            raise self._refused(
                f"line {len(lines) + 2} is incomplete: a run ended while writing it, before it "
                "sent anything. Delete that line, and only that"
            )
        self.checksum = hashlib.sha256(FIRST).digest()
        for number, line in enumerate(lines, 2):
            self._read(line, number)

    def _read(self, line: bytes, number: int) -> None:
        word, _, text = line.partition(b" ")
        expected = self._next_checksum(text)
        if word != expected.hex().encode():
            raise self._refused(
                f"line {number} does not fit its checksum: something was changed or removed. "
                "Restore the file from a backup that has all runs since; starting a new ledger "
                "would forget what was spent"
            )
        try:
            self._apply(json.loads(text))
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise self._refused(f"line {number} has a form that this version cannot read") from (
                error
            )
        self.checksum = expected

    def _next_checksum(self, text: bytes) -> bytes:
        return hashlib.sha256(self.checksum + text).digest()

    def _apply(self, entry: Mapping[str, Any]) -> None:
        kind, data = entry["kind"], entry["data"]
        if entry.keys() != {"kind", "data", "date", *_KINDS[kind]}:
            raise ValueError(f"unknown entries in {kind!r}")
        account = self.accounts.get(data, Account(data, Fraction(0)))
        charges = account.charges
        budget = Fraction(entry["budget"]) if kind == "budget" else account.budget
        if kind == "charge":
            who = entry["study"], entry["session"]
            charges += (Charge(*who, Fraction(entry["epsilon"]), entry["date"]),)
        if kind == "receipt":
            charges = tuple(
                Charge(one.study, one.session, one.epsilon, one.date, entry["receipt"])
                if one.session == entry["session"]
                else one
                for one in charges
            )
        if kind == "file":
            self.files.append((data, entry["salt"], entry["digest"]))
        self.accounts[data] = Account(data, budget, charges)

    def check_content(self, data: str, content: bytes) -> bool:
        """Whether a file is known as this data set; refused where it is known as another one."""
        known = {name for name, salt, digest in self.files if _salted(salt, content) == digest}
        if content and known - {data}:
            other = printable(min(known - {data}))
            raise GuaranteeError(
                f"the same file was charged as the data set {other!r} before, and is now called "
                f"{printable(data)!r}; its people have one budget. Nothing was sent. Name the data "
                f"set with --dataset {other}"
            )
        return data in known

    def add(self, kind: str, data: str, **about: str) -> None:
        """Append an entry; on disk before this returns."""
        # The day is enough to recognise a run, and does not say when anyone was there.
        entry = {"kind": kind, "data": data, "date": f"{datetime.now(UTC):%Y-%m-%d}", **about}
        text = json.dumps(entry, sort_keys=True).encode()
        start = b""
        if not self.checksum:
            start, self.checksum = FIRST, hashlib.sha256(FIRST).digest()
        self.checksum = self._next_checksum(text)
        self.stream.seek(0, os.SEEK_END)
        self.stream.write(start + self.checksum.hex().encode() + b" " + text + b"\n")
        self.stream.flush()
        os.fsync(self.stream.fileno())
        if start:
            _sync_folder(self.path.parent)
        self._apply(entry)

    def add_file(self, data: str, content: bytes) -> None:
        """Remember a data set's file by a salted digest."""
        salt = os.urandom(_SALT_BYTES).hex()
        self.add("file", data, salt=salt, digest=_salted(salt, content))

    def _refused(self, reason: str) -> FileError:
        return FileError(f"{str(self.path)!r} cannot be used as a budget ledger: {reason}")


def _salted(salt: str, content: bytes) -> str:
    return hmac.new(bytes.fromhex(salt), content, hashlib.sha256).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make sure that a new file's name is on disk, too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
