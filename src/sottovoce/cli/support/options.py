"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...errors import FileError
from ...files import target_of

if TYPE_CHECKING:
    from ...mechanism import Mechanism
    from ...study import Study

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


def study_option(command: F) -> F:
    """--study FILE."""
    return click.option(
        "--study", "study_path", type=PATH, required=True, metavar="FILE", help="The study file."
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


def load(study_path: Path, question: str | None) -> tuple[Study, Mechanism]:
    """The study and the mechanism of the question."""
    from ...study import Study

    study = Study.load(study_path)
    return study, study.mechanism(question)


def check_output(path: Path, *inputs: Path, force: bool) -> None:
    """Refuse an output that cannot be written, is an input, or exists, before any work."""
    target_of(path)
    if not path.parent.is_dir():
        raise FileError(
            f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}; make it first"
        )
    for given in inputs:
        if _same(path, given):
            raise FileError(
                f"{str(path)!r} is one of the inputs and would be overwritten; choose another name"
            )
    if path.exists() and not force:
        raise FileError(f"{str(path)!r} exists already; choose another name, or add --force")


def _same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))
