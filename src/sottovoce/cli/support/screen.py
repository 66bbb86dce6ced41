"""What the user sees: text and tables, JSON on stdout, progress bars on stderr."""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ...domain.text import printable as printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ...promise.guarantee import Guarantee

MOST_WIDTH = 110  # wider lines are hard to read


def print_json(about: dict[str, Any]) -> None:
    """One JSON object, in ASCII, so that no terminal or pipe can spoil it."""
    click.echo(json.dumps(about, indent=2, allow_nan=False))


def console() -> Console:
    """Where text goes; without colours and boxes when it is not a terminal."""
    from rich.console import Console

    made = Console(markup=False, emoji=False, highlight=False)
    made.width = min(made.width, MOST_WIDTH)
    return made


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


def show_table(out: Console, table: Table) -> None:
    """Print a table, without spaces at line ends where it goes to a file or pipe."""
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.print(line.rstrip(), soft_wrap=True)


def show_guarantee(out: Console, guarantee: Guarantee, title: str = "What is promised") -> None:
    """The guarantee in plain words."""
    out.print(heading(title))
    lines = map(printable, guarantee.words(out.width - 3).splitlines())
    words = textwrap.indent("\n".join(lines), "  ")
    out.print(words, soft_wrap=True)


def table_of(out: Console, columns: Sequence[tuple[str, str]]) -> Table:
    """A table with (title, "left" or "right") columns; a rule under the titles on terminals."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD if out.is_terminal else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1 if out.is_terminal else 2, 0, 0),  # the box's divider takes a column, too
        header_style="bold",
    )
    for title, side in columns:
        table.add_column(title, justify="right" if side == "right" else "left", no_wrap=True)
    return table


def percent(value: float, decimals: int) -> str:
    """A fraction as a percentage; never "-0.0"."""
    rounded = round(100 * value, decimals) + 0.0
    return f"{rounded:.{decimals}f} %"


def decimals_for(std_error: float) -> int:
    """As many decimals of a percentage as the standard error lets mean something."""
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
    drawn = Text(no_wrap=True)
    drawn.append(signs[0] * sure, style="blue")
    drawn.append(signs[1] * (middle - sure), style="blue")
    drawn.append(signs[2] * (end - middle), style="bright_black")
    return drawn


def shows_blocks(out: Console) -> bool:
    """Whether the output's encoding has block signs."""
    return out.encoding.lower().startswith("utf")


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr that is told how much is done; silent where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    screen = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=screen, transient=True) as bars:
        task = bars.add_task(what, total=max(total, 1))
        yield lambda done: bars.update(task, completed=done)
