"""Options of several commands, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from ...files import check_output as check_output  # an option's file, for every command

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
REPORTS, COUNTS = (".svr", ".parquet", ".pq"), (".sva",)


def study_option(command: F) -> F:
    """--study FILE."""
    return click.option(
        "--study",
        "study_path",
        type=PATH,
        required=True,
        metavar="FILE",
        help="The study file.",
    )(command)


def files_argument(command: F) -> F:
    """Files of counts or reports: names, folders, patterns, addresses of object stores."""

    def files(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> list[str]:
        from ...collect.datasets import files_of

        return files_of(names)

    return click.argument(
        "files",
        type=click.Path(),
        nargs=-1,
        required=True,
        metavar="COUNTS_OR_REPORTS...",
        callback=files,
    )(command)


def study_argument(command: F) -> F:
    """PATH of a study that exists."""
    return click.argument("path", type=PATH)(command)


def plot_option(command: F) -> F:
    """--plot FILE."""
    return click.option(
        "--plot", "picture", type=PATH, metavar="FILE", help="Save a picture: .png, .svg, .pdf."
    )(command)


def confidence_option(command: F) -> F:
    """--confidence."""
    return click.option(
        "--confidence", type=float, default=0.95, show_default=True, help="Of the intervals."
    )(command)


def question_option(command: F) -> F:
    """--question NAME."""
    return click.option(
        "--question",
        metavar="NAME",
        help="Which question or records; not needed if there is only one.",
    )(command)


def json_option(command: F) -> F:
    """--json."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
    )(command)


def guarantee_option(command: F) -> F:
    """--guarantee."""
    return click.option(
        "--guarantee", "full", is_flag=True, help="Also say in full what is promised."
    )(command)


def force_option(command: F) -> F:
    """--force."""
    return click.option("--force", is_flag=True, help="Replace an output file that exists.")(
        command
    )


def allow_equal_option(command: F) -> F:
    """--allow-equal."""
    return click.option(
        "--allow-equal",
        is_flag=True,
        help="Count files with equal content; small ones may be equal by chance.",
    )(command)


def candidates_option(command: F) -> F:
    """--candidates FILE."""
    return click.option(
        "--candidates",
        type=PATH,
        metavar="FILE",
        help="Count only the values in FILE, one on each line: for very many possible values.",
    )(command)


def table_options(command: F) -> F:
    """How a table was saved: the options that become a `Dialect`."""
    options = (
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
    )

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> Any:
        from ...collect.dialect import Dialect

        about = {name: values.pop(name) for name in ("separator", "encoding", "decimal", "sheet")}
        return command(*arguments, dialect=Dialect(**about), **values)

    for option in reversed(options):
        run = option(run)
    return cast(F, run)


def store_option(command: F) -> F:
    """--store WHERE."""
    return click.option(
        "--store",
        metavar="WHERE",
        help="A folder, or postgresql://…; by default a folder beside the study file.",
    )(command)


def store_of(study_path: Path, store: str | None) -> str:
    """Where the collection of a study file is."""
    return store or str(study_path.with_suffix(".collection"))


def certificate_option(command: F) -> F:
    """--certificate FILE."""
    return click.option(
        "--certificate", type=PATH, metavar="FILE", help="The only one to trust, for https."
    )(command)


def patience_option(command: F) -> F:
    """--patience SECONDS."""
    return click.option(
        "--patience",
        type=click.FloatRange(0),
        default=60.0,
        show_default=True,
        help="Seconds to try again for.",
    )(command)
