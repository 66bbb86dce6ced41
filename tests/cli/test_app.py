"""The command line as a whole: help, exit codes, pipes and interruptions."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import sottovoce
from sottovoce.__main__ import run as run_command
from sottovoce.cli import main
from sottovoce.errors import MissingExtraError

COMMAND = [sys.executable, "-m", "sottovoce"]


def commands(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    collected = []
    for name, command in group.commands.items():
        collected.append((*before, name))
        if isinstance(command, click.Group):
            collected += commands(command, (*before, name))
    return collected


def test_the_index_is_complete():
    names = {path.stem for path in Path(sottovoce.cli.__file__).parent.glob("[!_]*")}
    assert names - {"support"} == set(main.commands)


def test_main_help_teaches():
    said = CliRunner().invoke(main, ["--help"]).stdout
    assert "sottovoce demo" in said
    assert "Exit codes: 0 done; 1" in said
    assert "..." not in said.split("Commands:")[1], "a summary is cut off"


@pytest.mark.parametrize("group", ["account", "collection", "parties", "secure", "study"])
def test_no_summary_in_a_list_of_commands_is_cut_off(group):
    listed = CliRunner().invoke(main, [group, "--help"]).stdout.split("Commands:")[1]
    assert "..." not in listed


@pytest.mark.parametrize("command", commands(main), ids=" ".join)
def test_every_command_has_an_example_and_says_what_comes_next(command):
    result = CliRunner().invoke(main, [*command, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert "Next: " in result.stdout


GROUPS = {("study",), ("lip",)}


@pytest.mark.parametrize("command", [c for c in commands(main) if c not in GROUPS], ids=" ".join)
def test_every_command_offers_json(command):
    assert "--json" in CliRunner().invoke(main, [*command, "--help"]).stdout


def test_version():
    assert CliRunner().invoke(main, ["--version"]).stdout == f"sottovoce {sottovoce.__version__}\n"


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from sottovoce.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'numba', 'numpy', 'pyarrow', 'rich', 'matplotlib', 'cryptography'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr == "[]\n"


def test_wrong_usage_is_2(run):
    assert "No such option" in run("demo", "--seed", "1", code=2).stderr
    assert "Missing option '--study'" in run("estimate", "x.sva", code=2).stderr


def test_a_missing_extra_is_an_ordinary_error(folder, fails, monkeypatch):
    def missing(path):
        raise MissingExtraError.of("pyarrow", "files", "this")

    monkeypatch.setattr("sottovoce.study.Study.load", missing)
    assert "pip install 'sottovoce[files]'" in fails("study", "show", "study.toml")


def test_an_error_is_red_on_a_terminal_only(folder):
    result = CliRunner().invoke(main, ["study", "check", "no.toml"], color=True)
    assert result.stderr.startswith("\x1b[31m\x1b[1merror:\x1b[0m ")
    result = CliRunner(env={"NO_COLOR": "1"}).invoke(
        main, ["study", "check", "no.toml"], color=True
    )
    assert result.stderr.startswith("error: ")


def test_errors_leave_stdout_empty_with_json_too(folder, run):
    assert run("study", "show", "no.toml", "--json", code=1).stdout == ""


def test_out_of_memory_is_told(folder, fails, monkeypatch):
    def full(path):
        raise MemoryError

    monkeypatch.setattr("sottovoce.study.Study.load", full)
    assert "memory" in fails("study", "show", "study.toml")


def test_a_bare_system_error_names_the_file(folder, fails, monkeypatch):
    def broken(path):
        raise OSError(5, "Input/output error", "disk")

    monkeypatch.setattr("sottovoce.study.Study.load", broken)
    assert fails("study", "show", "study.toml") == "error: 'disk': Input/output error\n"


def test_interrupted_is_130(folder, run, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("sottovoce.study.Study.load", interrupt)
    assert run("study", "show", "study.toml", code=130).stderr == "interrupted\n"


INTERRUPTED = """
import os, signal
from sottovoce.cli import main
from sottovoce.contract.reports import ReportWriter
append, batches = ReportWriter.append, []
def press_ctrl_c(writer, reports):
    append(writer, reports)
    batches.append(len(reports))
    if len(batches) == 2:
        os.kill(os.getpid(), signal.SIGINT)
