"""Files that are written completely or not at all, and which files a name stands for."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import unquote

from .errors import FileError, ParameterError
from .object_store import WILD, list_objects, opened_object, refuse_address, store_of

#: Of the files that a folder or a pattern stands for.
ENDINGS = (".svr", ".parquet", ".pq", ".sva")
_LEFTOVER = re.compile(r"\.sottovoce-[0-9a-f]{16}\.part")
_WILD = re.compile(r"[*?\[]")


@contextmanager
def whole_file(
    path: str | os.PathLike[str], *, replace: bool = True, private: bool = False
) -> Iterator[BinaryIO]:
    """Write a file that appears under its name only when everything is on disk.

    The bytes go to a temporary file in the same folder, which becomes `path` at the end; after
    an error (a full disk, a bug, Ctrl-C) `path` is as it was and the temporary file is gone. What
    a killed run left behind is removed by the next run that writes into the folder.

    Parameters
    ----------
    path : path
        Where the file goes.
    replace : bool
        Whether a file of this name may be replaced. Without it, exactly one of several processes
        that write the same name at once succeeds.
    private : bool
        Whether only the owner may read the file, whatever the umask allows.
    """
    target = target_of(path)
    _remove_leftovers(target.parent)
    try:
        handle, name = _temporary(target.parent)
    except OSError as error:
        raise FileError.of("cannot write", path, error) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            name.chmod(0o600 if private else 0o666 & ~_umask())
            # Published while the lock is held, so that nobody takes it for a leftover.
            if replace:
                name.replace(target)
            else:
                _publish_new(name, target)
    except BaseException as error:
        name.unlink(missing_ok=True)
        if isinstance(error, FileExistsError) and not isinstance(error, FileError):
            raise _exists(path) from error
        if isinstance(error, OSError) and not isinstance(error, FileError):
            raise FileError.of(
                "could not write", path, error, "; nothing was left behind"
            ) from error
        raise


def _temporary(folder: Path) -> tuple[int, Path]:
    """A new private file, locked for as long as its writer lives."""
    while True:
        name = folder / f".sottovoce-{secrets.token_hex(8)}.part"
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # a file system without locks: its leftovers stay
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Between creation and lock somebody may have taken it for a leftover.
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary files of ours whose writer is gone: nobody holds their lock."""
    try:
        names = [entry for entry in os.scandir(folder) if _LEFTOVER.fullmatch(entry.name)]
    except OSError:
        return  # writing will report what is wrong with the folder
    for entry in names:
        with suppress(OSError):  # in use, someone else's, or gone by now
            handle = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    Path(entry.path).unlink()
            finally:
                os.close(handle)


def _umask() -> int:
    # A temporary file is private to its owner; give it the mode that open() would have given.
    current = os.umask(0)
    os.umask(current)
    return current


def _publish_new(name: Path, target: Path) -> None:
    """Give a file its name, or raise FileExistsError: of several concurrent calls one succeeds."""
    try:
        os.link(name, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: reserve the name, then replace it
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        name.replace(target)
        return
    name.unlink()


def _exists(path: str | os.PathLike[str]) -> FileError:
    return FileError(f"{os.fspath(path)!r} exists already; choose another name, or add --force")


def target_of(path: str | os.PathLike[str]) -> Path:
    """Where what is written to `path` goes: a link's target, never the link itself.

    Anything that exists and is not a plain file is refused: a new file under the name of a device,
    a pipe or a socket would take its place.
    """
    target = Path(os.path.realpath(path))
    try:
        kind = target.lstat().st_mode
    except OSError:
        if not target.parent.is_dir():
            refuse_address(path)
        return target  # not there; if it cannot be made, writing says why
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "not a plain file"
        raise FileError(f"{os.fspath(path)!r} is {what}; name a file to write to")
    return target


def check_output(path: Path, *inputs: Path, force: bool, ends: tuple[str, ...] = ()) -> None:
    """Refuse an output that cannot be written, is an input, or exists, before any work.

    With `ends`, also a name with none of these endings.
    """
    target_of(path)
    if not path.parent.is_dir():
        raise FileError(
            f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}; create it first"
        )
    for source in inputs:
        if _same(path, source):
            raise FileError(
                f"{str(path)!r} is one of the inputs and would be overwritten; choose another name"
            )
    if ends and path.suffix.lower() not in ends:
        raise FileError(
            f"the format of {str(path)!r} is not clear; its name must end in {' or '.join(ends)}"
        )
    if path.exists() and not force:
        raise _exists(path)


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on disk: syncing a new file leaves its name out."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def state_path(variable: str, name: str, no_home: str) -> Path:
    """Where this user's own records are: as the environment says, else among private files."""
    if chosen := os.environ.get(variable):
        return Path(chosen)
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise FileError(f"this user has no home folder {no_home}") from error
    return Path(state) / "sottovoce" / name


def _same(a: Path, b: Path) -> bool:
    if os.path.realpath(a) == os.path.realpath(b):
        return True
    with suppress(OSError):  # one is not there, or out of reach: reading it says so
        return a.samefile(b)
    return False


