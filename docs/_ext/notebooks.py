"""Pages as executed notebooks: ``python docs/_ext/notebooks.py`` writes docs/notebooks.

A page's text becomes markdown cells, its code becomes code cells, and what the page shows below the
code (text and pictures) becomes their output. The tests run the pages, so the outputs are real; a
notebook that no longer fits its page is noticed as well.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from snippets import DOCS, NOISY, Block, blocks

#: The pages that people may want to run and change.
PAGES = ("quickstart", "tutorial", "gallery", "numbers", "compare", "population", "records")
FOLDER = DOCS / "notebooks"
_LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")


def notebook(page: Path) -> dict[str, Any]:
    """The page as a notebook, format 4."""
    lines = page.read_text("utf-8").splitlines()
    cells: list[dict[str, Any]] = []
    start = 0
    shown: Block | None = None
    for block in blocks(lines):
        text = [line for line in lines[start : block.start - 1] if line.strip() != NOISY]
        _add_text(cells, "\n".join(text))
        start = block.end + 1
        if block.tag in ("python", "sh"):
            code = block.text if block.tag == "python" else _shell(block.text)
            cells.append(_code(code, block.shown.text if block.shown else None))
            shown = block.shown
        elif block.tag == "{image}":
            _add_picture(cells, lines[block.start - 1])
        elif shown is None or block.start != shown.start:
            tag = "" if block.tag.startswith("{") else block.tag
            _add_text(cells, f"```{tag}\n{block.text}\n```")
    _add_text(cells, "\n".join(lines[start:]))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _shell(text: str) -> str:
    """A command line in a cell."""
    joined = text.replace("\\\n", " ").splitlines()
    return "\n".join(f"!{' '.join(line.split())}" for line in joined if line.strip())


def _code(text: str, output: str | None) -> dict[str, Any]:
    outputs = [] if output is None else [_stream(output)]
    return {
        "cell_type": "code", "execution_count": None, "metadata": {}, "outputs": outputs,
        "source": text,
    }  # fmt: skip


def _stream(text: str) -> dict[str, Any]:
    return {"name": "stdout", "output_type": "stream", "text": text + "\n"}


def _add_text(cells: list[dict[str, Any]], text: str) -> None:
    # Links between pages lead to the pages, one folder up.
    text = _LINK.sub(r"](../\1)", text).strip()
    if text:
        cells.append({"cell_type": "markdown", "metadata": {}, "source": text})


def _add_picture(cells: list[dict[str, Any]], fence: str) -> None:
    """A picture becomes output of the code before it."""
    name = fence.split()[-1]
    data = base64.b64encode((DOCS / name).read_bytes()).decode("ascii")
    code = next(cell for cell in reversed(cells) if cell["cell_type"] == "code")
    code["outputs"].append(
        {"data": {"image/png": data}, "metadata": {}, "output_type": "display_data"}
    )


def text_of(page: Path) -> str:
    """The notebook's file."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        (FOLDER / f"{name}.ipynb").write_text(text_of(DOCS / f"{name}.md"), "utf-8")
        print(f"notebooks/{name}.ipynb")
