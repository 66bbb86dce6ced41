"""The documentation's JavaScript runs and prints what the page shows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .node import node

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def test_the_snippet_for_node_prints_what_is_shown(tmp_path: Path, monkeypatch) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "javascript.md").read_text(encoding="utf-8"))
    tags = [tag for tag, _ in blocks]
    python = next(text for tag, text in blocks if tag == "python")
    at = tags.index("javascript")
    monkeypatch.chdir(tmp_path)
    exec(python, {})
    (tmp_path / "clients").symlink_to(ROOT / "clients")
    (tmp_path / "example.mjs").write_text(blocks[at][1], encoding="utf-8")
    done = subprocess.run(
        [node(), "example.mjs"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    shown = next(text for tag, text in blocks[at + 1 :] if tag == "text")
    assert done.stdout == shown
