"""The release ledger: nobody's answer is randomised twice by accident.

Fresh noise on the same answer is a second release, and two releases reveal more than one. So every
run leaves a folder with a receipt and the reports themselves (they are randomised, so keeping
them harms nobody), and the same answers again give the same reports::

    receipts/
        key                              32 random bytes
        <question's digest>-<random>/
            receipt.json                 what was randomised, from where, and every release
            reports-1.svr                the reports of the latest release

Answers are recognised by keyed digests (`sottovoce.collect.fingerprint`). No name in the folder
depends on an answer, and the folder, the key and the receipts can be read by their owner only.

The order of writing makes every crash harmless. An entry begins with a receipt without releases.
Reports are drawn into its folder, then the receipt names them, and only then do they appear as the
output: what no receipt names has never left the folder, and what one names is found by the next
run. A lock on the entry makes a second run with answers of the same people wait for the first; a
lock on the whole ledger is held only to find or begin an entry.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FileError
from ..files import opened, sync_folder, whole_file
from .progress import Done, Progress, silent
from .receipt_folder import make_private, read_key
from .receipts import Receipt

if TYPE_CHECKING:
    from .fingerprint import Content

_NAME = "receipt.json"
_DIGITS = 16  # of the question's digest in a folder's name; the receipt holds all of them
_ENTRY = re.compile(rf"[0-9a-f]{{{_DIGITS}}}-[0-9a-f]{{16}}")
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Subject:
    """What is to be released: a question, the answers, and where they are."""

    study: str
    question: str
    mechanism: str
    mechanism_digest: str
    column: str
    path: str
    content: Content

    def blank(self) -> Receipt:
        """A receipt without releases."""
        return Receipt(
            study=self.study,
            question=self.question,
            mechanism=self.mechanism,
            mechanism_digest=self.mechanism_digest,
            answers=self.content.answers,
            column=self.column,
            inputs=(self.path,),
            rows=self.content.rows,
            columns=dict(self.content.columns),
            prefixes=dict(self.content.prefixes),
            certain=self.content.certain,
        )

    def is_of(self, receipt: Receipt) -> bool:
        """Whether a receipt is of the same answers of the same people to the same question."""
        same = (receipt.mechanism_digest, receipt.answers) == (
            self.mechanism_digest,
            self.content.answers,
        )
        return same and (self.content.certain or self.path in receipt.inputs)

    def may_share_people(self, receipt: Receipt) -> bool:
        """Whether some of these people may be in a receipt of other answers to the same question.

        Those of the same file and column, of answers that begin with the same people, and of equal
        answers that may be equal by chance.
        """
        same_column = self.path in receipt.inputs and receipt.column == self.column
        begins = receipt.shared_rows(self.content.prefixes) > 0
        return same_column or begins or receipt.answers == self.content.answers


class Ledger:
    """The folder of all receipts, made private, with its key."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _lock(root):
                open_before = make_private(root)
                self.key, key_note = read_key(root, begun=bool(self.folders()))
                self.notes = [note for note in (open_before, key_note) if note is not None]
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"cannot keep receipts in {str(root)!r}: {error.strerror}; without them the "
                "same answers could be randomised twice; choose a folder with --receipts"
            ) from error

    def lengths(self, mechanism_digest: str) -> set[int]:
        """How many people earlier releases of a question had."""
        return {receipt.rows for _, receipt in self.of_question(mechanism_digest)}

    @contextmanager
    def entry(self, subject: Subject) -> Iterator[Entry]:
        """The entry of these answers, begun where needed; other runs are kept out until the end."""
        with ExitStack() as lock:
            entry = Entry(self, self._claim(subject, lock), subject)
            try:
                entry.tidy()
                yield entry
            finally:
                with suppress(OSError):  # a receipt that cannot be read stays
                    if not entry.receipt().releases:
                        shutil.rmtree(entry.folder)  # nothing of it has left the folder

    def _claim(self, subject: Subject, lock: ExitStack) -> Path:
        """The entry, locked, while no other run is at work on answers of the same people.

        Two versions of a file that are randomised at the same time would not see each other's
        receipt. So entries of people who may be the same must be free, too, before one begins.
        """
        while True:
            with _lock(self.root):
                self._remove_abandoned()
                known = self.of_question(subject.mechanism_digest, unreleased=True)
                own = next((folder for folder, receipt in known if subject.is_of(receipt)), None)
                alike = (f for f, r in known if f != own and subject.may_share_people(r))
                busy = next(filter(_is_busy, alike), None)
                if busy is None:
                    own = busy = own or self._begin(subject)
                    with suppress(FileNotFoundError, BlockingIOError), ExitStack() as mine:
                        handle = mine.enter_context(_lock(own, fcntl.LOCK_EX | fcntl.LOCK_NB))
                        # A run that failed removes its entry; then this lock is on nothing.
                        if (own / _NAME).exists() and os.path.samestat(
                            os.fstat(handle), own.stat()
                        ):
                            lock.enter_context(mine.pop_all())
                            return own
            # Waiting outside the ledger's lock: other answers can be randomised meanwhile.
            with suppress(FileNotFoundError), _lock(busy):
                pass

    def _begin(self, subject: Subject) -> Path:
        name = f"{subject.mechanism_digest[:_DIGITS]}-{secrets.token_hex(8)}"
        folder = self.root / name
        folder.mkdir(mode=0o700)
        with whole_file(folder / _NAME, private=True) as stream:
            stream.write(subject.blank().to_json())
        return folder

    def _remove_abandoned(self) -> None:
        """Remove entries of killed runs: nothing was released, and nobody holds their lock."""
        for folder in self.folders():
            with suppress(OSError):  # in use, or gone by now
                if not _is_released(folder):
                    with _lock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                        if not _is_released(folder):
                            shutil.rmtree(folder)

    def folders(self, start: str = "") -> list[Path]:
        """The entries whose names begin so."""
        return sorted(
            path
            for path in self.root.iterdir()
            if path.name.startswith(start) and _ENTRY.fullmatch(path.name) and path.is_dir()
        )

    def of_question(
        self, mechanism_digest: str, *, unreleased: bool = False
    ) -> list[tuple[Path, Receipt]]:
        """The entries of a question."""
        folders = self.folders(f"{mechanism_digest[:_DIGITS]}-")
        pairs = ((folder, Receipt.read(folder / _NAME)) for folder in folders)
        return [
            (folder, receipt)
            for folder, receipt in pairs
            if receipt is not None
            and receipt.mechanism_digest == mechanism_digest
            and (unreleased or receipt.releases)
        ]


