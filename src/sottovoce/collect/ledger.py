"""Receipts: nobody's answer is randomised twice by accident.

Fresh noise on the same answer is a second release, and two releases say more than one. So every
run leaves a folder with a receipt and the reports themselves (they are randomised, so keeping
them harms nobody), and the same run again gives the same reports::

    receipts/<question's digest>-<input's digest>/
        receipt.json      what was randomised, from where, and every release
        reports-1.svr     the reports of the latest release

The order of writing makes every crash harmless. Reports are drawn into this folder, then the
receipt names them, and only then do they appear as the output: without a receipt nothing has left
the folder, and with one the next run finds the reports. A lock on the folder makes a second run
at the same time wait for the first.

A receipt holds a digest of the true answers, from which those of few people could be guessed, so
the folder and the receipts are for their owner's eyes only.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..files import opened, read_file, target_of, whole_file
from .progress import Done, Progress, silent

FORMAT = 1
RECORDS = "records"  # stands for the column where whole records were randomised
_NAME = "receipt.json"
_DIGITS = 16  # of each digest in a folder's name; the receipt holds all of them
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Release:
    """One draw of noise: when, how many reports, and the digest of each form they were given in.

    `kept` names the file of the reports; it is empty for all but the latest release. `choices` says
    where everyone's level and rate came from, and `counts` has [people, reports] of each of them.
    """

    time: str
    reports: int
    kept: str
    sha256: dict[str, str]
    choices: dict[str, str] = field(default_factory=dict)
    counts: dict[str, dict[str, list[int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Receipt:
    """What was randomised under which question, from which files, and every release of it.

    `columns` are those of the attributes where whole records were randomised.
    """

    study: str
    question: str
    mechanism: str
    mechanism_digest: str
    input_digest: str
    column: str
    inputs: tuple[str, ...]
    rows: int
    releases: tuple[Release, ...] = ()
    guarantee: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    format: int = FORMAT

    @property
    def latest(self) -> Release:
        """The last release."""
        return self.releases[-1]

    @property
    def released(self) -> set[str]:
        """The columns of the file that were randomised."""
        return set(self.columns) or {self.column}

    @classmethod
    def read(cls, path: Path) -> Receipt | None:
        """The receipt in a file, None where there is none."""
        if not path.exists():
            return None
        try:
            about = json.loads(read_file(path))
            if about["format"] != FORMAT:
                raise ValueError(f"format {about['format']}, this release reads {FORMAT}")
            about["inputs"] = tuple(about["inputs"])
            about["columns"] = tuple(about.get("columns", ()))
            about["releases"] = tuple(Release(**release) for release in about["releases"])
            receipt = cls(**about)
            if not receipt.releases:
                raise ValueError("no releases")
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(
                f"the receipt {str(path)!r} cannot be read ({error}); remove its folder only if "
                "you are sure that the reports were never given to anyone"
            ) from error
        return receipt


def folder_of(given: Path | None) -> Path:
    """Where receipts are kept: as given, else as the environment says."""
    if given is not None:
        return given
    if os.environ.get("SOTTOVOCE_RECEIPTS"):
        return Path(os.environ["SOTTOVOCE_RECEIPTS"])
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise FileError(
            "this user has no home folder to keep receipts in; choose a folder with --receipts"
        ) from error
    return Path(state) / "sottovoce" / "receipts"


class Drawer:
    """The folder of one column under one question, locked while it is used."""

    def __init__(self, root: Path, mechanism_digest: str, input_digest: str, column: str) -> None:
        self._root = root
        self._question = mechanism_digest[:_DIGITS]
        self._identity = (mechanism_digest, input_digest, column)
        self.folder = root / f"{self._question}-{self._content(column)}"

    def _content(self, column: str) -> str:
        """The part of a folder's name that says what was randomised."""
        both = f"{self._identity[1]}\n{column}".encode()
        return hashlib.sha256(both).hexdigest()[:_DIGITS]

    @contextmanager
    def open(self) -> Iterator[Drawer]:
        """Make the folder where needed, and keep other runs out until the end."""
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = self._locked()
        except OSError as error:
            raise FileError(
                f"cannot keep receipts in {str(self._root)!r}: {error.strerror}; without them the "
                "same answers could be randomised twice; choose a folder with --receipts"
            ) from error
        try:
            self._tidy()
            yield self
        finally:
            with suppress(OSError):  # it stays unless it is empty
                self.folder.rmdir()
            os.close(handle)

    def _locked(self) -> int:
        while True:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            # A run that failed removes its empty folder; then this lock is on nothing.
            if self.folder.exists() and os.path.samestat(os.fstat(handle), self.folder.stat()):
                return handle
            os.close(handle)

    @property
    def receipt_path(self) -> Path:
        """Where the receipt is."""
        return self.folder / _NAME

    def receipt(self) -> Receipt | None:
        """What was done before with the same content."""
        found = Receipt.read(self.receipt_path)
        if found is not None:
            identity = (found.mechanism_digest, found.input_digest, found.column)
            if identity != self._identity:
                raise FileError(
                    f"the receipt {str(self.receipt_path)!r} speaks of something else than its "
                    "folder's name says; it was altered"
                )
        return found

    def others(self, paths: tuple[str, ...]) -> list[Receipt]:
        """Receipts of other content under the same question, from one of these files."""
        column = self._identity[2]
        return [
            found
            for found in self._read(lambda name: name.startswith(f"{self._question}-"))
            if found.column == column and set(found.inputs) & set(paths)
        ]

    def elsewhere(self, columns: Iterable[str]) -> list[Receipt]:
        """Receipts of some of these columns, of the same content, under another question or study.

        A column may have been randomised on its own, or as an attribute of records.
        """
        wanted = set(columns)
        ends = tuple(f"-{self._content(column)}" for column in (*wanted, RECORDS))
        found = self._read(lambda name: name.endswith(ends))
        return [receipt for receipt in found if receipt.released & wanted]

    def _read(self, chosen: Callable[[str], bool]) -> list[Receipt]:
        folders = sorted(path for path in self._root.iterdir() if chosen(path.name))
        found = (Receipt.read(folder / _NAME) for folder in folders if folder != self.folder)
        return [receipt for receipt in found if receipt is not None]

    def kept(self, number: int, form: str) -> Path:
        """Where the reports of a release are kept."""
        return self.folder / f"reports-{number}.{form}"

    def write(self, receipt: Receipt) -> None:
        """Put the receipt in place, on the disk, before anything that relies on it."""
        text = json.dumps(asdict(receipt), indent=2, ensure_ascii=False)
        before = os.umask(0o077)
        try:
            with whole_file(self.receipt_path) as stream:
                stream.write(text.encode())
        finally:
            os.umask(before)
        for folder in (self.folder, self._root):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        self._tidy()

    def latest(self, receipt: Receipt, progress: Progress = silent) -> Path:
        """The reports of the latest release, checked against the receipt."""
        path = self.folder / receipt.latest.kept
        there = path.is_file()
        with progress("checking", path.stat().st_size if there else 0) as done:
            same = there and sha256(path, done) == receipt.latest.sha256[form_of_kept(path)]
        if not same:
            state = "were altered" if there else "are gone"
            raise FileError(
                f"these answers were randomised on {receipt.latest.time}, but the reports kept in "
                f"{str(path)!r} {state}, so they cannot be given again; use the reports of that "
                "day, or draw fresh noise with --again, which is one more release"
            )
        return path

    def _tidy(self) -> None:
        """Remove what the receipt does not name: it never left the folder, or is superseded."""
        receipt = Receipt.read(self.receipt_path)
        named = {_NAME} if receipt is None else {_NAME, receipt.latest.kept}
        for path in self.folder.iterdir():
            if path.name not in named:
                path.unlink()


