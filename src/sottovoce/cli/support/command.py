"""What every command uses: what its options name, and how its result is shown.

Options that belong together reach a command as one small object, which `gather` makes of them.
Text, tables and JSON go to stdout, progress to stderr. Text from files is shown without characters
that would control the terminal.
"""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from ...checks import printable
from ...errors import ParameterError
from ...files import check_output
from .saving import PICTURES, save_csv, save_figure

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ...contract.collection import Collection
    from ...estimate.estimate import Estimate
    from ...study import Study

F = TypeVar("F", bound=Callable[..., Any])

MOST_WIDTH = 110  # wider lines are hard to read
USUAL_WIDTH = 80
LEAST_WIDTH = 20  # below it, columns of tables vanish
NARROW = 60  # below it, tables do without rules and wide gaps


def gather(name: str, kind: Callable[..., Any], *keys: str) -> Callable[[F], F]:
    """Pass the options of a dataclass (or these) to a command as one object with that name."""
    own = keys or tuple(field.name for field in fields(cast(Any, kind)))

    def decorate(command: F) -> F:
        @wraps(command)
        def run(**values: Any) -> Any:
            about = {key: values.pop(key) for key in own if key in values}
            return command(**{name: kind(**about)}, **values)

        return cast(F, run)

    return decorate


@dataclass
class InStudy:
    """What the options of a command name in a study."""

    study_path: Path

    @cached_property
    def study(self) -> Study:
        """The study in the file."""
        from ...study import Study

        return Study.load(self.study_path)

    def estimate_command(self, path: Path, one: Collection) -> str:
        """The command that estimates what a file holds of a question, or of records."""
        which = ["--question", one.name] * (len(self.study) > 1)
        which += ["--attribute", "NAME"] * bool(one.allocations)
        return shlex.join(["estimate", str(path), "--study", str(self.study_path), *which])


@dataclass
class Asked(InStudy):
    """A question, or records."""

    question: str | None

    @cached_property
    def collection(self) -> Collection:
        """Of the question that was named, or of the only one."""
        return self.study.collection(self.question)

    def as_dict(self) -> dict[str, str]:
        """Plain data, for JSON."""
        return {
            "study": self.study.title,
            "question": self.collection.name,
            "mechanism": self.collection.id,
            "design": self.collection.words,
            "digest": self.study.digest.hex(),
            "question_digest": self.collection.digest.hex(),
        }

    def rows(self) -> list[tuple[str, str]]:
        """The question, and the beginnings of the two digests that reports depend on."""
        one, study = self.collection, self.study.digest.hex()[:12]
        digests = f"study {study}…, {one.section} {one.digest.hex()[:12]}…"
        return [("question", f"{one.name}: {one.words}"), ("digest", digests)]

    def next_estimate(self, path: Path) -> str:
        """The command that estimates what a file holds."""
        return self.estimate_command(path, self.collection)


@dataclass(frozen=True, kw_only=True)
class Output:
    """How a result is shown, and the files it goes to, as far as a command has these options."""

    as_json: bool
    full: bool = False
    force: bool = False
    out: Path = Path()
    picture: Path | None = None
    csv_path: Path | None = None
    confidence: float = 0.95
    simultaneous: bool = False
    sort: bool = False

    @property
    def intervals(self) -> dict[str, Any]:
        """Which intervals are shown."""
        return {"confidence": self.confidence, "simultaneous": self.simultaneous}

    def check(self, *inputs: Path, ends: tuple[str, ...] = ()) -> None:
        """Refuse files that cannot be written, before any work; `ends` are those of --out."""
        if ends:
            check_output(self.out, *inputs, force=self.force, ends=ends)
        if self.picture is not None:
            if self.picture.suffix.lower() not in PICTURES:
                raise ParameterError(
                    f"a picture cannot be saved as {self.picture.name!r}; its name must end in "
                    f"{', '.join(PICTURES)}"
                )
            check_output(self.picture, *inputs, force=self.force)
        if self.csv_path is not None:
            check_output(self.csv_path, *inputs, force=self.force, ends=(".csv",))

    def save(self, draw: Callable[[], Any], estimate: Estimate | None = None) -> None:
        """Write the picture that `draw` makes, and the table of the estimate, where asked for."""
        if self.picture is not None:
            save_figure(draw, self.picture)
        if self.csv_path is not None and estimate is not None:
            save_csv(self.csv_path, estimate.columns(**self.intervals))

    def begin(self, about: dict[str, Any], title: str = "") -> Console | None:
        """The screen, with the title on it; None where one JSON object was printed instead."""
        if self.as_json:
            print_json(about)
            return None
        screen = console()
        if title:
            screen.print(heading(title))
        return screen

    def show(
        self,
        about: dict[str, Any],
        title: str,
        rows: Sequence[tuple[str, str]] = (),
        *,
        notes: Iterable[str] = (),
        warnings: Iterable[str] = (),
        promise: Mapping[str, Any] | None = None,
        then: str = "",
    ) -> None:
        """What a command has done: facts, notes, the promise, and what to run next; or JSON.

        `promise` has the arguments of `show_guarantee`.
        """
        screen = self.begin(about, title)
        if screen is None:
            return
        if rows:
            show_table(screen, facts(rows))
        for note in notes:
            screen.print(note)
        for warning in warnings:
            screen.print(f"\n{warning}", style="yellow")
        if promise is not None:
            from .guarantees import show_guarantee

            screen.print()
            show_guarantee(screen, **promise)
        if then:
            show_next(screen, then)

    def plot(self) -> dict[str, str | None]:
        """Where the picture is, for JSON."""
        return {"plot": None if self.picture is None else str(self.picture)}

    def show_files(self, out: Console) -> None:
        """Where picture and table are, if there are any."""
        for what, path in (("picture", self.picture), ("table", self.csv_path)):
            if path is not None:
                out.print(f"The {what} is in {path}.")


def print_json(about: dict[str, Any]) -> None:
    """One JSON object, in ASCII, so that no terminal or pipe can corrupt it."""
    click.echo(json.dumps(about, indent=2, allow_nan=False))


def console() -> Console:
    """Where text goes; without colours and boxes when it is not a terminal."""
    from rich.console import Console

    screen = Console(markup=False, emoji=False, highlight=False)
    # COLUMNS=0 means that nobody knows; at a few columns nothing at all would be printed.
    screen.width = min(max(screen.width or USUAL_WIDTH, LEAST_WIDTH), MOST_WIDTH)
    return screen


def plural(n: int, one: str, many: str = "") -> str:
    """1 person, 2 people."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(value: float, decimals: int) -> str:
    """A fraction as a percentage; never "-0.0"."""
    rounded = round(100 * value, decimals) + 0.0
    return f"{rounded:.{decimals}f} %"


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


def show_next(out: Console, command: str) -> None:
    """What to run next."""
    out.print(f"\nNext: sottovoce {command}", style="dim", soft_wrap=True)