@dataclass(frozen=True)
class Entry:
    """The folder of some answers to one question, locked while it is used."""

    ledger: Ledger
    folder: Path
    subject: Subject

    @property
    def path(self) -> Path:
        """Where the receipt is; nothing in it depends on an answer."""
        return self.folder / _NAME

    def receipt(self) -> Receipt:
        """What was done before with these answers, as it is on disk."""
        receipt = Receipt.read(self.path)
        if receipt is None or not self.subject.is_of(receipt):
            raise FileError(
                f"the receipt {str(self.path)!r} describes other answers than it did a moment ago; "
                "it was altered"
            )
        return receipt

    def others(self) -> list[Receipt]:
        """Receipts under the same question of people who may be among these."""
        subject = self.subject
        return [
            receipt
            for folder, receipt in self.ledger.of_question(subject.mechanism_digest)
            if folder != self.folder and subject.may_share_people(receipt)
        ]

    def elsewhere(self) -> list[Receipt]:
        """Receipts under other questions and studies of some of the same columns.

        A column may have been randomised on its own, or as an attribute of records; it is known by
        its answers, or by its file and name.
        """
        receipts, subject = [], self.subject
        digests = set(subject.content.columns.values()) if subject.content.prefixes else set()
        for folder in self.ledger.folders():
            if folder.name.startswith(f"{subject.mechanism_digest[:_DIGITS]}-"):
                continue
            with suppress(FileError):  # a damaged receipt is refused where its own study is used
                receipt = Receipt.read(folder / _NAME)
                if receipt is None or not receipt.releases:
                    continue
                same_file = subject.path in receipt.inputs
                names = subject.content.columns.keys() & receipt.columns.keys()
                if (same_file and names) or digests & set(receipt.columns.values()):
                    receipts.append(receipt)
        return receipts

    def kept(self, number: int, form: str) -> Path:
        """Where the reports of a release are kept."""
        return self.folder / f"reports-{number}.{form}"

    def write(self, receipt: Receipt) -> None:
        """Put the receipt in place, on the disk, before anything that relies on it."""
        with whole_file(self.path, private=True) as stream:
            stream.write(receipt.to_json())
        sync_folder(self.folder)
        sync_folder(self.ledger.root)
        self.tidy()

    def latest(self, receipt: Receipt, progress: Progress = silent) -> Path:
        """The reports of the latest release, checked against the receipt."""
        path = self.folder / receipt.latest.kept
        there = bool(receipt.latest.kept) and path.is_file() and not path.is_symlink()
        with progress("checking", path.stat().st_size if there else 0) as done:
            same = there and sha256(path, done) == receipt.latest.sha256.get(form_of_kept(path))
        if not same:
            state = "were altered" if there else "are gone"
            raise FileError(
                f"these answers were randomised on {receipt.latest.day}, but the reports kept in "
                f"{str(path)!r} {state}, so they cannot be returned again; use the reports of that "
                "day, or draw fresh noise with --again, which is one more release"
            )
        return path

    def tidy(self) -> None:
        """Remove what the receipt does not name: it never left the folder, or is superseded."""
        receipt = self.receipt()
        named = {_NAME, *(release.kept for release in receipt.releases[-1:])}
        for path in self.folder.iterdir():
            if path.name not in named:
                path.unlink()


@contextmanager
def _lock(folder: Path, how: int = fcntl.LOCK_EX) -> Iterator[int]:
    """Hold the lock of a folder, once whoever has it lets it go."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, how)
        yield handle
    finally:
        os.close(handle)


def _is_busy(folder: Path) -> bool:
    """Whether a run is at work in it."""
    try:
        with suppress(FileNotFoundError), _lock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return False
    except BlockingIOError:
        return True
    return False  # gone by now


def _is_released(folder: Path) -> bool:
    receipt = Receipt.read(folder / _NAME)
    return receipt is not None and bool(receipt.releases)


def form_of_kept(path: Path) -> str:
    """The form of kept reports, from their name."""
    return path.suffix.removeprefix(".")


def sha256(path: str | Path, done: Done = lambda n: None) -> str:
    """Digest of a file's bytes."""
    digest = hashlib.sha256()
    read = 0
    with opened(path) as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
            read += len(block)
            done(read)
    return digest.hexdigest()


def place(kept: Path, out: Path, *, replace: bool) -> None:
    """Write kept reports to the output: a complete copy, which may be changed freely."""
    with whole_file(out, replace=replace) as copy, opened(kept) as source:
        shutil.copyfileobj(source, copy, _BLOCK_BYTES)