def form_of_kept(path: Path) -> str:
    """The form of kept reports, from their name."""
    return path.suffix.removeprefix(".")


def with_release(receipt: Receipt, release: Release) -> Receipt:
    """The receipt with one more release, whose reports are now the ones that are kept."""
    superseded = tuple(replace(old, kept="") for old in receipt.releases)
    return replace(receipt, releases=(*superseded, release))


def sha256(path: Path, done: Done = lambda n: None) -> str:
    """Digest of a file's bytes."""
    digest = hashlib.sha256()
    read = 0
    with opened(path) as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
            read += len(block)
            done(read)
    return digest.hexdigest()


def place(kept: Path, out: Path) -> None:
    """Let kept reports appear as the output, whole: the same file where that is possible."""
    target = target_of(out)
    temporary = target.parent / f".{target.name}.{secrets.token_hex(8)}"
    try:
        os.link(kept, temporary)
    except OSError:  # another file system, or one without links
        with whole_file(target) as copy, opened(kept) as source:
            shutil.copyfileobj(source, copy, _BLOCK_BYTES)
        return
    try:
        temporary.replace(target)
    except OSError as error:
        raise FileError(f"cannot write {str(out)!r}: {error.strerror}") from error
    finally:
        # Still there also after success where both names were one file already.
        temporary.unlink(missing_ok=True)
