"""The sessions that a key has taken part in.

A party takes part in a session once. Playing it again after a crash would draw new coins under the
same name, or open a second sum with the coins of others; so a session is noted in a file before
anything is sent, and refused when it comes back.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ..errors import FileError, TransportError


class Sessions:
    """The sessions that a key has taken part in, in a file beside it.

    Parameters
    ----------
    path : path
        One session per line; created where it is not there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def note(self, session: bytes) -> None:
        """Note a session, on disk before this returns.

        Raises
        ------
        TransportError
            Where it is noted already.
        """
        try:
            with self._path.open("a+b") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX)
                stream.seek(0)
                if session.hex().encode() in stream.read().split(b"\n"):
                    raise TransportError(
                        "this key has taken part in this session already; a second run needs a "
                        "new session, in which everyone draws new coins, and counts as a round "
                        "of its own"
                    )
                stream.write(session.hex().encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except TransportError:
            raise
        except OSError as error:
            raise FileError(f"cannot note the session in {str(self._path)!r}: {error}") from error
