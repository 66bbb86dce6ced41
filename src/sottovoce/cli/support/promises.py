"""Guarantees on the screen: of levels in one table, with the words that they share once."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .screen import heading, printable, show_guarantee, show_table, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from ...promise import Guarantee, Promise


def show_promises(
    out: Console,
    guarantee: Guarantee,
    title: str = "What is promised",
    *,
    levels: Sequence[str] = (),
    counts: Mapping[str, Sequence[int]] | None = None,
    who: str = "people",
) -> None:
    """The guarantee in plain words; `levels` are the names of its promises, in order.

    With `counts`, [people, reports] of each level stand beside it; `who` names the first.
    """
    shared = _shared(guarantee, levels)
    if shared is None:
        show_guarantee(out, guarantee, title)
        return
    out.print(heading(title))
    sampled = counts is not None and any(n != s for n, s in counts.values())
    columns = [("level", "left")]
    columns += [(who, "right")] * (counts is not None) + [("reports", "right")] * sampled
    columns += [("epsilon", "right"), ("times as likely", "right"), ("sure at most", "right")]
    table = table_of(out, columns)
    for name, promise in zip(levels, guarantee.promises, strict=True):
        found = () if counts is None else counts[name]
        cells = [f"{n:,}" for n in found[: 1 + sampled]]
        table.add_row(printable(name), *cells, *strength(promise))
    show_table(out, table)
    _show_words(out, shared, "so many")


def show_words(out: Console, guarantee: Guarantee, levels: Sequence[str]) -> None:
    """What the promises of all levels have in common, where a table beside says the rest."""
    shared = _shared(guarantee, levels)
    if shared is None:
        out.print(textwrap.indent(guarantee.words(out.width - 3), "  "), soft_wrap=True)
    else:
        _show_words(out, shared, "e^epsilon")


def _show_words(out: Console, shared: Promise, ratio: str) -> None:
    from ...promise.words import meaning, unit_words

    parts = [
        f"Each line: {shared.notion}.",
        f"Protected: {unit_words(shared.unit, 'that level')}, against {shared.against}.",
        f"Meaning: {meaning(shared, ratio, 'so')}",
        *(f"Assuming: {assumption}." for assumption in shared.assuming),
    ]
    width = out.width - 3
    words = "\n".join(textwrap.fill(part, width, subsequent_indent="  ") for part in parts)
    out.print(textwrap.indent(words, "  "), soft_wrap=True)


def strength(promise: Promise) -> tuple[str, str, str]:
    """Epsilon, the ratio and the belief, each rounded up."""
    from ...checks import rounded_up

    return rounded_up(promise.epsilon, 6), rounded_up(promise.ratio, 3), f"{promise.guess} %"


def _shared(guarantee: Guarantee, levels: Sequence[str]) -> Promise | None:
    """The promise that all levels make, but for epsilon and the level itself; or None."""
    promises = guarantee.promises
    if len(promises) < 2 or [p.unit.level for p in promises] != list(levels):
        return None
    if any(p.delta for p in promises):
        return None
    first, *others = (replace(p, epsilon=0.0, unit=replace(p.unit, level=None)) for p in promises)
    return first if all(other == first for other in others) else None
