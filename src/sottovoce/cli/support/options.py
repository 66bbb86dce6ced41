"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...errors import StudyError
from ...files import check_output as check_output  # an option's file, for every command

if TYPE_CHECKING:
    from ...mechanisms.mechanism import Mechanism
    from ...study import Study

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
REPORTS, COUNTS = (".svr", ".parquet", ".pq"), (".sva",)


def study_option(command: F) -> F:
    """--study FILE."""
    return click.option(
        "--study", "study_path", type=PATH, required=True, metavar="FILE", help="The study file."
    )(command)


def records_option(command: F) -> F:
    """--records FILE."""
    return click.option(
        "--records",
        "schema",
        type=PATH,
        required=True,
        metavar="FILE",
        help="The file of attributes.",
    )(command)


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
        "--question", metavar="NAME", help="Which question; not needed if there is only one."
    )(command)


def json_option(command: F) -> F:
    """--json."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
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


def load_study(path: Path) -> Study:
    """The study in a file."""
    from ...study import Study
    from .attributes import is_records

    try:
        return Study.load(path)
    except StudyError as error:
        if not is_records(path):
            raise
        raise StudyError(
            f"{str(path)!r} is a file of records, not a study; use sottovoce records show, "
            "randomise, aggregate, marginal or joint with it"
        ) from error


def load(study_path: Path, question: str | None) -> tuple[Study, Mechanism]:
    """The study and the mechanism of the question."""
    study = load_study(study_path)
    return study, study.mechanism(question)
