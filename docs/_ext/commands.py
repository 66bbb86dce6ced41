"""Write docs/commands.md from the command line itself: ``python docs/_ext/commands.py``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from sottovoce.cli import main

PAGE = Path(__file__).parents[1] / "commands.md"
_UNWRAPPED = "\b"  # click's mark of a paragraph whose lines stay as they are

HEAD = """\
# Commands

This page is generated from the commands (`python docs/_ext/commands.py`) and matches `--help`. The
[quickstart](quickstart.md) shows the commands in use.

Tables are written to standard output, progress to standard error. Files appear whole or not at all,
and existing files are kept unless you add `--force`.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an error that you can fix; the message says how |
| 2 | wrong usage |
| 130 | interrupted |
| 141 | the program that reads the output has ended, as in `| head` |
"""


def every(
    command: click.Command = main, path: tuple[str, ...] = ("sottovoce",)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its words, groups before their members."""
    yield path, command
    if isinstance(command, click.Group):
        for name, member in command.commands.items():
            yield from every(member, (*path, name))


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_section(path, command) for path, command in every())


def _section(path: tuple[str, ...], command: click.Command) -> str:
    parent = None
    for word in path[:-1]:
        parent = click.Context(main, info_name=word, parent=parent, **main.context_settings)
    context = click.Context(command, info_name=path[-1], parent=parent, **command.context_settings)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    first, *rest = _prose(inspect.cleandoc(command.help or ""))
    parts = [f"\n## `{' '.join(path)}`\n", first, f"```text\n{usage}\n```\n", *rest]
    options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
    rows = [row for row in (_row(option, context) for option in options) if row]
    parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n")
    if isinstance(command, click.Group):
        lines = [
            f"| [`{name}`](#{'-'.join((*path, name))}) | {member.get_short_help_str(200)} |"
            for name, member in command.commands.items()
        ]
        parts.append("\n".join(["| command | what it does |", "|---|---|", *lines]) + "\n")
    return "\n".join(parts)


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; those that click must not wrap are examples."""
    text = re.sub(r"\bNext: sottovoce.*?(?=\n\n|\Z)", "", text, flags=re.DOTALL)  # for terminals
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith(_UNWRAPPED):
            title, *lines = paragraph.removeprefix(_UNWRAPPED).strip("\n").splitlines()
            least = min(len(line) - len(line.lstrip()) for line in lines)
            code = "\n".join(line[least:] for line in lines)
            yield f"{title}\n\n```bash\n{code}\n```\n"
        else:
            words = " ".join(paragraph.split())
            yield _marked(words) + "\n"


def _marked(words: str) -> str:
    """Commands and options in running text as code; brackets are no links."""
    words = re.sub(r"(?<![`\w-])(--[a-z][a-z-]*)", r"`\1`", words)
    return words.replace("[[question]]", "`[[question]]`").replace("$SOTTO", r"\$SOTTO")


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    if record is None:
        return ""
    names, meaning = record
    cell = " ".join(meaning.replace("|", r"\|").split())
    return f"| `{names.replace('|', chr(92) + '|')}` | {_marked(cell)} |"


if __name__ == "__main__":
    PAGE.write_text(page())
