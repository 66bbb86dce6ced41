"""How long and how much memory a large file takes: the command line in a process of its own.

``python -m benchmarks.memory`` prints this part of the page alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import stages
from .machine import FULL, Effort, installed

PEOPLE = 50_000_000
COMPILING = 20_000_000  # people whose reports are counted by machine code, not by numpy
VALUES = ("car", "train", "bike", "foot", "work from home", "other")
WANTED_MB = 500


@dataclass(frozen=True)
class Run:
    """One command on one file."""

    name: str
    people: int
    seconds: float
    megabytes: float


def measure(effort: Effort) -> tuple[list[Run], list[stages.Stage]]:
    """Randomise and aggregate a file of made-up answers."""
    people = effort.people(PEOPLE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answers = folder / "answers.csv"
        _write(answers, people)
        question = ["--question", "commute", "--epsilon", "1", "--values", ",".join(VALUES)]
        for title in ("few", "answers"):  # two studies, since nobody answers one twice
            _command(folder, ["study", "new", f"{title}.toml", "--title", title, *question])
        _write(folder / "few.csv", min(people, COMPILING))
        for command in _commands("few").values():  # compiles what an installation compiles once
            _command(folder, command)
        commands = _commands("answers")
        runs = [Run(key, people, *_command(folder, words)) for key, words in commands.items()]
        return runs, stages.measure(answers, folder / "answers.toml", "commute")


def _commands(name: str) -> dict[str, list[str]]:
    usual = ["--study", f"{name}.toml"]
    return {
        "randomise a CSV file": ["randomise", f"{name}.csv", *usual, "--out", f"{name}.svr"],
        "aggregate": ["aggregate", f"{name}.svr", *usual, "--out", f"{name}.sva"],
        "estimate": ["estimate", f"{name}.sva", *usual],
    }


def section(runs: list[Run], parts: list[stages.Stage]) -> str:
    """The part of the page."""
    lines = [
        "## Large files",
        "",
        "The command line on a file of simulated answers, six values, compiled kernels; the most",
        f"memory that the process held at any time (target: below {WANTED_MB} MB).",
        "",
        "| command | people | seconds | memory, MB |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {run.name} | {run.people:,} | {run.seconds:.1f} | {run.megabytes:,.0f} |"
        for run in runs
    ]
    return "\n".join([*lines, "", stages.section(parts, runs[0].people)])


def _write(path: Path, people: int) -> None:
    block = "\n".join(VALUES[k * k % len(VALUES)] for k in range(100_000)) + "\n"
    with path.open("w") as stream:
        stream.write("commute\n")
        for _ in range(people // 100_000):
            stream.write(block)
        stream.write("car\n" * (people % 100_000))


def _command(folder: Path, words: list[str]) -> tuple[float, float]:
    """Seconds and megabytes of one command."""
    environment = {**installed(), "SOTTOVOCE_RECEIPTS": str(folder / "receipts")}
    code = "import sys; from sottovoce.cli import main; main(sys.argv[1:])"
    watcher = (
        "import resource, subprocess, sys, time; start = time.perf_counter();"
        "subprocess.run([sys.executable, '-c', *sys.argv[1:]], check=True, stdout=2);"
        "print(time.perf_counter() - start,"
        "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", watcher, code, *words],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    seconds, kilobytes = done.stdout.split()[-2:]
    return float(seconds), float(kilobytes) / 1e3


if __name__ == "__main__":
    print(section(*measure(FULL)))
