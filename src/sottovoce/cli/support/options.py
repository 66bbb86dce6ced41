"""Options of several commands, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ...files import files_of
from .command import Asked, Output, gather
from .numbers import PATIENCE, PORT, REAL

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
REPORTS, COUNTS = (".svr", ".parquet", ".pq"), (".sva",)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


#: Where a relay between machines listens.
relay_place_options = together(
    click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen."),
    click.option(
        "--port",
        type=PORT,
        default=8765,
        show_default=True,
        help="Port to listen on; 0 for any that is free.",
    ),
)


def files_argument(command: F) -> F:
    """Files of counts or reports: names, folders, patterns, addresses of object stores."""

    def files(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> list[str]:
        return files_of(names)

    return click.argument(
        "files",
        type=click.Path(),
        nargs=-1,
        required=True,
        metavar="COUNTS_OR_REPORTS...",
        callback=files,
    )(command)


def out_option(words: str) -> Callable[[F], F]:
    """--out FILE."""
    return click.option("--out", type=PATH, required=True, metavar="FILE", help=words)


def plot_option(words: str = "Save a picture: .png, .svg, .pdf.") -> Callable[[F], F]:
    """--plot FILE."""
    return click.option("--plot", "picture", type=PATH, metavar="FILE", help=words)


study_option = click.option(
    "--study", "study_path", type=PATH, required=True, metavar="FILE", help="The study file."
)
question_option = click.option(
    "--question",
    metavar="NAME",
    help="Which question or records; not needed if there is only one.",
)
confidence_option = click.option(
    "--confidence", type=REAL, default=0.95, show_default=True, help="Confidence of the intervals."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
)
guarantee_option = click.option(
    "--guarantee", "full", is_flag=True, help="Also state the guarantee in full."
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
simultaneous_option = click.option(
    "--simultaneous",
    is_flag=True,
    help="Wider intervals, which hold for all values at once and not each on its own.",
)
sort_option = click.option(
    "--sort", is_flag=True, help="Largest first, in table and picture; otherwise as declared."
)

#: --study FILE and --question NAME.
asked_options = together(study_option, question_option, gather("asked", Asked))

#: --json, which becomes an `Output` with whatever other options of a result there are.
json_output = together(json_option, gather("output", Output))
file_output = together(force_option, json_output)
full_output = together(guarantee_option, file_output)
#: All options of a command that estimates.
result_options = together(
    confidence_option,
    simultaneous_option,
    sort_option,
    plot_option(),
    csv_option,
    allow_equal_option,
    full_output,
)

#: --patience SECONDS and --certificate FILE, of every command that calls a server.
server_options = together(
    click.option(
        "--patience",
        type=PATIENCE,
        default=60.0,
        show_default=True,
        help="How many seconds to keep trying.",
    ),
    click.option(
        "--certificate", type=PATH, metavar="FILE", help="The only certificate to trust, for HTTPS."
    ),
)


def _dialect(**about: str) -> Any:
    from ...collect.dialect import Dialect

    return Dialect(**about)


#: How a table was saved: the options that become a `Dialect`.
table_options = together(
    click.option(
        "--separator",
        default=",",
        metavar="SIGN",
        help="What separates the cells of a CSV file: ';', '|' or tab; a comma by default.",
    ),
    click.option(
        "--encoding",
        default="utf-8",
        metavar="NAME",
        help="Encoding of a CSV file: latin-1, cp1252, utf-16, …; utf-8 by default.",
    ),
    click.option(
        "--decimal", default=".", metavar="SIGN", help="Decimal sign in a CSV file: '.' or ','."
    ),
    click.option(
        "--sheet", default="", metavar="NAME", help="Sheet of a workbook; by default the first."
    ),
    gather("dialect", _dialect, "separator", "encoding", "decimal", "sheet"),
)
