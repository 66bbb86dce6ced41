"""Whether compiled code may be loaded from a folder: numba unpickles, so runs, what lies there."""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path


@cache
def others_can_write(source: str, folder: str) -> str:
    """Who else could have put files into the folder, in words; empty where nobody could.

    ``__pycache__`` beside the source is as safe as the source, which is executed as well. Any other
    folder, everything in it and every folder and link on the way to it must belong to this user or
    to root, and only its owner may write to it, or the group that has nobody but the owner. Above
    it there may be a folder for everyone in which nobody can rename what belongs to others (the
    sticky bit, as in /tmp); and nobody else reaches what is inside a private folder.
    """
    if not hasattr(os, "getuid") or Path(folder) == Path(source).parent / "__pycache__":
        return ""
    place = Path(folder).absolute()
    reason, private = _on_the_way(place, place.resolve())
    if reason or private:
        return reason
    for file in place.glob("*.nb[ci]"):
        status = file.lstat()
        if not _mine(status) or _others_write(status):
            return f"other users can write to {file}"
    return ""


def _on_the_way(path: Path, place: Path) -> tuple[str, bool]:
    """What is wrong with a path to the place, and whether a private folder hides the place.

    Links are followed one by one: whoever can change one of them, or a folder that it lies in,
    could lead elsewhere later.
    """
    for above in [*reversed(path.parents), path]:
        status = above.lstat()
        if not _mine(status):
            return f"{above} belongs to another user", False
        if stat.S_ISLNK(status.st_mode):
            reason, private = _on_the_way(above.parent / above.readlink(), place)
            if reason or private:
                return reason, private
            continue
        sticky = status.st_mode & stat.S_ISVTX and above.resolve() != place
        if _others_write(status) and not sticky:
            return f"other users can write to {above}", False
        if _private(status) and place.is_relative_to(above.resolve()):
            return "", True
    return "", False


def _mine(status: os.stat_result) -> bool:
    return status.st_uid in (0, os.getuid())


def _others_write(status: os.stat_result) -> bool:
    by_group = status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid)
    return bool(status.st_mode & stat.S_IWOTH or by_group)


@cache
def _own_group(group: int) -> bool:
    """Whether a group is the private one of this user, as many systems give everybody.

    Their new folders can be written to by that group. The group 0 is not private: containers run
    as arbitrary users of it.
    """
    import grp
    import pwd

    try:
        own, members = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    if own.pw_gid != group or group == 0 or members.gr_name != own.pw_name:
        return False
    users = {user.pw_name for user in pwd.getpwall() if user.pw_gid == group}
    return {*members.gr_mem, *users} <= {own.pw_name}


def _private(status: os.stat_result) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
