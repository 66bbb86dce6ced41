"""A study between parties in a folder: keys, data and processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from click.testing import CliRunner

from sottovoce.cli import main

ROWS = """\
format = 1
title = "Smoking in three hospitals"

[protocol]
split = "rows"
collusion = 1

[budgets]
A = 0.5
B = 1.0
C = 2.0

[[attribute]]
name = "smoker"
values = ["yes", "no"]

[[attribute]]
name = "age"
edges = [0, 40, 65, inf]

"""
COLUMNS = """\
format = 1
title = "Smoking and travel"

[protocol]
split = "columns"
engine = "dealer"
key = "person_id"
collusion = 1

[budgets]
A = 0.5
B = 1.0
C = 2.0

[[attribute]]
name = "smoker"
values = ["yes", "no"]
holder = "A"

[[attribute]]
name = "age"
edges = [0, 40, 65, inf]
holders = ["B", "A"]
holder = "B"

[[attribute]]
name = "travels"
values = ["often", "seldom"]
holder = "C"

"""
PEOPLE = 600
PARTIES = ("A", "B", "C")


@dataclass
class Folder:
    """A folder with everything that a study needs, and the processes that run in it."""

    path: Path
    study: str = ROWS
    parties: tuple[str, ...] = PARTIES
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def split(self) -> bool:
        """Whether columns are split."""
        return "columns" in self.study

    def prepare(self) -> None:
        """Keys of everyone, the study, and a table for every party."""
        roles = {"institute": "curator", **dict.fromkeys(self.parties, "party")}
        if 'engine = "dealer"' in self.study:
            roles["dealer"] = "dealer"
        for name, role in roles.items():
            out = ("--out", str(self.path))
            result = CliRunner().invoke(main, ["parties", "keygen", name, "--role", role, *out])
            assert result.exit_code == 0, result.output
        entries = [path.read_text() for path in sorted(self.path.glob("*.party.toml"))]
        (self.path / "study.toml").write_text(self.study + "\n".join(entries))
        for k, party in enumerate(self.parties):
            (self.path / f"{party}.csv").write_text(self.table(k))

    def table(self, k: int) -> str:
        """Half of all people smoke; a third is in each bin of age."""
        lines = ["person_id,smoker,age,travels"]
        for row in range(PEOPLE):
            person = row if self.split else row + k
            smoker = "yes" if person % 2 else "no"
            travels = "often" if person % 4 == 0 else "seldom"
            lines.append(f"p{row},{smoker},{(20, 50, 70)[person % 3]},{travels}")
        if self.split:  # the same people, in another order at every party
            lines[1:] = lines[1 + k :] + lines[1 : 1 + k]
        return "\n".join(lines) + "\n"

    # --- processes ------------------------------------------------------------------------------

    def start(
        self, *arguments: str, stdout: int | IO[str] = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """A command as a process."""
        environment = {**os.environ, "SOTTOVOCE_BUDGETS": str(self.path / "budgets")}
        self.started.append(
            subprocess.Popen(
                [sys.executable, "-m", "sottovoce.cli", "parties", *arguments, "--json"],
                cwd=self.path,
                env=environment,
                text=True,
                start_new_session=True,
                stdout=stdout,
                stderr=subprocess.PIPE,
            )
        )
        return self.started[-1]

    def curator(
        self, *options: str, port: int = 0, stdout: int | IO[str] = subprocess.PIPE
    ) -> tuple[subprocess.Popen[str], str]:
        """The curator, once it listens, and its address."""
        arguments = ("curator", "study.toml", "--port", str(port), *options)
        process = self.start(*arguments, stdout=stdout)
        if process.stderr is None:
            raise RuntimeError("the process has no stderr")
        line = process.stderr.readline()
        assert line.startswith("listening on "), line + process.stderr.read()
        return process, line.removeprefix("listening on ").strip()

    def join(self, party: str, address: str, *options: str) -> subprocess.Popen[str]:
        """A party with its table."""
        data = () if "--dry-run" in options else ("--data", f"{party}.csv")
        to = ("--party", party, "--curator", address, "--timeout", "60")
        return self.start("join", "study.toml", *to, *data, *options)

    def stop(self) -> None:
        """End every process that is still there."""
        for process in self.started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def budgets(self) -> dict[str, Any]:
        """What the ledger says, by data set."""
        command = ["parties", "budget", "--ledger", str(self.path / "budgets"), "--json"]
        result = CliRunner().invoke(main, command)
        return {one["data"]: one for one in json.loads(result.stdout)["data_sets"]}


def result_of(process: subprocess.Popen[str], code: int = 0, seconds: float = 90.0) -> Any:
    """The JSON of a process that ends well, or the line that it ends with."""
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == code, out + err
    if code == 0:
        return json.loads(out)
    assert "Traceback" not in err
    assert out == ""
    return err
