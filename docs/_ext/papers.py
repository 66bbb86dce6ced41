"""The gallery of reproduced figures: ``python docs/_ext/papers.py`` writes docs/papers.

Everything on it comes from the papers' folders: verdicts from `expected.json`, pictures as
``sottovoce reproduce --record`` drew them.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from sottovoce.reproduce import Paper, papers

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "papers"
OUTCOMES = ("holds", "holds in part", "does not hold", "cannot be checked")
_INTRODUCTION = """# Five papers, reproduced

Sottovoce grew out of five papers. One command computes all their tables and figures again, on the
same data where available, and judges every claim that numbers can decide:

```console
sottovoce reproduce                                     # everything, on all cores
sottovoce reproduce node-sampling figure-3a --fast      # one figure, a short run
sottovoce reproduce --data FOLDER --out results         # with the real data sets
```

A verdict is about what the numbers say, not about the people who wrote the paper: better methods
exist only because these were published first. Where a claim fails because a theorem
is wrong, the [errata](../errata.md) have a counterexample.

"""


def page(paper: Paper) -> str:
    """A paper's own page: its README."""
    return (
        f"```{{include}} ../../papers/{paper.name}/README.md\n"
        ":relative-images:\n:relative-docs: ../../docs/\n```\n"
    )


def gallery() -> str:
    """The tally of verdicts, and every picture with what it shows."""
    every = [papers.load(name) for name in papers.names()]
    entries = {paper.name: papers.expected(paper.name) for paper in every}
    lines = [
        "| paper | claims judged | " + " | ".join(OUTCOMES[:3]) + " |",
        "|---|---:|---:|---:|---:|",
    ]
    for paper in every:
        count = Counter(
            claim["outcome"] for entry in entries[paper.name].values() for claim in entry["claims"]
        )
        cells = [str(sum(count.values())), *(str(count[outcome]) for outcome in OUTCOMES[:3])]
        lines.append(f"| [{paper.title}]({paper.name}.md) | " + " | ".join(cells) + " |")
    for paper in every:
        lines += [
            "",
            f"## {paper.title}",
            "",
            f"{paper.citation} [All results]({paper.name}.md).",
            "",
        ]
        for figure in paper.figures:
            picture = DOCS / "img" / "papers" / f"{paper.name}-{figure.name}.png"
            if figure.name in entries[paper.name] and picture.exists():
                lines += [
                    f"```{{figure}} ../img/papers/{picture.name}",
                    f":alt: {figure.title}",
                    ":width: 100%",
                    "",
                    f"{_label(figure.name)}: {figure.title}.",
                    "```",
                    "",
                ]
    names = "\n".join(paper.name for paper in every)
    tree = f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return _INTRODUCTION + "\n".join(lines) + "\n\n" + tree


def _label(name: str) -> str:
    return re.sub(r"^(figure|table)-", lambda m: f"{m[1]} ", name).replace("-", " ").capitalize()


def files() -> dict[Path, str]:
    """Every page that is written from the papers' folders."""
    own = {FOLDER / f"{name}.md": page(papers.load(name)) for name in papers.names()}
    return {FOLDER / "index.md": gallery(), **own}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text, "utf-8")
        print(path.relative_to(DOCS))
