"""README and docs say only what is true: snippets run, commands exist, links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def shape(text: str) -> str:
    """The text with every estimated number replaced, since the noise is real."""
    return re.sub(r" +-?\d\.\d{4}", " #", text)


def test_the_snippet_prints_what_the_readme_shows():
    (code,) = blocks("python")
    (shown,) = blocks("text")
    printed = io.StringIO()
    space: dict[str, object] = {}
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), space)
    assert shape(printed.getvalue()) == shape(shown)


def test_the_numbers_shown_are_plausible():
    (shown,) = blocks("text")
    rows = re.findall(r"^\w+ +(\d\.\d{4}) +(\d\.\d{4}) to +(\d\.\d{4})$", shown, re.MULTILINE)
    values, low, high = np.array(rows, float).T
    m = sv.GRR(4, epsilon=1.0)
    truth = np.array([0.52, 0.29, 0.13, 0.06])
    counts = np.rint(10_000 * (values * float(m.p - m.q) + float(m.q))).astype(int)
    behind = sv.Aggregate(m.id, m.digest, {m.table: counts}, 10_000, 10_000)
    interval = m.estimate(behind).interval()
    assert np.allclose(low, interval.low, atol=1e-4)
    assert np.allclose(high, interval.high, atol=1e-4)
    assert (np.abs(values - truth) < 5 * np.sqrt(m.variance(truth, 10_000))).all()


def test_the_code_is_at_most_eight_lines():
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 8 + 1  # and the import


def test_the_stated_standard_error_is_right():
    stated = re.search(r"standard error of about (\d\.\d) percentage points", README)
    assert stated is not None
    error = np.sqrt(sv.GRR(4, epsilon=1.0).variance(np.full(4, 0.25), 10_000))
    assert np.round(error * 100, 1).tolist() == [float(stated[1])] * 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_public_name_of_the_readme_exists():
    for name in re.findall(r"`sv\.(\w+)", README):
        assert hasattr(sv, name), name


def test_the_file_commands_run(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from sottovoce.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", str(tmp_path / "receipts"))
    rows = ["car"] * 520 + ["train"] * 290 + ["bike"] * 130 + ["foot"] * 60
    Path("answers.csv").write_text("\n".join(["commute", *rows]) + "\n")
    script = next(block for block in blocks("sh") if "randomise" in block)
    commands = script.replace("\\\n", " ").splitlines()
    assert len(commands) == 4
    for command in commands:
        words = shlex.split(command, comments=True)
        assert words[0] == "sottovoce"
        result = CliRunner().invoke(main, words[1:])
        assert result.exit_code == 0, (command, result.output)
    assert Path("commute.png").stat().st_size > 0


def test_the_two_commands_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for command in ("demo", "test"):
        assert f"make {command}" in README
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)
