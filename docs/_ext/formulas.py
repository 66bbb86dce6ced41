"""Docstrings write formulas in plain text; here they become lists with raised and lowered signs.

A block such as ::

    Channel     P(y|x) = p if y = x else q,   p = e^ε / (e^ε + d − 1)
    Estimate    f̂_v = (c_v / n − q) / (p − q)

becomes a field list. Powers (e^{ε/2}, 2^-128) are raised and indices (f̂_v) lowered. Literal
blocks and examples are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

FIELD = re.compile(r"^([A-Z][a-z]+) {2,}(\S.*)$")
LITERAL = re.compile(r"(``.+?``|`[^`]+`|(?<!\w)\*[^\s*][^*]*\*(?!\w))")  # and emphasis
RAISED = re.compile(r"\^(?:\{([^}]+)\}|\(([^)]+)\)|([−-]?\w+))")
LOWERED = re.compile(r"(?<=\w)_(\w)(?!\w)|(?<=\u0302)_(\w)(?!\w)")


def marked(text: str) -> str:
    """One line in reStructuredText, its formulas marked up."""
    parts = LITERAL.split(text)
    return "".join(part if k % 2 else _plain(part) for k, part in enumerate(parts))


def _plain(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("*", r"\*").replace("|", r"\|")
    text = LOWERED.sub(lambda m: rf"\ :sub:`{m[1] or m[2]}`\ ", text)
    return RAISED.sub(_raised, text)


def _raised(match: re.Match[str]) -> str:
    power = match[1] or (f"({match[2]})" if match[2] else match[3])
    return rf"\ :sup:`{power}`\ "


def converted(lines: list[str]) -> Iterator[str]:
    """The docstring's lines, with blocks of formulas as field lists."""
    k, literal = 0, False
    while k < len(lines):
        line = lines[k]
        indented = line.startswith((" ", "\t"))
        literal = literal and (indented or not line.strip())
        field = None if literal or indented else FIELD.match(line)
        if field:
            yield f":{field[1]}: {marked(field[2])}"
            while k + 1 < len(lines) and lines[k + 1].startswith("      "):
                k += 1
                yield f"    {marked(lines[k].strip())}"
        elif literal or line.lstrip().startswith((">>>", "...", ".. ", ":")):
            yield line
        else:
            yield marked(line)
        literal = literal or line.rstrip().endswith("::")
        k += 1


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """For autodoc: change the lines in place."""
    lines[:] = list(converted(lines))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx; before numpydoc, whose own markup must stay as it is."""
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True}
