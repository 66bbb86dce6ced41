"""What is promised, in plain words or in one line."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...checks import printable
from .command import heading, show_rows

if TYPE_CHECKING:
    from rich.console import Console

    from ...promise import Guarantee


def show_guarantee(
    out: Console,
    guarantee: Guarantee,
    title: str = "What is promised",
    *,
    full: bool = True,
    after: str = "",
    counts: Mapping[str, Sequence[int]] | None = None,
) -> None:
    """The guarantee in plain words, or without `full` in one line; `after` ends line or title.

    Levels whose promises differ only in epsilon are shown in one table, with [people, reports] of
    each where `counts` has them.
    """
    from ...promise.words import common_promise, filled, level_cells, levels_words

    if not full:
        line = printable(f"{guarantee.line()}{after}; details: --guarantee")
        out.print(line, soft_wrap=not out.is_terminal)
        return
    out.print(heading(f"{title}{after}"))
    shared = common_promise(guarantee)
    width = out.width - 3
    if shared is None:
        lines = "\n".join(map(printable, guarantee.words(width).splitlines()))
        out.print(textwrap.indent(lines, "  "), soft_wrap=True)
        return
    sampled = counts is not None and any(n != s for n, s in counts.values())
    numbers = ["people", "reports"][: 0 if counts is None else 1 + sampled]
    titles = ["level", *numbers, "epsilon", "times as likely", "sure at most"]
    rows = []
    for promise in guarantee.promises:
        level = str(promise.unit.level)
        cells = [f"{n:,}" for n in (counts or {}).get(level, ())[: len(numbers)]]
        rows.append([printable(level), *cells, *level_cells(promise)])
    show_rows(out, titles, rows)
    out.print(textwrap.indent(filled(levels_words(shared), width), "  "), soft_wrap=True)
