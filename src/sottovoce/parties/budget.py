"""A party's budget ledger: what its data sets have spent, across runs and studies.

Every release about the same people adds to what can be learned about them, whoever asks and in
whichever study. So the budget belongs to a **data set**, and its owner keeps one private file with
a line for every charge. A charge is on disk before the party sends anything that depends on its
data, and it stays there however the run ends. Amounts are exact fractions.

::

    sottovoce budget ledger v1
    9f86d081… {"budget": "1/2", "data": "clinic", "date": "2026-03-01", "kind": "budget", …}
    1b4f0e98… {"data": "clinic", "epsilon": "1/10", "kind": "charge", "session": "…", …}
    fd61a03a… {"data": "clinic", "kind": "receipt", "session": "…", …}
    60303ae2… {"data": "clinic", "digest": "…", "kind": "file", "salt": "…", …}

Files are recognised by a salted digest: one that was charged as one data set is refused as another,
so that a study which calls the party by another name does not give its people a second budget.

The word before each entry is a SHA-256 checksum of that entry and all before it: a ledger in which
something was changed, removed in between or cut off in the middle of a line is refused; an older
copy of the whole file is not recognised. A lock makes processes that charge at the same time wait
for each other.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from ..checks import printable, rounded_up
from ..errors import FileError, GuaranteeError, ParameterError
from ..files import state_path, sync_folder

_MOST_NAME = 200
_FIRST = b"sottovoce budget ledger v1\n"
_SALT_BYTES = 16
_KINDS = {
    "budget": {"budget", "by"},
    "charge": {"study", "session", "epsilon"},
    "receipt": {"study", "session", "receipt"},
    "file": {"salt", "digest"},
}


@dataclass(frozen=True)
class Charge:
    """One run that spent from a data set's budget; study, session, receipt in hexadecimal."""

    study: str
    session: str
    epsilon: Fraction
    date: str  # the day, in UTC
    receipt: str = ""  # signed by the curator; empty where none came

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "study": self.study,
            "session": self.session,
            "epsilon": float(self.epsilon),
            "exact": str(self.epsilon),
            "date": self.date,
            "receipt": self.receipt or None,
        }


