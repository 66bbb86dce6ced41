"""A smoke test of an installed Sottovoce: ``python smoke.py VERSION``, away from its sources.

It uses what a first-time user would: the library, the command line with a CSV file, and what comes
with the package. Only the extras `files` and `xlsx` have to be installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.metadata import metadata, version
from importlib.resources import files
from pathlib import Path

import sottovoce as sv
from sottovoce.collect.workbooks import read_sheet


def check(true: bool, what: str) -> None:
    """Stop with the reason; `assert` would be silent under -O."""
    if not true:
        sys.exit(f"smoke test failed: {what}")


def command(*arguments: str) -> str:
    """What a command prints; it must succeed and be quiet on stderr."""
    line = [str(Path(sys.executable).with_name("sottovoce")), *arguments]
    result = subprocess.run(line, capture_output=True, text=True)
    check(result.returncode == 0, f"{' '.join(arguments)}: {result.stderr}")
    return result.stdout


def main(expected: str) -> None:
    """Try everything once."""
    check(sv.__version__ == version("sottovoce") == expected, "the version")
    check("site-packages" in str(Path(sv.__file__)), "the sources were imported, not the package")
    check(files("sottovoce").joinpath("py.typed").is_file(), "py.typed is missing")
    about = metadata("sottovoce")
    check(about["License-Expression"] == "Apache-2.0", "the licence")
    check("# Sottovoce" in (about.get_payload() or about["Description"]), "the readme")
    check(callable(read_sheet), "workbooks")

    estimate = sv.ask(["yes", "no", "no"] * 3000, values=["yes", "no"], epsilon=4.0)
    check(abs(estimate.values[0] - 1 / 3) < 0.1, "the estimate")  # 15 standard errors

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["SOTTOVOCE_RECEIPTS"] = str(Path(folder) / "receipts")
        check(command("--version") == f"sottovoce {expected}\n", "--version")
        Path("answers.csv").write_text("commute\n" + "car\nbike\n" * 5000, encoding="utf-8")
        new = ("--title", "T", "--question", "commute", "--values", "car,bike", "--epsilon", "1")
        command("study", "new", "s.toml", *new)
        command("randomise", "answers.csv", "--study", "s.toml", "--out", "r.svr")
        command("aggregate", "r.svr", "--study", "s.toml", "--out", "c.sva")
        check("car" in command("estimate", "c.sva", "--study", "s.toml"), "the table")
        os.chdir("/")
    print(f"smoke test passed: sottovoce {expected} on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main(sys.argv[1])
