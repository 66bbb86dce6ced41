"""The files of a data set: names, folders, patterns, and addresses of object stores.

A folder stands for every file of reports or counts below it, also where its folders are those of
a partitioned data set (`date=2025-06-01/…`); names that begin with a dot or an underscore are
left out, because other programs keep their own files there. In a pattern, `*` and `[…]` stay
within a name, and `**` goes through any number of folders.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from ..errors import FileError
from ..files import is_address, store_of

ENDINGS = (".svr", ".parquet", ".pq", ".sva")
_WILD = re.compile(r"[*\[]")


def files_of(names: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files of a data set, in a fixed order."""
    every = [names] if isinstance(names, (str, os.PathLike)) else list(names)
    return [file for name in every for file in _files(os.fspath(name))]


def _files(name: str) -> list[str]:
    files = _objects(name) if is_address(name) else _local(name)
    if not files:
        what = "matches the pattern" if _WILD.search(name) else "with one of these endings is in"
        raise FileError(f"no file ({', '.join(ENDINGS)}) {what} {name!r}")
    return files


def _local(name: str) -> list[str]:
    path = Path(name)
    if path.is_dir():
        return sorted(_below(name, path.rglob("*")))
    if path.exists() or not (_WILD.search(name) or "?" in name):
        return [name]  # where it does not exist, reading it says so
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207, a Path takes no full one
    inside = {file for match in matches if Path(match).is_dir() for file in _local(match)}
    # A pattern such as ** also matches the folders of the files that it matches.
    return sorted(inside | {match for match in matches if Path(match).is_file()})


def _below(root: str, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        if _counts(path.relative_to(root)) and path.is_file():
            yield str(path)


def _counts(path: PurePosixPath | Path) -> bool:
    """Whether a file of a folder belongs to the data set."""
    hidden = any(part.startswith((".", "_")) for part in path.parts)
    return not hidden and path.suffix.lower() in ENDINGS


def _objects(address: str) -> list[str]:
    """The same in a store, whose options (such as endpoint_override) follow a question mark."""
    from pyarrow.fs import FileSelector, FileType

    plain, _, options = address.partition("?")
    wild = _WILD.search(plain)
    root = plain[: plain.rindex("/", 0, wild.start())] if wild else plain
    end = f"?{options}" if options else ""
    store, base = store_of(root + end)
    try:
        if not wild and store.get_file_info(base).type == FileType.File:
            return [address]
        every = store.get_file_info(FileSelector(base, recursive=True, allow_not_found=True))
    except OSError as error:
        raise FileError(f"cannot list {address!r}: {error}") from error
    below = sorted(i.path[len(base) :].lstrip("/") for i in every if i.type == FileType.File)
    matched = _matcher(plain[len(root) + 1 :]) if wild else None
    kept = (path for path in below if _counts(PurePosixPath(path)))
    found = [path for path in kept if matched is None or matched.fullmatch(path)]
    if not below and not wild:
        return [address]  # reading it says what is wrong
    return [f"{root.rstrip('/')}/{path}{end}" for path in found]


def _matcher(pattern: str) -> re.Pattern[str]:
    """A pattern of names as a regular expression; a folder that matches stands for its files."""
    signs = re.split(r"(\*\*/|\*\*|\*|\[[^\]]+\])", pattern)
    words = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*"}
    text = "".join(
        words.get(sign) or (sign if sign[:1] == "[" and sign[-1:] == "]" else re.escape(sign))
        for sign in signs
    )
    return re.compile(f"{text}(/.*)?")
