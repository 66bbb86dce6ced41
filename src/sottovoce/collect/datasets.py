"""The files of a data set: names, folders, patterns, and addresses of object stores.

A folder stands for every file of reports or counts below it, also where its folders are those of
a partitioned data set (`date=2025-06-01/…`); names that begin with a dot or an underscore are
left out, because other programs keep their own files there. In a pattern, `*` and `[…]` stay
within a name, and `**` goes through any number of folders; what it matches is chosen as in a
folder. A file that is named is taken as it is.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NoReturn
from urllib.parse import quote

from ..errors import FileError
from ..files import is_address, store_of

ENDINGS = (".svr", ".parquet", ".pq", ".sva")
_WILD = re.compile(r"[*\[]")
_WILD_HERE = re.compile(r"[*?\[]")  # in an address, options follow a question mark


def files_of(names: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files of a data set, in a fixed order."""
    every = [names] if isinstance(names, (str, os.PathLike)) else list(names)
    return [file for name in every for file in _files(os.fspath(name))]


def _files(name: str) -> list[str]:
    if not name:
        raise FileError("the name of a file is empty; name a file, or . for this folder")
    files = _objects(name) if is_address(name) else _local(name)
    if not files:
        wild = _WILD if is_address(name) else _WILD_HERE
        what = "matches the pattern" if wild.search(name) else "with one of these endings is in"
        raise FileError(f"no file ({', '.join(ENDINGS)}) {what} {name!r}")
    return files


def _local(name: str) -> list[str]:
    path = Path(name)
    if path.is_dir():
        return sorted(_below(path))
    if path.exists() or not _WILD_HERE.search(name):
        return [name]  # where it does not exist, reading it says so
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207, a Path takes no full one
    fixed = len(Path(_WILD_HERE.split(name)[0] + "x").parent.parts)
    # A pattern such as ** also matches the folders of the files that it matches.
    every = {
        file
        for match in matches
        for file in (_below(Path(match)) if Path(match).is_dir() else [match])
    }
    return sorted(file for file in every if _counts(Path(*Path(file).parts[fixed:])))


def _below(root: Path) -> Iterator[str]:
    """The files of a folder; a link that leads nowhere is one, so that reading it says so."""
    for folder, names, files in os.walk(root, onerror=_refuse, followlinks=True):
        real = Path(folder).resolve()
        # A link to a folder above would be followed forever.
        names[:] = [n for n in names if not real.is_relative_to((real / n).resolve())]
        for file in files:
            path = Path(folder, file)
            if _counts(path.relative_to(root)):
                yield str(path)


def _refuse(error: OSError) -> NoReturn:
    """A folder that cannot be listed may have reports."""
    raise FileError(f"cannot list {error.filename!r}: {error.strerror}") from error


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
    return [f"{root.rstrip('/')}/{quote(path, safe='/=')}{end}" for path in found]


def _matcher(pattern: str) -> re.Pattern[str]:
    """A pattern of names as a regular expression; a folder that matches stands for its files."""
    signs = re.split(r"(\*\*/|\*\*|\*|\[[^\]]+\])", pattern)
    words = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*"}
    text = "".join(
        words.get(sign) or (sign if sign[:1] == "[" and sign[-1:] == "]" else re.escape(sign))
        for sign in signs
    )
    return re.compile(f"{text}(/.*)?")
