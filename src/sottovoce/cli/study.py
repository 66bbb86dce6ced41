"""``sottovoce study``: make, check and show the contract of a collection."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParameterError
from .support.options import PATH, check_output, force_option, json_option
from .support.priors import known_beforehand
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
@click.option(
    "--range",
    "bounds",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Or public bounds of a number, for its mean and distribution.",
)
@click.option(
    "--clip", is_flag=True, help="With --range: move numbers outside to the nearest bound."
)
@click.option("--epsilon", type=float, required=True, help="Privacy: above 0, at most 20.")
@click.option("--mechanism", help="By default the one with the least error; hybrid for numbers.")
@click.option("--prior", metavar="P[,P,…]", help="Public probabilities of the values: lip.")
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
    bounds: tuple[float, float] | None,
    clip: bool,
    epsilon: float,
    mechanism: str | None,
    prior: str | None,
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
      sottovoce study new mean.toml --title "Mean age" \\
          --question age --range 0 120 --epsilon 1

    Next: sottovoce study show study.toml --people 10000
    """  # noqa: D301
    from ..domain import Attribute
    from ..ranges import Range
    from ..study import Study

    if (values, edges, bounds).count(None) != 2:
        raise click.UsageError("give one of --values, --edges and --range")
    if clip and bounds is None:
        raise click.UsageError("--clip goes with --range")
    check_output(path, force=force)
    attribute = (
        Range(question, *bounds, clip=clip, missing=missing)
        if bounds is not None
        else Attribute(
            question,
            () if values is None else _values(values),
            edges=None if edges is None else _edges(edges),
            missing=missing,
        )
    )
    asked = (
        _mechanism(attribute, epsilon, mechanism)
        if prior is None
        else known_beforehand(attribute, epsilon, mechanism, prior)
    )
    made = Study(title, (asked,))
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
    from ..choose import choose
    from ..mechanisms import Hybrid, by_id
    from ..ranges import Range

    if name is not None:
        return by_id(name)(attribute, epsilon=epsilon)
    if isinstance(attribute, Range):
        return Hybrid(attribute, epsilon=epsilon)
    return choose(attribute, epsilon).mechanism


# --- what they get to see ---------------------------------------------------------------------


def _error(mechanism: Mechanism, people: int) -> tuple[float, str]:
    """Predicted standard error, and of what: an average share, or the mean of numbers."""
    from ..mechanism import LinearMechanism
    from ..mechanisms.numeric import NumericMechanism

    if isinstance(mechanism, LinearMechanism):
        share = math.sqrt(mechanism.total_variance(people) / mechanism.domain.size)
        return share, f"{percent(share, 2)} of each share"
    if isinstance(mechanism, NumericMechanism):
        span = mechanism.domain.high - mechanism.domain.low
        worst = float(mechanism.variance_at([0.0, 0.5, 1.0]).max())
        mean = span * math.sqrt(worst / people)
        return mean, f"at most {mean:.3g} of the mean"
    raise ParameterError(f"no error can be predicted for {mechanism.id!r}")


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
            about["std_error"] = _error(mechanism, people)[0]
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
            _, words = _error(mechanism, people)
            who = plural(people, "person", "people")
            rows.append(("error", f"standard error {words}, predicted for {who}"))
        screen.print()
        show_table(screen, facts(rows))
    screen.print()
    show_guarantee(screen, found.guarantee)


def _advice(found: Study) -> list[str]:
    """Questions for which another mechanism would give a clearly smaller error."""
    lines = []
    for mechanism in found:
        if not mechanism.compared:
            continue
        best = _mechanism(mechanism.domain, mechanism.epsilon, None)  # type: ignore[arg-type]
        ratio = _error(mechanism, 1)[0] / _error(best, 1)[0]
        if ratio > 1.1:
            lines.append(
                f"{getattr(mechanism.domain, 'name', '')!r}: {best.id} promises the same with "
                f"{1 - 1 / ratio:.0%} less error than {mechanism.id}"
            )
    return lines
