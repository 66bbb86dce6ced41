"""The pages say only what is true: every snippet runs and prints what the page shows."""

from __future__ import annotations

import re
import sys
import tomllib
import warnings
from pathlib import Path

import click
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.mechanisms import REGISTRY

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

import commands  # noqa: E402
import formulas  # noqa: E402
import snippets  # noqa: E402

PAGES = [page for page in snippets.pages() if page.name != "benchmarks.md"]
RUNNING = {"python", "sh"}


def running(page: Path) -> list[snippets.Block]:
    return [b for b in snippets.blocks(page.read_text().splitlines()) if b.tag in RUNNING]


def named(page: Path) -> str:
    return str(page.relative_to(DOCS))


# --- snippets ------------------------------------------------------------------------------------


# The noise is real: seldom, a likelihood takes more than its most steps, which is only a warning.
@pytest.mark.filterwarnings("ignore::sottovoce.estimate.likelihood.ConvergenceWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if running(page)], ids=named)
def test_every_snippet_runs_and_prints_what_is_shown(page):
    with snippets.folder(), warnings.catch_warnings():
        for block, printed in snippets.run(page):
            if block.shown is not None:
                assert snippets.same(block, printed), (
                    f"{named(page)}, line {block.start}: the page shows\n{block.shown.text}\n"
                    f"but this was printed:\n{printed}"
                )


def shell_commands(page: Path) -> list[list[str]]:
    """Commands of ours that a page shows without running them, such as a server's."""
    fenced = [b for b in snippets.blocks(page.read_text().splitlines()) if b.tag == "bash"]
    every = (words for block in fenced for words in snippets.commands(block.text))
    return [words for words in every if words[0] == "sottovoce"]


@pytest.mark.parametrize("page", [page for page in PAGES if shell_commands(page)], ids=named)
def test_commands_that_are_not_run_are_understood(page):
    for words in shell_commands(page):
        command, rest = main, words[1:]
        while isinstance(command, click.Group):
            assert rest[0] in command.commands, words
            command, rest = command.commands[rest[0]], rest[1:]
        known = {name for option in command.params for name in option.opts}
        options = [word.split("=")[0] for word in rest if word.startswith("--")]
        assert set(options) <= known, words


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_has_a_tag(page):
    for block in snippets.blocks(page.read_text().splitlines()):
        assert block.tag, f"line {block.start}: a block without a tag would not be run"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_blocks_that_do_not_run_are_no_hidden_python(page):
    for block in snippets.blocks(page.read_text().splitlines()):
        if block.tag in {"bash", "text"}:
            assert "import sottovoce" not in block.text, f"line {block.start}: tag it python"


def test_a_wrong_output_would_be_noticed():
    page = ["```python", "print(1 + 1)", "```", "", "```text", "3", "```"]
    (block, _) = snippets.blocks(page)
    assert not snippets.same(block, "2\n")
    assert snippets.same(block, "3\n")


def test_noise_may_change_numbers_and_nothing_else():
    page = ["```python", "…", "```", "% noisy", "```text", "car  0.51 █▓░", "```"]
    (block, _) = snippets.blocks(page)
    assert snippets.same(block, "car  0.49 ██▓░░\n")
    assert not snippets.same(block, "bus  0.49\n")
    assert not snippets.same(block, "car  0.49 0.1\n")


def test_an_error_in_a_command_would_be_noticed():
    with pytest.raises(RuntimeError, match="No such command"):
        snippets.run_sh("sottovoce nothing")
    with pytest.raises(ValueError, match="another tag"):
        snippets.run_sh("rm -rf x")


# --- commands ------------------------------------------------------------------------------------


def test_the_command_reference_is_up_to_date():
    assert commands.PAGE.read_text() == commands.page(), "run: python docs/_ext/commands.py"


@pytest.mark.parametrize("path", [path for path, _ in commands.every()], ids=" ".join)
def test_every_command_and_option_is_documented(path):
    text = commands.PAGE.read_text()
    section = text.split(f"\n## `{' '.join(path)}`\n", 1)[1].split("\n## ", 1)[0]
    command = dict(commands.every())[path]
    for option in command.params:
        if isinstance(option, click.Option):
            assert all(name in section for name in option.opts), option.opts


# --- rooms, mechanisms, names --------------------------------------------------------------------


def test_the_rooms_are_those_of_the_import_contract_in_order():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = contract["tool"]["importlinter"]["contracts"][0]["layers"]
    text = (DOCS / "architecture.md").read_text()
    table = text.split("| room |", 1)[1].split("\n\n", 1)[0]
    rooms = re.findall(r"^\| `(\w+)/?` \|", table, re.MULTILINE)
    for layer in reversed(layers):
        siblings = {name.strip() for name in layer.split("|")}
        here, rooms = rooms[: len(siblings)], rooms[len(siblings) :]
        assert set(here) == siblings
    assert not rooms


@pytest.mark.parametrize("name", REGISTRY)
def test_every_mechanism_has_a_page_with_its_formulas(name):
    kind = REGISTRY[name]
    module = kind.__module__.rsplit(".", 1)[1]
    text = (DOCS / "mechanisms" / f"{module}.md").read_text()
    assert f"automodule:: {kind.__module__}\n" in text
    assert f"autoclass:: sottovoce.{kind.__name__}\n" in text
    index = (DOCS / "mechanisms" / "index.md").read_text()
    assert f"({module}.md)" in index
    assert f"`{name}`" in index


def test_every_public_name_is_documented():
    text = "".join(page.read_text() for page in PAGES)
    for name in set(sv.__all__) - {"__version__"}:
        pattern = rf"^\.\. auto\w+:: sottovoce\.{name}$"
        assert re.search(pattern, text, re.MULTILINE), name


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        for block in snippets.blocks(page.read_text().splitlines()):
            if block.tag == "{toctree}":
                listed |= {
                    (page.parent / line).with_suffix(".md")
                    for line in block.text.splitlines()
                    if line and not line.startswith(":")
                }
    assert {page for page in PAGES if page.name != "index.md" or page.parent != DOCS} <= listed


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_pictures_lead_to_files(page):
    text = page.read_text()
    targets = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text)
    targets += re.findall(r"```\{image\} (\S+)", text)
    for target in targets:
        assert (page.parent / target).exists(), target


def test_formulas_are_marked_up():
    lines = [
        "Channel     p = e^{ε/2} / (c_v + 2^-128), P(y|x)",
        "            and `x_y`",
        "",
        "::",
        "",
        "  a_b^c",
    ]
    converted = list(formulas.converted(lines))
    assert converted[0].startswith(":Channel: p = e\\ :sup:`ε/2`\\ ")
    assert "c\\ :sub:`v`\\ " in converted[0]
    assert "2\\ :sup:`-128`\\ " in converted[0]
    assert r"P(y\|x)" in converted[0]
    assert converted[1] == "    and `x_y`"
    assert converted[-1] == "  a_b^c"


# --- words ---------------------------------------------------------------------------------------

NEVER = re.compile(r"\b(privati[sz]\w*|perturb\w*|saniti[sz]\w*|normali[sz]e\w*)\b", re.I)
# Organisations have budgets, in a ledger; a person has an epsilon, or an allocation of it.
OF_PARTIES = re.compile(r"\n## `sottovoce parties.*?(?=\n## |\Z)", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_words_are_ours(page):
    if page.parent.name == "papers":
        return  # figures have the names that the papers give them
    text = page.read_text()
    assert not NEVER.findall(re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL))
    if not page.name.startswith("parties"):
        assert not re.findall(r"\bbudget\w*", OF_PARTIES.sub("", text), re.IGNORECASE)