def read_file(path: str | os.PathLike[str], *, most: int | None = None) -> bytes:
    """The bytes of a file of at most `most` bytes, or a FileError that says why not."""
    with opened(path) as stream:
        try:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            if most is not None and size > most:
                raise FileError(
                    f"{os.fspath(path)!r} has {size:,} bytes; at most {most:,} are read here"
                )
            return stream.read()
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError.of("cannot read", path, error) from error


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A plain file or an object of a store, opened for reading, or a FileError that says why not.

    A pipe is refused before it can block, a device before it is read forever.
    """
    if is_address(path):
        with opened_object(str(path)) as stream:
            yield stream
        return
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        refuse_address(path)
        raise FileError.of("cannot read", path, error) from error
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        what = "a directory" if stat.S_ISDIR(kind) else "not a plain file"
        raise FileError(f"cannot read {os.fspath(path)!r}: it is {what}; name a plain file")
    with os.fdopen(handle, "rb") as stream:
        yield stream


def stamp(path: str | os.PathLike[str]) -> tuple[int, ...]:
    """What differs once a file or an object was written again: size, time, and where it is."""
    if is_address(path):
        store, name = store_of(str(path))
        info = store.get_file_info(name)
        return info.size or 0, info.mtime_ns or 0
    about = Path(path).stat()
    return about.st_size, about.st_mtime_ns, about.st_ino


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether this is an object of a store, such as s3://bucket/name, and not a file here."""
    return isinstance(path, str) and "://" in path


def identity(path: str) -> object:
    """What all names of one file or object share: links and file:// lead to the same file."""
    if path.startswith("file://"):
        path = store_of(path)[1]
    if is_address(path):
        plain, _, options = path.partition("?")
        return unquote(plain), options
    with suppress(OSError, ValueError):
        about = Path(path).stat()
        if about.st_nlink > 1:  # else a file system without proper numbers need not be trusted
            return about.st_dev, about.st_ino
    with suppress(ValueError):  # a zero byte in the name
        return os.path.realpath(path)
    return path


def files_of(names: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files of a data set, in a fixed order: of names, folders, patterns and addresses.

    A folder stands for every file of reports or counts below it, also where its folders are those
    of a partitioned data set (`date=2025-06-01/…`); names that begin with a dot or an underscore
    are left out, because other programs keep their own files there. In a pattern, `*` and `[…]`
    stay within a name, and `**` goes through any number of folders; what it matches is chosen as
    in a folder. A file that is named is taken as it is.
    """
    try:
        every = [names] if isinstance(names, (str, os.PathLike)) else list(names)
        paths = [os.fspath(name) for name in every]
    except TypeError as error:
        raise ParameterError(
            f"the data set is {names!r:.80}; give the name of a file, folder or pattern, or a list "
            "of them"
        ) from error
    return [file for path in paths for file in _files(os.fsdecode(path))]


def _files(name: str) -> list[str]:
    if not name:
        raise FileError("the name of a file is empty; name a file, or . for this folder")
    try:
        files = list_objects(name, _belongs) if is_address(name) else _local(name)
    except FileError:
        raise
    except OSError as error:  # a folder that does not let us look
        raise FileError.of("cannot read", error.filename or name, error) from error
    if not files:
        wild = WILD if is_address(name) else _WILD
        what = "matches the pattern" if wild.search(name) else "is in the folder"
        raise FileError(f"no file of reports or counts ({', '.join(ENDINGS)}) {what} {name!r}")
    return files


def _local(name: str) -> list[str]:
    path = Path(name)
    if os.path.isdir(path):  # noqa: PTH112, that raises where we may not look
        return sorted(map(str, _below(path, path)))
    if os.path.lexists(path) or not _WILD.search(name):
        return [name]  # where it does not exist, reading it says so
    parts = path.parts
    fixed = next(k for k, part in enumerate(parts) if _WILD.search(part))
    root = Path(*parts[:fixed])
    # A folder that matches stands for its files, which ** may match as well.
    every = {
        file
        for match in _matches(root, root, parts[fixed:])
        for file in (_below(match, root) if match.is_dir() else [match])
    }
    return sorted(str(file) for file in every if _belongs(file.relative_to(root)))


def _matches(folder: Path, root: Path, pattern: Sequence[str]) -> Iterator[Path]:
    """What a pattern matches in a folder, name by name.

    The library's glob would leave out folders that it cannot list, and follow links in circles.
    """
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        for below, files in _walk(folder, root):
            yield from _matches(below, root, rest) if rest else files
        return
    if _WILD.search(first):
        paths = [one for one in _entries(folder) if fnmatchcase(one.name, first)]
    else:
        paths = []
        with suppress(FileNotFoundError):  # and nothing else: it may be there
            (folder / first).lstat()
            paths = [folder / first]
    for path in paths:
        if not rest:
            yield path
        elif path.is_dir():
            yield from _matches(path, root, rest)


def _below(folder: Path, root: Path) -> Iterator[Path]:
    """The files of a folder; a link that leads nowhere is one, so that reading it says so."""
    for _, files in _walk(folder, root):
        yield from (file for file in files if _belongs(file.relative_to(folder)))


def _walk(folder: Path, root: Path) -> Iterator[tuple[Path, list[Path]]]:
    """A folder and all folders in it, each with its files; links are followed, but not back."""
    if folder.is_symlink() and folder != root:
        real = folder.resolve()
        above = (path for path in folder.parents if path.is_relative_to(root))
        if any(path.resolve().is_relative_to(real) for path in above):
            return
    entries = _entries(folder)
    yield folder, [path for path, is_folder in entries.items() if not is_folder]
    for path, is_folder in entries.items():
        # What is hidden may vanish meanwhile: other programs work there.
        if is_folder and not _is_hidden(path.name):
            yield from _walk(path, root)


def _entries(folder: Path) -> dict[Path, bool]:
    """What is in a folder, and whether each is a folder, too.

    A folder that cannot be listed may have reports, and is an error.
    """
    try:
        with os.scandir(folder) as entries:
            return {folder / entry.name: _is_folder(entry) for entry in entries}
    except OSError as error:
        raise FileError.of("cannot list", folder, error) from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that cannot be followed: reading it says so


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _belongs(path: PurePosixPath | Path) -> bool:
    """Whether a file of a folder belongs to the data set."""
    return path.suffix.lower() in ENDINGS and not any(map(_is_hidden, path.parts))
