"""What a process must remember to go on after a crash: an append-only, private file.

::

    record = length of the body (8 bytes) | kind (1 byte) | checksum of these 9 bytes (4 bytes)
             | body | checksum of the body (4 bytes)         little-endian, CRC-32

The first record says what the journal belongs to. Whoever writes one calls `sync` before anything
that depends on it leaves the process. A crash may leave the last record cut off; nothing depended
on it yet, and it is dropped. Any other damage is refused, and so is a journal that others can read:
it contains a party's messages to itself.

A journal that has ended keeps only what it belonged to, so that the run cannot be played again.
Checksums are against accidents; whoever can write the file can do as they like with the party's
secrets anyway.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import FileError, ParameterError, TransportError
from ..files import sync_folder, whole_file
from .batch import Role

if TYPE_CHECKING:
    from .post import Seat

_BEGIN, _END = b"B", b"E"
_HEAD = struct.Struct("<QcI")
_SUM = struct.Struct("<I")
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Record(NamedTuple):
    """Where a record's body is."""

    kind: bytes
    start: int
    size: int

    @property
    def stop(self) -> int:
        """The end of the whole record."""
        return self.start + self.size + _SUM.size


class Journal:
    """A journal, locked as long as this process has it open.

    `about` is what it belongs to, but for the session; a journal of anything else is refused. So is
    a file that is no journal, was altered, is in use, or can be read by others.
    """

    def __init__(self, path: str | os.PathLike[str], about: dict[str, Any]) -> None:
        self.path, self._about = Path(path), about
        self.session: bytes | None = None  # that can be resumed; none if new, or if it has ended
        self.records: list[Record] = []  # everything after the first record
        self._ended: bytes | None = None
        try:
            self._file = os.open(self.path, _FLAGS, 0o600)
        except OSError as error:
            raise FileError(f"cannot open the journal {str(path)!r}: {error}") from error
        try:
            self._check_private()
            self._resume(list(self._scan()))
        except BaseException:
            os.close(self._file)
            raise

    def _check_private(self) -> None:
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise FileError(f"the journal {str(self.path)!r} is not a file of yours")
        if status.st_mode & 0o077:
            raise FileError(
                f"the journal {str(self.path)!r} can be read or written by others; it contains "
                "secrets of a run. If nobody has used that, chmod 600 it and start again"
            )
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FileError(
                f"the journal {str(self.path)!r} is in use; is the same party running already?"
            ) from error

    def _scan(self) -> Iterator[Record]:
        size, at = os.fstat(self._file).st_size, 0
        while at + _HEAD.size <= size:
            raw = os.pread(self._file, _HEAD.size, at)
            length, kind, checksum = _HEAD.unpack(raw)
            if zlib.crc32(raw[:9]) != checksum:
                raise self._damage_error()
            record = Record(kind, at + _HEAD.size, length)
            if record.stop > size:
                break
            body = self.read(record)
            if _SUM.pack(zlib.crc32(body)) != os.pread(self._file, _SUM.size, record.stop - 4):
                if record.stop < size:
                    raise self._damage_error()
                break  # the size of the file reached the disk, and the last bytes did not
            yield record
            at = record.stop
        if at < size:
            os.ftruncate(self._file, at)

    def _resume(self, records: list[Record]) -> None:
        if not records:
            return
        first, *rest = records
        try:
            about: dict[str, Any] = json.loads(self.read(first)) if first.kind == _BEGIN else {}
            session = bytes.fromhex(about.pop("session"))
        except (ValueError, KeyError, TypeError) as error:
            raise self._damage_error() from error
        if rest and rest[-1].kind == _END:
            self._ended = session
            return
        different = sorted(key for key in self._about if about.get(key) != self._about[key])
        if different == ["data"]:
            raise TransportError(
                f"the journal {str(self.path)!r} is of a run that began with other data; a run "
                "goes on with the data it began with. Restore them, or remove the journal to give "
                "that run up"
            )
        if different:
            raise TransportError(
                f"the journal {str(self.path)!r} is of another run ({', '.join(different)}); "
                "finish that run with it, or remove it to give that run up"
            )
        self.session, self.records = session, rest

    def _damage_error(self) -> FileError:
        return FileError(
            f"the journal {str(self.path)!r} was altered, or is none; the run cannot be resumed "
            "from it"
        )

    def check_session(self, session: bytes) -> None:
        """Refuse to begin or resume a session that is not this journal's, or has ended."""
        if session == self._ended:
            raise TransportError(
                f"this session has ended according to {str(self.path)!r}; it is not played again"
            )
        if self.session not in (None, session):
            raise TransportError(
                f"the journal {str(self.path)!r} is of session {_short(self.session)}, and the "
                f"relay runs {_short(session)}: a new run, with new noise. To give the old run up "
                "and take part in the new one, remove the journal"
            )

    def begin(self, session: bytes) -> None:
        """Begin the journal of a session; on disk, with its name, before this returns."""
        self.check_session(session)
        os.ftruncate(self._file, 0)
        self.session, self._ended, self.records = session, None, []
        self._write(_BEGIN, self._beginning(session))
        self.sync()
        sync_folder(self.path.absolute().parent)

    def _beginning(self, session: bytes) -> bytes:
        return json.dumps({**self._about, "session": session.hex()}, sort_keys=True).encode()

    def append(self, kind: bytes, body: bytes) -> Record:
        """Add a record; it is on disk after the next `sync`."""
        record = self._write(kind, body)
        self.records.append(record)
        return record

    def _write(self, kind: bytes, body: bytes) -> Record:
        start = os.fstat(self._file).st_size
        try:
            for part in _parts(kind, body):
                view = memoryview(part)
                while view:
                    view = view[os.write(self._file, view) :]
        except OSError as error:
            os.ftruncate(self._file, start)
            raise FileError(f"cannot write the journal {str(self.path)!r}: {error}") from error
        return Record(kind, start + _HEAD.size, len(body))

    def read(self, record: Record) -> bytes:
        """A record's body."""
        return os.pread(self._file, record.size, record.start)

    def drop_after(self, count: int) -> None:
        """Forget all but the first records: what was received but not acted on."""
        if count < len(self.records):
            os.ftruncate(self._file, self.records[count].start - _HEAD.size)
            del self.records[count:]

    def sync(self) -> None:
        """Return when everything is on disk."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise FileError(f"cannot write the journal {str(self.path)!r}: {error}") from error

    def end(self) -> None:
        """The run is over: erase what was in it, and say so."""
        if self.session is None:
            return
        session, self.session, self.records = self.session, None, []
        with whole_file(self.path, private=True) as stream:  # the old content, or this, at any time
            stream.writelines((*_parts(_BEGIN, self._beginning(session)), *_parts(_END, b"")))
        os.ftruncate(self._file, 0)
        self._ended = session

    def close(self) -> None:
        """Let another process have it."""
        os.close(self._file)


class NoJournal:
    """In place of a journal where nothing is kept."""

    session: bytes | None = None
    records: Sequence[Record] = ()

    def _keep_nothing(self, *_: object) -> None:
        pass

    append = begin = check_session = close = drop_after = end = sync = _keep_nothing

    def read(self, record: Record) -> bytes:
        """Nothing was kept."""
        raise LookupError(record)


def open_journal(path: Path | None, seat: Seat, **about: Any) -> Journal | NoJournal:
    """The journal of a party or relay, where there is to be one.

    Refused in runs with people's hosts: the order in which their messages arrive is never kept, and
    their machines remember coins that a restarted one would draw anew.
    """
    if path is None:
        return NoJournal()
    if not seat.roster.count(Role.PARTY):
        raise ParameterError(
            "a journal is for runs between organisations; the order in which people's messages "
            "arrive is never kept, and coins are never drawn again for a run that has begun"
        )
    return Journal(path, {"study": seat.study.hex(), **about})


def _parts(kind: bytes, body: bytes) -> tuple[bytes, bytes, bytes]:
    head = struct.pack("<Qc", len(body), kind)
    return head + _SUM.pack(zlib.crc32(head)), body, _SUM.pack(zlib.crc32(body))


def _short(session: bytes | None) -> str:
    return (session or b"").hex()[:12]