ReportWriter.append = press_ctrl_c
main()
"""


def test_ctrl_c_leaves_nothing_behind(folder):
    Path("big.csv").write_text("commute\n" + "car\nbike\n" * 2_000_000)
    arguments = ["randomise", "big.csv", "--study", "study.toml", "--out", "out/r.svr"]
    Path("out").mkdir()
    command = [sys.executable, "-c", INTERRUPTED, *arguments]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (130, "interrupted\n")
    assert not list(Path("out").iterdir())
    assert not list((folder / "receipts").glob("*/*"))


def test_a_closed_pipe_is_quiet(folder):
    reading, writing = os.pipe()
    os.close(reading)
    # Tables, JSON and help print in three ways.
    for line in ("study show study.toml", "study show study.toml --json", "--help", "demo"):
        result = subprocess.run(
            [*COMMAND, *line.split()], stdout=writing, stderr=subprocess.PIPE, text=True
        )
        assert result.stderr == ""
        assert result.returncode == 141, line
    os.close(writing)


@pytest.mark.parametrize("line", ["--help", "--version", "joint --help", "study check study.toml"])
def test_a_full_disk_behind_stdout_is_one_line(folder, line):
    with Path("/dev/full").open("w") as full:  # writing to it fails and does nothing else
        result = subprocess.run(
            [*COMMAND, *line.split()], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (result.returncode, result.stderr) == (1, "error: No space left on device\n")


def test_no_colours_no_boxes_in_a_pipe(folder):
    said = subprocess.run([*COMMAND, "demo"], capture_output=True, text=True, check=True)
    assert "\x1b" not in said.stdout
    assert not set(said.stdout) & set("─│┌┐└┘━┃")
    assert max(map(len, said.stdout.splitlines())) <= 80
    assert said.stderr == ""


def test_a_terminal_without_unicode_is_served(folder):
    Path("study.toml").write_text(
        'format = 1\ntitle = "Gruß"\n[[question]]\nname = "größe"\nvalues = ["klein", "groß"]\n'
        'mechanism = "oue"\nepsilon = 1.0\n'
    )
    Path("a.csv").write_text("größe\n" + "klein\ngroß\n" * 1000)
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    usual = ["--study", "study.toml"]
    for arguments in (
        ["randomise", "a.csv", *usual, "--out", "r.svr"],
        ["estimate", "r.svr", *usual],
        ["estimate", "r.svr", *usual, "--json"],
    ):
        result = subprocess.run(
            [*COMMAND, *arguments], capture_output=True, encoding="ascii", env=ascii_only
        )
        assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["question"] == "größe"


def test_a_terminal_without_unicode_shows_what_can_be_read(folder):
    """A replacement for every sign made differences "this ? last" and the guarantee "? = 1"."""
    Path("study.toml").write_text(
        'format = 1\ntitle = "T"\n[[question]]\nname = "q"\n'
        'values = ["Zürich", "日本", "Łódź", "1½"]\nmechanism = "grr"\nepsilon = 1.0\n'
    )
    Path("a.csv").write_text("q\n" + "Zürich\n日本\nŁódź\n1½\n" * 1000)
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for name in ("this", "last"):
        words = ["randomise", "a.csv", "--study", "study.toml", "--again", "--out", f"{name}.svr"]
        subprocess.run([*COMMAND, *words], check=True, capture_output=True)
    result = subprocess.run(
        [*COMMAND, "compare", "last.svr", "this.svr", "--study", "study.toml"],
        capture_output=True,
        encoding="ascii",
        env=ascii_only,
    )
    lines = result.stdout.splitlines()
    assert lines[0] == "T: q, this - last"
    assert [line.split()[0] for line in lines[4:7]] == ["Zurich", "????", "?odz"]
    assert len({line.index("%") for line in lines[4:7]}) == 1
    assert lines[7].startswith("1 1/2 ")  # neither 112 nor 11/2
    assert lines[-1].startswith("epsilon = 2 for each answer")


def on_a_terminal(*arguments, **environment):
    """The result of a command whose stderr is a terminal, and what it says there."""
    ours, theirs = pty.openpty()
    usual = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    result = subprocess.run(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**usual, **environment},
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        said += block
    os.close(ours)
    return result, said


def test_progress_is_on_stderr_of_a_terminal_only(folder):
    arguments = ["randomise", "answers.csv", "--study", "study.toml", "--out", "r.svr", "--json"]
    result, said = on_a_terminal(*arguments)
    assert json.loads(result.stdout)["people"] == 1000
    assert b"randomising" in said


def test_a_warning_has_no_colour_where_none_is_wanted(folder, run):
    Path("answers.csv").write_text("commute\ncar\nbike\n")
    run("randomise", "answers.csv", "--study", "study.toml", "--out", "r.svr")
    words = ("estimate", "r.svr", "--study", "study.toml")
    _, plain = on_a_terminal(*words, NO_COLOR="1")
    assert b"warning: 2 reports are too few" in plain
    _, coloured = on_a_terminal(*words)
    assert b"\x1b[33m" in coloured


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["guarantee", "study.toml"], "Write: --study study.toml"),
        (["audit", "our study.toml"], "Write: --study 'our study.toml'"),
        (["estimate", "counts.sva", "study.toml"], "Write: --study study.toml"),
        (["estimate", "counts.sva"], "It is the file that `sottovoce study new` writes."),
    ],
    ids=" ".join,
)
def test_who_leaves_out_the_option_for_the_study_is_shown_it(run, arguments, advice):
    assert f"Missing option '--study'. {advice}\n" in run(*arguments, code=2).stderr


def test_ctrl_c_while_the_command_line_is_loaded_is_quiet(monkeypatch, capsys):
    class Slow:
        @property
        def main(self):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "sottovoce.cli", Slow())
    with pytest.raises(SystemExit) as ended:
        run_command()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
