"""Whether compiled code may be loaded from a folder: numba unpickles, so runs, what lies there."""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@cache
def others_can_write(source: str, folder: str) -> str:
    """Who else could have put files into the folder, in words; empty where nobody could.

    ``__pycache__`` beside the source is as safe as the source, which is executed as well. Any other
    folder, everything in it and every folder above it must belong to this user or to root, and only
    its owner may write to it. Above it there may be a folder for everyone in which nobody can
    rename what belongs to others (the sticky bit, as in /tmp); and nobody else reaches what is
    inside a private folder.
    """
    if not hasattr(os, "getuid") or Path(folder) == Path(source).parent / "__pycache__":
        return ""
    place = Path(folder).resolve()
    for above in [*reversed(place.parents), place]:
        status = above.stat()
        if not _mine(status):
            return f"{above} belongs to another user"
        sticky = status.st_mode & stat.S_ISVTX and above != place
        if status.st_mode & _OTHERS_WRITE and not sticky:
            return f"other users can write to {above}"
        if _private(status):
            return ""
    for file in place.glob("*.nb[ci]"):
        status = file.lstat()
        if not _mine(status) or status.st_mode & _OTHERS_WRITE:
            return f"other users can write to {file}"
    return ""


def _mine(status: os.stat_result) -> bool:
    return status.st_uid in (0, os.getuid())


def _private(status: os.stat_result) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
