"""A private PostgreSQL cluster for tests, run by an unprivileged user."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path


def binaries() -> Path | None:
    """Where PostgreSQL's programs are, or None."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return installed[-1].parent if installed else (Path(on_path).parent if on_path else None)


def unprivileged() -> str | None:
    """Whom to run as: PostgreSQL refuses root. None where we are no root."""
    if os.getuid():
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise RuntimeError("there is no unprivileged user to run PostgreSQL as")


class Cluster:
    """A cluster in a temporary folder, reached through a socket and a port of its own."""

    def __init__(self) -> None:
        programs = binaries()
        if programs is None:
            raise RuntimeError("PostgreSQL is not installed")
        self._programs = programs
        self._user = unprivileged()
        self.folder = Path(tempfile.mkdtemp(prefix="sv-pg-"))
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._run("initdb", "-D", self.data, "-U", "sv", "-A", "trust", "--no-sync", "-E", "UTF8")
        self.start()

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    @property
    def address(self) -> str:
        return f"postgresql://sv@127.0.0.1:{self.port}/postgres"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            user=self._user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", self.data, "-w", "-o", options, "-l", log, "start")

    def kill(self) -> None:
        """As a crash: no commit in progress is finished."""
        self._run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
