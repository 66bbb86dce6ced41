"""Files that are either whole or not there."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import FileError


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file that appears under its name only when everything is on disk.

    The bytes go to a temporary file in the same folder, which replaces `path` at the end; after
    an error (a full disk, a bug, Ctrl-C) `path` is as it was and the temporary file is gone.
    """
    target = target_of(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise FileError(f"cannot write {os.fspath(path)!r}: {_reason(error)}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, FileError):
            raise FileError(
                f"could not write {os.fspath(path)!r}: {_reason(error)}; nothing was left behind"
            ) from error
        raise


def target_of(path: str | os.PathLike[str]) -> Path:
    """Where what is written to `path` goes: a link's target, never the link itself.

    What exists and is no plain file is refused: a new file under the name of a device, a pipe or a
    socket would take its place.
    """
    target = Path(os.path.realpath(path))
    try:
        kind = target.lstat().st_mode
    except OSError:
        return target  # not there; if it cannot be made, writing says why
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "not a plain file"
        raise FileError(f"{os.fspath(path)!r} is {what}; name a file to write to")
    return target


def check_output(path: Path, *inputs: Path, force: bool, ends: tuple[str, ...] = ()) -> None:
    """Refuse an output that cannot be written, is an input, or exists, before any work.

    With `ends`, also a name that does not say one of these forms.
    """
    target_of(path)
    if not path.parent.is_dir():
        raise FileError(
            f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}; make it first"
        )
    for given in inputs:
        if _same(path, given):
            raise FileError(
                f"{str(path)!r} is one of the inputs and would be overwritten; choose another name"
            )
    if ends and path.suffix.lower() not in ends:
        raise FileError(
            f"{str(path)!r} does not say what it is to hold; its name must end in "
            f"{' or '.join(ends)}"
        )
    if path.exists() and not force:
        raise FileError(f"{str(path)!r} exists already; choose another name, or add --force")


def _same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, or a FileError that says why not."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {os.fspath(path)!r}: {_reason(error)}") from error


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file opened for reading, or a FileError that says why not."""
    try:
        stream = Path(path).open("rb")  # noqa: SIM115, closed below
    except OSError as error:
        raise FileError(f"cannot read {os.fspath(path)!r}: {_reason(error)}") from error
    with stream:
        yield stream


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _umask() -> int:
    # mkstemp makes the file private to its owner; give it the mode that open() would have given.
    current = os.umask(0)
    os.umask(current)
    return current
