"""The sessions that a key has taken part in.

A party takes part in a session once. Playing it again after a crash would draw new coins under the
same name, or open a second sum with the coins of others; so a session is noted in a file before
anything is sent, and refused when it comes back without the journal that it goes on from. How many
sessions there were about the same subject is how often coins were drawn, which a guarantee has to
state.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import BinaryIO

from ..errors import FileError, TransportError
from ..files import sync_folder


class Sessions:
    """The sessions of one key, in a file beside it: one session and its subject per line.

    The subject is what is asked and how; runs about the same subject are counted together.
    """

    def __init__(self, path: str | os.PathLike[str], subject: bytes) -> None:
        self._path, self._subject = Path(path), subject.hex().encode()

    def count(self) -> int:
        """How many sessions about this subject were noted."""
        return self._about(self._read())

    def __contains__(self, session: bytes) -> bool:
        """Whether a session was noted."""
        return any(line[0] == session.hex().encode() for line in self._read())

    def _read(self) -> list[list[bytes]]:
        try:
            with self._path.open("rb") as stream:
                return _lines(stream)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FileError(f"cannot read {str(self._path)!r}: {error}") from error

    def note(self, session: bytes, *, resumed: bool = False) -> int:
        """Note a session, on disk before this returns; how many there are about the subject.

        One that is `resumed` has its journal, so that the same messages are sent again; it may
        have been noted before, and any other may not.
        """
        try:
            with self._path.open("a+b") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX)
                stream.seek(0)
                lines = _lines(stream)
                # A line that a crash cut short was acted on by nobody; the next must not join it.
                stream.truncate(sum(len(b" ".join(line)) + 1 for line in lines))
                name = session.hex().encode()
                if any(line[0] == name for line in lines):
                    if resumed:
                        return self._about(lines)
                    raise TransportError(
                        "this key has taken part in this session already; a second run needs a "
                        "new session, in which everyone draws new coins, and counts as a round "
                        "of its own"
                    )
                stream.write(name + b" " + self._subject + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
                sync_folder(self._path.absolute().parent)
                return self._about(lines) + 1
        except TransportError:
            raise
        except OSError as error:
            raise FileError(f"cannot note the session in {str(self._path)!r}: {error}") from error

    def _about(self, lines: list[list[bytes]]) -> int:
        return sum(subject == self._subject for _, subject in lines)


def _lines(stream: BinaryIO) -> list[list[bytes]]:
    lines = [line.split(b" ") for line in stream.read().split(b"\n")[:-1]]
    if any(len(line) != 2 for line in lines):
        raise FileError(f"{stream.name!r} is not a list of sessions; it was altered")
    return lines