@dataclass(frozen=True)
class Account:
    """One data set: its name, all that may be spent, and what was charged to it in order."""

    data: str
    budget: Fraction
    charges: tuple[Charge, ...] = ()

    @property
    def spent(self) -> Fraction:
        """The sum of all charges: ε adds up over releases about the same people."""
        return sum((charge.epsilon for charge in self.charges), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent; 0 where the budget was lowered below what is spent."""
        return max(self.budget - self.spent, Fraction(0))

    def of(self, session: bytes) -> Charge | None:
        """The charge of a session, if there is one."""
        return next((one for one in self.charges if one.session == session.hex()), None)

    def check(self, epsilon: Fraction) -> None:
        """Refuse to spend more than is left."""
        if epsilon > self.left:
            raise GuaranteeError(
                f"the run would spend ε = {shown(epsilon)} of the data set "
                f"{printable(self.data)!r}, and {shown(self.left, down=True)} of its budget of "
                f"{shown(self.budget)} is left ({shown(self.spent)} was spent before); nothing was "
                "sent. `sottovoce parties budget` lists the runs"
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "data": self.data,
            "budget": float(self.budget),
            "spent": float(self.spent),
            "left": float(self.left),
            "charges": [charge.as_dict() for charge in self.charges],
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
        if first + b"\n" != _FIRST:
            raise self._refused("it does not begin like one")
        if lines.pop():
            raise self._refused(
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
                replace(one, receipt=entry["receipt"]) if one.session == entry["session"] else one
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
        self.add("file", data, salt=salt, digest=_salted(salt, content))

    def _refused(self, reason: str) -> FileError:
        return FileError(f"{str(self.path)!r} cannot be used as a budget ledger: {reason}")


class Ledger:
    """The budgets of a party's data sets, in one private file, made with the first entry.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "budgets")
    >>> tenth = Fraction(1, 10)
    >>> ledger.charge("clinic", tenth, study=b"s", session=b"1", budget=3 * tenth).left
    Fraction(1, 5)
    >>> ledger.charge("clinic", tenth, study=b"s", session=b"1", budget=3 * tenth).left
    Fraction(1, 5)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def accounts(self) -> tuple[Account, ...]:
        """All data sets, in the order of their first use."""
        if not self.path.exists():
            return ()
        with self._locked(write=False) as book:
            return tuple(book.accounts.values())

    def check(
        self, data: str, epsilon: Fraction, *, budget: Fraction, content: bytes = b""
    ) -> Account:
        """Refuse, without writing anything, what `charge` would refuse."""
        account = Account(_name(data), budget)
        if self.path.exists():
            with self._locked(write=False) as book:
                book.check_content(data, content)
                account = book.accounts.get(data, account)
        account.check(_amount(epsilon, "epsilon"))
        return account

    def charge(
        self,
        data: str,
        epsilon: Fraction,
        *,
        study: bytes,
        session: bytes,
        budget: Fraction,
        content: bytes = b"",
    ) -> Account:
        """Spend what a run costs from a data set's budget; on disk before this returns.

        A session that was charged already is not charged again: it is the same run, continued.
        `budget` is all that may be spent, where the data set has none yet; `content` the SHA-256 of
        the file with the data. GuaranteeError, and nothing is written, where less is left or the
        file is another data set's.
        """
        _amount(epsilon, "epsilon"), _amount(budget, "budget")
        with self._locked(write=True) as book:
            account = book.accounts.get(_name(data))
            before = None if account is None else account.of(session)
            if account is not None and before is not None:
                if (before.study, before.epsilon) != (study.hex(), epsilon):
                    raise GuaranteeError(
                        f"the session {session.hex()[:16]} was charged with another study or "
                        "amount; a run cannot change what it costs"
                    )
                return account
            known = book.check_content(data, content)
            (account or Account(data, budget)).check(epsilon)
            if account is None:
                book.add("budget", data, budget=str(budget), by=study.hex())
            if content and not known:
                book.add_file(data, content)
            about = {"study": study.hex(), "session": session.hex(), "epsilon": str(epsilon)}
            book.add("charge", data, **about)
            return book.accounts[data]

    def set_budget(self, data: str, budget: Fraction) -> Account:
        """The owner's decision how much may be spent in all; past charges stay."""
        with self._locked(write=True) as book:
            book.add("budget", _name(data), budget=str(_amount(budget, "budget")), by="owner")
            return book.accounts[data]

    def keep_receipt(self, data: str, *, study: bytes, session: bytes, receipt: bytes) -> None:
        """Keep a receipt, whose signature the caller has checked, beside its charge."""
        with self._locked(write=True) as book:
            account = book.accounts.get(_name(data))
            charge = None if account is None else account.of(session)
            if charge is None or charge.study != study.hex():
                raise GuaranteeError(
                    f"a receipt came for the session {session.hex()[:16]}, which was not charged "
                    f"to the data set {printable(data)!r}; refused"
                )
            if charge.receipt == receipt.hex():
                return
            if charge.receipt:
                raise GuaranteeError(
                    f"a second, different receipt came for the session {session.hex()[:16]}; the "
                    "curator signed two results of one run. Refused; ask the curator"
                )
            about = {"study": study.hex(), "session": session.hex(), "receipt": receipt.hex()}
            book.add("receipt", data, **about)

    @contextmanager
    def _locked(self, *, write: bool) -> Iterator[Book]:
        try:
            if write:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = (os.O_RDWR | os.O_CREAT) if write else os.O_RDONLY
            handle = os.open(self.path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "r+b" if write else "rb") as stream:
                if os.fstat(handle).st_mode & 0o077:
                    raise FileError(
                        f"the budget ledger {str(self.path)!r} can be read or written by others; "
                        "it says which studies a data set is in. chmod 600 it"
                    )
                fcntl.flock(stream, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
                yield Book(self.path, stream)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(
                f"cannot use the budget ledger {str(self.path)!r}: {error.strerror or error}"
            ) from error


def default_path() -> Path:
    """Where the ledger is: as the environment says, else among this user's private files."""
    no_home = "for a budget ledger; choose a file with --ledger"
    return state_path("SOTTOVOCE_BUDGETS", "budgets", no_home)


def _name(data: str) -> str:
    if not isinstance(data, str) or not 0 < len(data) <= _MOST_NAME:
        raise ParameterError(
            f"a data set is named {data!r}; a name has 1 to {_MOST_NAME} characters"
        )
    return data


def _amount(epsilon: Fraction, what: str) -> Fraction:
    if not isinstance(epsilon, Fraction) or epsilon <= 0:
        raise ParameterError(f"{what} is {epsilon!r}; it must be a fraction above 0")
    return epsilon


def shown(epsilon: Fraction, *, down: bool = False) -> str:
    """Epsilon in six digits: what is spent is rounded up, what is left is rounded down."""
    if down:
        text = rounded_up(float(-epsilon), 6)
        return text.removeprefix("-") if epsilon else "0"
    return rounded_up(float(epsilon), 6)


def _salted(salt: str, content: bytes) -> str:
    return hmac.new(bytes.fromhex(salt), content, hashlib.sha256).hexdigest()
