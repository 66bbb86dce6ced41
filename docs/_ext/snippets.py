"""Run the pages' snippets: ``python docs/_ext/snippets.py`` renews outputs that have changed.

Pages can be named; all run by default. ``--pictures`` also draws their pictures in docs/img again.

A page's ``python`` blocks use one namespace, its ``sh`` blocks are `sottovoce` commands, and all
of them run in order in one empty folder. A ``text`` block directly after one is its output and is
compared: exactly, or, after a comment line ``% noisy``, without numbers and bars, because the noise
is real. Blocks that cannot run have another tag.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\S*)(?: .*)?$")
NUMBER = re.compile(r"[-+<]?\.?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
BARS = re.compile(r" *[█▓░]+ *$", re.MULTILINE)
NOISY = "% noisy"


@dataclass
class Block:
    """A fenced block: its tag, its text, and the lines of the page between which it stands."""

    tag: str
    text: str
    start: int
    end: int
    shown: Block | None = None
    noisy: bool = False


def pages() -> list[Path]:
    """Every page, in the order of their names."""
    return sorted(DOCS.rglob("*.md"))


def blocks(lines: list[str]) -> list[Block]:
    """The fenced blocks of a page; outputs are attached to what prints them."""
    fenced: list[Block] = []
    opened: tuple[str, int] | None = None
    for k, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence and opened is None:
            opened = (fence[1], k)
        elif line.rstrip() == "```" and opened is not None:
            tag, start = opened
            text = "\n".join(lines[start + 1 : k])
            fenced.append(Block(tag, text, start + 1, k))
            opened = None
    for before, after in pairwise(fenced):
        between = [line.strip() for line in lines[before.end + 1 : after.start - 1]]
        between = [line for line in between if line]
        if before.tag in ("python", "sh") and after.tag == "text" and between in ([], [NOISY]):
            before.shown, before.noisy = after, bool(between)
    return fenced


def shape(text: str) -> str:
    """The text without what noise changes: numbers, bars, and the width of columns."""
    return re.sub(r"[ \t]+", " ", NUMBER.sub("#", BARS.sub("", text))).strip()


def same(block: Block, printed: str) -> bool:
    """Whether a block printed what the page shows."""
    assert block.shown is not None  # noqa: S101, for the type checker
    plain = (re.sub(r"\s+$", "", text, flags=re.MULTILINE) for text in (block.shown.text, printed))
    shown, real = (shape(text) if block.noisy else text.strip() for text in plain)
    return shown == real


def commands(text: str) -> list[list[str]]:
    """The words of each command of a ``sh`` block."""
    joined = text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in joined]
    return [line for line in words if line]


def run_sh(text: str) -> str:
    """The commands' output; an error stops the page."""
    from click.testing import CliRunner

    from sottovoce.cli import main

    printed = []
    for words in commands(text):
        if words[0] != "sottovoce":
            raise ValueError(f"a sh block runs sottovoce only, not {words[0]!r}; use another tag")
        result = CliRunner().invoke(main, words[1:])
        if result.exit_code:
            raise RuntimeError(f"{shlex.join(words)}\n{result.output}") from result.exception
        printed.append(result.output)
    return "\n".join(printed)


def run_python(text: str, space: dict[str, Any], name: str, line: int) -> str:
    """What the code prints."""
    printed = io.StringIO()
    code = compile("\n" * line + text, name, "exec")  # so that errors name the page's line
    with contextlib.redirect_stdout(printed):
        exec(code, space)  # noqa: S102
    return printed.getvalue()


@contextlib.contextmanager
def folder(keep: Path | None = None) -> Iterator[Path]:
    """An empty working folder with receipts and budgets of its own."""
    here = Path.cwd()
    own = {"SOTTOVOCE_RECEIPTS": "receipts", "SOTTOVOCE_BUDGETS": "budgets"}
    before = {name: os.environ.get(name) for name in own}
    with tempfile.TemporaryDirectory() as temporary:
        place = keep or Path(temporary)
        os.chdir(place)
        os.environ.update({name: str(Path(temporary) / file) for name, file in own.items()})
        try:
            yield place
        finally:
            os.chdir(here)
            if "matplotlib.pyplot" in sys.modules:  # a page leaves its figures open
                sys.modules["matplotlib.pyplot"].close("all")
            for name, value in before.items():
                del os.environ[name]
                if value is not None:
                    os.environ[name] = value


def run(page: Path) -> Iterator[tuple[Block, str]]:
    """Each block that runs, with what it printed, in the current folder."""
    space: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page.read_text().splitlines()):
        if block.tag == "python":
            yield block, run_python(block.text, space, str(page), block.start)
        elif block.tag == "sh":
            yield block, run_sh(block.text)


def renew(page: Path, *, pictures: bool = False) -> bool:
    """Write outputs that have changed; whether there were any. Pictures go to docs/img."""
    lines = page.read_text().splitlines()
    changed = []
    with folder() as place:
        for block, printed in run(page):
            if block.shown is not None and not same(block, printed):
                changed.append((block.shown, printed.rstrip().splitlines()))
        for picture in place.glob("*.png"):
            target = DOCS / "img" / picture.name
            if f"img/{picture.name}" in "\n".join(lines) and (pictures or not target.exists()):
                target.write_bytes(picture.read_bytes())
    for shown, real in reversed(changed):
        lines[shown.start : shown.end] = [line.rstrip() for line in real]
    if changed:
        page.write_text("\n".join(lines) + "\n")
    return bool(changed)


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    named = [Path(name).resolve() for name in sys.argv[1:] if name != "--pictures"]
    for page in named or pages():
        changed = renew(page, pictures="--pictures" in sys.argv)
        print(f"{page.relative_to(DOCS)}: {'renewed' if changed else 'as it was'}")
