"""``sottovoce study``: make, check and show the contract of a collection."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParameterError
from .support.options import PATH, check_output, force_option, json_option
from .support.screen import (
    console,
    facts,
    heading,
    percent,
    plural,
    print_json,
    show_guarantee,
    show_table,
)

if TYPE_CHECKING:
    from ..domain import Attribute
    from ..mechanism import Mechanism
    from ..study import Study

_SIMPLE = ("grr", "oue")
_MOST_SHOWN = 12


@click.group()
def study() -> None:
    """Make, check or show a study.

    A study is the contract of a collection: what is asked, and how answers are randomised.

    \b
    Example:
      sottovoce study new study.toml --title "How we get to work" \\
          --question commute --values car,bicycle,train --epsilon 1

    Next: sottovoce randomise answers.csv --study study.toml --out reports.svr
    """  # noqa: D301


@study.command()
@click.argument("path", type=PATH)
@click.option("--title", required=True, help="What the study is about.")
@click.option("--question", required=True, metavar="NAME", help="Name of the question.")
@click.option("--values", metavar="A,B,…", help="Possible answers, or a number d for 0 to d-1.")
@click.option("--edges", metavar="A,B,…", help="Or bin edges for numbers, such as 0,18,65,inf.")
@click.option("--epsilon", type=float, required=True, help="Privacy: above 0, at most 20.")
@click.option("--mechanism", help="By default grr or oue, the one with the smaller error.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "value", "public"]),
    default="refuse",
    show_default=True,
    help='A missing answer: an error; the value "no answer"; or publicly known and left out.',
)
@force_option
@json_option
def new(
    path: Path,
    title: str,
    question: str,
    values: str | None,
    edges: str | None,
    epsilon: float,
    mechanism: str | None,
    missing: Any,
    force: bool,
    as_json: bool,
) -> None:
    """Write a study file with one question.

    A study may ask more: add [[question]] blocks to the file before anyone answers. Any change to
    the file makes it another study, whose reports do not mix with those of the first.

    \b
    Examples:
      sottovoce study new study.toml --title "How we get to work" \\
          --question commute --values car,bicycle,train --epsilon 1 --missing value
      sottovoce study new ages.toml --title "Ages" \\
          --question age --edges 0,18,65,inf --epsilon 2

    Next: sottovoce study show study.toml --people 10000
    """  # noqa: D301
    from ..domain import Attribute
    from ..study import Study

    if (values is None) == (edges is None):
        raise click.UsageError("give either --values or --edges")
    check_output(path, force=force)
    attribute = Attribute(
        question,
        () if values is None else _values(values),
        edges=None if edges is None else _edges(edges),
        missing=missing,
    )
    made = Study(title, (_mechanism(attribute, epsilon, mechanism),))
    made.save(path, replace=force)
    if as_json:
        print_json({"path": str(path), **_about(made, None)})
        return
    screen = console()
    screen.print(heading(f"{title}: the study is in {path}"))
    _show(screen, made, None)
    screen.print(
        f"\nNext: sottovoce randomise answers.csv --study {path} --out reports.svr",
        style="dim",
        soft_wrap=True,
    )


@study.command()
@click.argument("path", type=PATH)
@json_option
def check(path: Path, as_json: bool) -> None:
    """Say whether a study file can be used.

    If not, what is wrong with it.

    \b
    Example:
      sottovoce study check study.toml

    The exit code is 0 for a good study and 1 for a bad one. Next: sottovoce study show study.toml
    """  # noqa: D301
    from ..study import Study

    found = Study.load(path)
    advice = _advice(found)
    if as_json:
        print_json({"path": str(path), "ok": True, **_about(found, None), "advice": advice})
        return
    screen = console()
    screen.print(
        f"{path} is a good study: {found.title!r}, {plural(len(found), 'question')}, "
        f"digest {found.digest.hex()[:12]}…",
        soft_wrap=True,
    )
    for line in advice:
        screen.print(line, style="yellow")


@study.command()
@click.argument("path", type=PATH)
@click.option(
    "--people", type=click.IntRange(1), metavar="N", help="Predict the error for N people."
)
@json_option
def show(path: Path, people: int | None, as_json: bool) -> None:
    """Show questions, values and guarantee.

    With --people also how exact the shares will be.

    \b
    Example:
      sottovoce study show study.toml --people 10000

    Next: sottovoce randomise answers.csv --study study.toml --out reports.svr
    """  # noqa: D301
    from ..study import Study

    found = Study.load(path)
    if as_json:
        print_json({"path": str(path), **_about(found, people)})
        return
    screen = console()
    screen.print(heading(found.title))
    _show(screen, found, people)


# --- what people write ------------------------------------------------------------------------


def _items(text: str) -> list[str]:
    items = [item.strip() for item in next(csv.reader([text], skipinitialspace=True), [])]
    if not items or not all(items):
        raise ParameterError(
            f"{text!r} has an empty entry; separate entries by single commas, such as a,b,c"
        )
    return items


def _values(text: str) -> int | list[str] | list[int]:
    items = _items(text)
    # "007" stays text: it would not be found again as the number 7.
    if not all(item.removeprefix("-").isdecimal() and str(int(item)) == item for item in items):
        return items
    return int(items[0]) if len(items) == 1 else [int(item) for item in items]


def _edges(text: str) -> list[float]:
    try:
        return [float(item) for item in _items(text)]
    except ValueError as error:
        raise ParameterError(
            f"--edges is {text!r}; edges are numbers in rising order, such as 0,18,65,inf"
        ) from error


def _mechanism(attribute: Attribute, epsilon: float, name: str | None) -> Mechanism:
    from ..mechanisms import by_id

    if name is not None:
        return by_id(name)(attribute, epsilon=epsilon)
    return min((by_id(each)(attribute, epsilon=epsilon) for each in _SIMPLE), key=_total_variance)


def _total_variance(mechanism: Mechanism) -> float:
    from ..mechanism import PureMechanism

    return mechanism.total_variance() if isinstance(mechanism, PureMechanism) else math.inf


# --- what they get to see ---------------------------------------------------------------------


def _std_error(mechanism: Mechanism, people: int) -> float | None:
    """Predicted standard error of an answer that one in d people gives."""
    from ..mechanism import PureMechanism

    if not isinstance(mechanism, PureMechanism):
        return None
    return math.sqrt(float(mechanism.variance([1 / mechanism.domain.size], people)[0]))


def _about(found: Study, people: int | None) -> dict[str, Any]:
    questions = []
    for mechanism in found:
        domain = mechanism.domain
        about: dict[str, Any] = {
            "name": getattr(domain, "name", ""),
            "values": list(domain.labels),
            "missing": domain.missing,
            "mechanism": mechanism.id,
            **mechanism.parameters,
            "digest": mechanism.digest.hex(),
        }
        if people is not None:
            about["std_error"] = _std_error(mechanism, people)
        questions.append(about)
    return {
        "title": found.title,
        "digest": found.digest.hex(),
        "people": people,
        "questions": questions,
        "guarantee": found.guarantee.as_dict(),
    }


def _show(screen: Any, found: Study, people: int | None) -> None:

    show_table(screen, facts([("digest", found.digest.hex())]))
    for mechanism in found:
        domain = mechanism.domain
        values = ", ".join(map(str, domain.labels[:_MOST_SHOWN]))
        more = domain.size - _MOST_SHOWN
        rows = [
            ("question", str(getattr(domain, "name", ""))),
            (
                "values",
                f"{domain.size:,}: {values}" + (f", … and {more:,} more" if more > 0 else ""),
            ),
            ("missing", domain.missing),
            ("mechanism", f"{mechanism.id}, epsilon = {mechanism.epsilon:g}"),
        ]
        if people is not None:
            error = _std_error(mechanism, people)
            rows.append(
                (
                    "error",
                    "not known beforehand"
                    if error is None
                    else f"standard error {percent(error, 2)} of each share, predicted for "
                    f"{plural(people, 'person', 'people')}; 95 % intervals of ± "
                    f"{percent(1.96 * error, 2)}",
                )
            )
        screen.print()
        show_table(screen, facts(rows))
    screen.print()
    show_guarantee(screen, found.guarantee)


def _advice(found: Study) -> list[str]:
    """Questions for which the other mechanism would give a clearly smaller error."""
    lines = []
    for mechanism in found:
        best = _mechanism(mechanism.domain, mechanism.epsilon, None)  # type: ignore[arg-type]
        ratio = math.sqrt(_total_variance(mechanism) / _total_variance(best))
        if math.isfinite(ratio) and ratio > 1.1:
            lines.append(
                f"{getattr(mechanism.domain, 'name', '')!r}: {best.id} promises the same with "
                f"{1 - 1 / ratio:.0%} less error than {mechanism.id}"
            )
    return lines
