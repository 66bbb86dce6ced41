"""Everything that the user sees: text, tables, guarantees and JSON on stdout, progress on stderr.

Text from files is shown without characters that would control the terminal.
"""

from __future__ import annotations

import json
import math
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ...checks import printable as printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ...promise import Guarantee, Promise

MOST_WIDTH = 110  # wider lines are hard to read
NARROW = 60  # below it, tables do without rules and wide gaps


def print_json(about: dict[str, Any]) -> None:
    """One JSON object, in ASCII, so that no terminal or pipe can corrupt it."""
    click.echo(json.dumps(about, indent=2, allow_nan=False))


def console() -> Console:
    """Where text goes; without colours and boxes when it is not a terminal."""
    from rich.console import Console

    screen = Console(markup=False, emoji=False, highlight=False)
    screen.width = min(screen.width, MOST_WIDTH)
    return screen


def plural(n: int, one: str, many: str = "") -> str:
    """1 person, 2 people."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def heading(text: str) -> Text:
    """A line that begins a section."""
    from rich.text import Text

    return Text(printable(text), style="bold")


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Names on the left, what they are on the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(overflow="fold")
    for name, about in rows:
        table.add_row(name, Text(printable(about)))
    return table


def show_table(out: Console, table: Table, *, keep: bool = False) -> None:
    """Print a table, without spaces at line ends where it goes to a file or pipe.

    Where the screen is too narrow for its columns, every row becomes a short list, unless `keep`
    says that its cells may be broken.
    """
    from rich.measure import Measurement

    wanted = Measurement.get(out, out.options.update(max_width=1000), table).maximum
    if not keep and table.show_header and len(table.columns) > 2 and wanted > out.width:
        _show_stacked(out, table)
        return
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.print(line.rstrip(), soft_wrap=True)


def _show_stacked(out: Console, table: Table) -> None:
    titles = [" ".join(str(column.header).split()) for column in table.columns]
    for first, *cells in zip(*(column.cells for column in table.columns), strict=True):
        rest = (f"{title} {cell}".strip() for title, cell in zip(titles[1:], cells, strict=True))
        parts = [part for part in rest if part not in titles]
        text = textwrap.fill(", ".join(parts), out.width - 2)
        out.print(heading(str(first) or "–"))
        out.print(textwrap.indent(text, "  "), soft_wrap=True)


def table_of(out: Console, columns: Sequence[tuple[str, str]]) -> Table:
    """A table with (title, "left" or "right") columns; a rule under the titles on terminals."""
    from rich import box
    from rich.table import Table

    narrow = out.width < NARROW
    ruled = out.is_terminal and not narrow
    table = Table(
        box=box.SIMPLE_HEAD if ruled else None,
        show_edge=False,
        pad_edge=False,
        # The box's divider takes a column as well.
        padding=(0, 1 if ruled or narrow else 2, 0, 0),
        header_style="bold",
    )
    for title, side in columns:
        table.add_column(title, justify="right" if side == "right" else "left", no_wrap=True)
    return table


def show_rows(
    out: Console, titles: Iterable[str], rows: Iterable[Iterable[str]], left: int = 1
) -> None:
    """A table of which so many columns are aligned on the left, and the others on the right."""
    sides = [(title, "left" if k < left else "right") for k, title in enumerate(titles)]
    table = table_of(out, sides)
    for row in rows:
        table.add_row(*row)
    show_table(out, table)


def percent(value: float, decimals: int) -> str:
    """A fraction as a percentage; never "-0.0"."""
    rounded = round(100 * value, decimals) + 0.0
    return f"{rounded:.{decimals}f} %"


def decimals_for(std_error: float) -> int:
    """As many decimals of a percentage as are meaningful given the standard error."""
    if not std_error > 0:
        return 1
    return min(6, max(1, math.ceil(-math.log10(100 * std_error))))


def bar(value: float, low: float, high: float, most: float, width: int, *, blocks: bool) -> Text:
    """A bar up to `value`, pale between `low` and `high`; in plain signs without `blocks`."""
    from rich.text import Text

    def cells(x: float) -> int:
        return round(min(max(x / most, 0.0), 1.0) * width) if most > 0 else 0

    sure, middle, end = cells(low), cells(value), cells(high)
    signs = ("█", "▓", "░") if blocks else ("#", "=", "-")
    text = Text(no_wrap=True)
    text.append(signs[0] * sure, style="blue")
    text.append(signs[1] * (middle - sure), style="blue")
    text.append(signs[2] * (end - middle), style="bright_black")
    return text


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr; silent where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=max(total, 1))
        yield lambda done: bars.update(task, completed=done)


@contextmanager
def noted() -> Iterator[list[str]]:
    """The warnings raised inside, each once, for JSON; they are also shown as usual."""
    messages: list[str] = []
    before = warnings.showwarning

    def show(message: Warning | str, *arguments: Any, **options: Any) -> None:
        if str(message) not in messages:
            messages.append(str(message))
        before(message, *arguments, **options)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield messages


def show_next(out: Console, command: str) -> None:
    """What to run next."""
    out.print(f"\nNext: sottovoce {command}", style="dim", soft_wrap=True)


def show_outcome(
    out: Console,
    rows: Sequence[tuple[str, str]] = (),
    *,
    notes: Iterable[str] = (),
    warnings: Iterable[str] = (),
    promise: Mapping[str, Any] | None = None,
    then: str = "",
) -> None:
    """What a command has done: facts, notes, the promise, and what to run next.

    `promise` has the arguments of `show_guarantee`.
    """
    if rows:
        show_table(out, facts(rows))
    for note in notes:
        out.print(note)
    for warning in warnings:
        out.print(f"\n{warning}", style="yellow")
    if promise is not None:
        out.print()
        show_guarantee(out, **promise)
    if then:
        show_next(out, then)


# --- guarantees -------------------------------------------------------------------------------


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
    from ...promise.words import AGAINST, NOTIONS, common_promise, meaning, unit_words

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
        rows.append([printable(level), *cells, *strength(promise)])
    show_rows(out, titles, rows)
    parts = [
        f"Each line: {NOTIONS[shared.notion]}.",
        f"Protected: {unit_words(shared.unit, 'that level')}, against {AGAINST[shared.against]}.",
        f"Meaning: {meaning(shared, 'so many', 'so')}",
        *(f"Assuming: {assumption}." for assumption in shared.assuming),
    ]
    words = "\n".join(textwrap.fill(part, width, subsequent_indent="  ") for part in parts)
    out.print(textwrap.indent(words, "  "), soft_wrap=True)


def strength(promise: Promise) -> tuple[str, str, str]:
    """Epsilon, the ratio and the belief, each rounded up."""
    from ...checks import rounded_up

    sure = f"{promise.guess} %" if promise.guess < 100 else "no bound"
    return rounded_up(promise.epsilon, 6), rounded_up(promise.ratio, 3), sure
