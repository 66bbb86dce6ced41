"""The container file and the systemd unit, as far as this machine can judge them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from sottovoce.cli import main
from sottovoce.cli.serve import serve

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "sottovoce.service"
CONTAINER = ROOT / "deploy" / "Containerfile"


def unit_command() -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    return shlex.split(line)


def container_command() -> list[str]:
    joined = CONTAINER.read_text().replace("\\\n", "")
    (line,) = re.findall(r"^ENTRYPOINT (.*)$", joined, re.MULTILINE)
    command: list[str] = json.loads(line)
    return command


@pytest.mark.parametrize(
    "command", [unit_command(), container_command()], ids=["unit", "container"]
)
def test_the_command_is_understood(command: list[str]) -> None:
    assert command[1] in main.commands
    options = serve.make_context("serve", command[2:], resilient_parsing=False).params
    assert options["study_path"].name == "study.toml"
    assert options["link_file"] is not None  # a link on standard output would end in a log


def test_every_copied_file_exists() -> None:
    for line in re.findall(r"^COPY (?!--from)(.*)$", CONTAINER.read_text(), re.MULTILINE):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists(), name


def test_what_the_wheel_needs_is_copied() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    targets = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    lines = re.findall(r"^COPY (?!--from)(.*)$", CONTAINER.read_text(), re.MULTILINE)
    copied = {name.split("/")[0] for line in lines for name in line.split()[:-1]}
    needed = {name.split("/")[0] for name in (*targets["packages"], *targets["force-include"])}
    assert needed <= copied


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed on this machine")
    text = UNIT.read_text().replace(unit_command()[0], "/bin/true", 1)
    unit = tmp_path / UNIT.name
    unit.write_text(text)
    result = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60
    )
    assert UNIT.name not in result.stderr, result.stderr
