"""The folder of receipts: where it is, kept private, with the key that recognises answers."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from ..errors import FileError
from ..files import read_file, state_path, sync_folder, whole_file

KEY = "key"


def folder_of(folder: Path | None) -> Path:
    """Where receipts are kept: as given, else as the environment says."""
    if folder is not None:
        return folder
    no_home = "to keep receipts in; choose a folder with --receipts"
    return state_path("SOTTOVOCE_RECEIPTS", "receipts", no_home)


def make_private(root: Path) -> str | None:
    """Close the folder to others; what there is to say about it, if it was open."""
    about = root.stat()
    if about.st_uid != os.geteuid():
        raise FileError(
            f"the folder {str(root)!r} belongs to another user, who could read the "
            "receipts; choose a folder of your own with --receipts"
        )
    if not about.st_mode & 0o077:
        return None
    mode = stat.S_IMODE(about.st_mode)
    names = [path.name for path in root.iterdir()]
    if names and KEY not in names:
        raise FileError(
            f"others can look into the folder {str(root)!r} (its mode is {mode:o}), and "
            "it holds other things than receipts; choose a separate folder with --receipts, "
            "or make it private with chmod 700"
        )
    root.chmod(0o700)
    return (
        f"Others could look into the folder of receipts {str(root)!r} (its mode was "
        f"{mode:o}): it is private now."
    )


def read_key(root: Path, *, begun: bool) -> tuple[bytes, str | None]:
    """The key, made where no entry has begun; and what there is to say about it."""
    path = root / KEY
    if not path.exists():
        if begun:
            raise FileError(
                f"the key of the receipts in {str(root)!r} is not there (earlier releases "
                "kept none), so answers cannot be recognised; restore it, or choose "
                "another folder with --receipts if none of those answers is randomised again"
            )
        with whole_file(path, private=True) as stream:
            stream.write(secrets.token_bytes(32))
        sync_folder(root)
    note = None
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
        note = "Others could read the key of the receipts: it is private now."
    key = read_file(path, most=32)
    if len(key) != 32:
        raise FileError(f"{str(path)!r} is not a key: it has {len(key)} bytes, not 32")
    return key, note
