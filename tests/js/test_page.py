"""JavaScript of pages: of the documentation, and what the participant's page says of epsilon."""

from __future__ import annotations

import json
import math
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


def test_an_epsilon_on_the_page_is_never_less_than_it_is(tmp_path: Path) -> None:
    """1.21186 is not 1.21; the round-off of a sum alone adds nothing."""
    some = [0.0, 0.1 + 0.2, 0.0123456, 1.2, 1.21186, 2.0, 9.994, 9.999, 20.0, 123.41]
    every = [*some, *(math.exp(k / 97) for k in range(-300, 500))]
    page = ROOT / "src" / "sottovoce" / "service" / "pages" / "participant-picture.js"
    (tmp_path / "page.mjs").write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "run.mjs").write_text(
        'import { epsilonWords } from "./page.mjs";\n'
        f"console.log(JSON.stringify({json.dumps(every)}.map(epsilonWords)));\n",
        encoding="utf-8",
    )
    done = subprocess.run([node(), "run.mjs"], capture_output=True, check=True, cwd=tmp_path)
    shown = [float(words.removeprefix("ε\xa0=\xa0")) for words in json.loads(done.stdout)]
    assert shown[:10] == [0.0, 0.3, 0.0124, 1.2, 1.22, 2.0, 10.0, 10.0, 20.0, 124.0]
    for epsilon, said in zip(every, shown, strict=True):
        assert epsilon <= said * (1 + 1e-11)
        assert said <= epsilon * 1.0101
