"""Options of several commands, so that they mean the same everywhere.

Options that belong together reach a command as one small object, which `gather` makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from ...files import check_output as check_output  # an option's file, for every command

if TYPE_CHECKING:
    from ...contract.collection import Collection
    from ...service.stores import Store
    from ...study import Study

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
REPORTS, COUNTS = (".svr", ".parquet", ".pq"), (".sva",)

study_option = click.option(
    "--study", "study_path", type=PATH, required=True, metavar="FILE", help="The study file."
)
question_option = click.option(
    "--question",
    metavar="NAME",
    help="Which question or records; not needed if there is only one.",
)
confidence_option = click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Of the intervals."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
)
guarantee_option = click.option(
    "--guarantee", "full", is_flag=True, help="Also say in full what is promised."
)
force_option = click.option("--force", is_flag=True, help="Replace an output file that exists.")
allow_equal_option = click.option(
    "--allow-equal",
    is_flag=True,
    help="Count files with equal content; small ones may be equal by chance.",
)
candidates_option = click.option(
    "--candidates",
    type=PATH,
    metavar="FILE",
    help="Count only the values in FILE, one on each line: for very many possible values.",
)
csv_option = click.option(
    "--csv",
    "csv_path",
    type=PATH,
    metavar="FILE",
    help="Save a tidy table: what each value is, estimate, std_error, low, high.",
)


def files_argument(command: F) -> F:
    """Files of counts or reports: names, folders, patterns, addresses of object stores."""

    def files(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> list[str]:
        from ...files import files_of

        return files_of(names)

    return click.argument(
        "files",
        type=click.Path(),
        nargs=-1,
        required=True,
        metavar="COUNTS_OR_REPORTS...",
        callback=files,
    )(command)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


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


def out_option(words: str) -> Callable[[F], F]:
    """--out FILE."""
    return click.option("--out", type=PATH, required=True, metavar="FILE", help=words)


def _dialect(**about: str) -> Any:
    from ...collect.dialect import Dialect

    return Dialect(**about)


#: How a table was saved: the options that become a `Dialect`.
table_options = together(
    click.option(
        "--separator",
        default=",",
        metavar="SIGN",
        help="Between the cells of a CSV file: ';', '|' or tab; a comma by default.",
    ),
    click.option(
        "--encoding",
        default="utf-8",
        metavar="NAME",
        help="Of a CSV file: latin-1, cp1252, utf-16, …; utf-8 by default.",
    ),
    click.option(
        "--decimal", default=".", metavar="SIGN", help="Of numbers in a CSV file: '.' or ','."
    ),
    click.option(
        "--sheet", default="", metavar="NAME", help="Of a workbook; by default the first."
    ),
    gather("dialect", _dialect, "separator", "encoding", "decimal", "sheet"),
)


@dataclass
class InStudy:
    """What the options of a command name in a study."""

    study_path: Path

    @cached_property
    def study(self) -> Study:
        """The study in the file."""
        from ...study import Study

        return Study.load(self.study_path)


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
        which = f" --question {self.collection.name}" * (len(self.study) > 1)
        which += " --attribute NAME" * bool(self.collection.allocations)
        return f"estimate {path} --study {self.study_path}{which}"


#: --study FILE and --question NAME.
asked_options = together(study_option, question_option, gather("asked", Asked))


@dataclass
class Place(InStudy):
    """Where the reports of a collection are kept."""

    store: str | None

    @property
    def address(self) -> str:
        """Of the store; by default a folder beside the study file."""
        return self.store or str(self.study_path.with_suffix(".collection"))

    @contextmanager
    def open(self, *, create: bool = False) -> Iterator[tuple[Study, Store]]:
        """The study and its store."""
        from ...service.stores import open_store

        with closing(open_store(self.address, self.study.digest, create=create)) as keep:
            yield self.study, keep


study_argument = click.argument("study_path", type=PATH, metavar="STUDY")
store_option = click.option(
    "--store",
    metavar="WHERE",
    help="A folder, or postgresql://…; by default a folder beside the study file.",
)
#: --store WHERE, which together with STUDY says where a collection is.
place_options = together(store_option, gather("place", Place))

#: --patience SECONDS and --certificate FILE, of every command that calls a server.
server_options = together(
    click.option(
        "--patience",
        type=click.FloatRange(0),
        default=60.0,
        show_default=True,
        help="Seconds to try again for.",
    ),
    click.option(
        "--certificate", type=PATH, metavar="FILE", help="The only one to trust, for https."
    ),
)
