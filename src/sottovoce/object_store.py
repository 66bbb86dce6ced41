"""Objects of a store, such as s3://bucket/name: read like files, and listed like folders.

In an address, options of the store (such as endpoint_override) follow a question mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

from .errors import FileError, MissingExtraError

WILD = re.compile(r"[*\[]")  # of a pattern; a question mark begins the options
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)  # a path keeps one slash of two
# What an address has as it is; # belongs to a name, and does not begin a part of the object.
_PRINTED = "".join(map(chr, range(33, 127))).replace("#", "")
_SECRET = re.compile(r"secret|passw|token|key|sig", re.IGNORECASE)  # in the names of options


def store_of(address: str) -> tuple[Any, str]:
    """The store of an address as a pyarrow file system, and the name of the object in it."""
    _refuse_secrets(address)
    try:
        from pyarrow.fs import FileSystem
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "s3", "reading from an object store") from error
    try:
        store, name = FileSystem.from_uri(quote(address, safe=_PRINTED))
    except (OSError, ValueError, NotImplementedError) as error:
        raise FileError.of("cannot read", address, error) from error
    return store, name


def _refuse_secrets(address: str) -> None:
    """An address is shown in messages and kept in histories."""
    plain, _, options = address.partition("?")
    user = unquote(plain.split("://", 1)[1].split("/")[0]).rpartition("@")[0]
    names = (option.partition("=")[0] for option in unquote(options).split("&"))
    if ":" in user or any(map(_SECRET.search, names)):
        raise FileError(
            "an address must not contain a password or a key; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or use the machine's own role"
        )


def refuse_address(path: str | PathLike[str]) -> None:
    """Raise where a file that is not there seems to be an address."""
    name = str(path)
    if _ADDRESS.match(name):
        address = _ADDRESS.sub(r"\1://", name, count=1)
        _refuse_secrets(address)
        raise FileError(
            f"{address!r} is an address of an object store; reports and counts are read from "
            "there, and all else is read and written on this machine: name a file here"
        )


@contextmanager
def opened_object(address: str) -> Iterator[BinaryIO]:
    """An object, opened for reading, or a FileError that says why not."""
    store, name = store_of(address)
    try:
        stream = store.open_input_file(name)
    except (OSError, ValueError) as error:
        raise FileError.of("cannot read", address, error) from error
    with stream:
        yield stream


def list_objects(address: str, belongs: Callable[[PurePosixPath], bool]) -> list[str]:
    """The objects below an address, or that match its pattern, if they belong to a data set."""
    _refuse_secrets(address)
    plain, _, options = address.partition("?")
    wild = WILD.search(plain)
    root = plain[: plain.rindex("/", 0, wild.start())] if wild else plain
    end = f"?{options}" if options else ""
    if root.endswith((":/", "://")):
        raise FileError(f"{address!r} names no bucket; give one, as in s3://bucket/folder")
    store, base = store_of(root + end)
    from pyarrow.fs import FileSelector, FileType  # there, where a store is

    try:
        if not wild and store.get_file_info(base).type == FileType.File:
            return [address]
        every = store.get_file_info(FileSelector(base, recursive=True, allow_not_found=True))
    except OSError as error:
        raise FileError(f"cannot list {address!r}: {error}") from error
    below = sorted(i.path[len(base) :].lstrip("/") for i in every if i.type == FileType.File)
    pattern = unquote(plain[len(root) + 1 :]).split("/") if wild else []
    kept = (path for path in below if belongs(PurePosixPath(path)))
    matches = [path for path in kept if _matches(path.split("/"), pattern)]
    if not below and not wild:
        return [address]  # reading it says what is wrong
    return [f"{root.rstrip('/')}/{quote(path, safe='/=')}{end}" for path in matches]


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a name, or a folder that it is in, matches a pattern; both are cut at slashes."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_matches(parts[k:], pattern[1:]) for k in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
