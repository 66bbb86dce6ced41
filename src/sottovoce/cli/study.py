"""``sottovoce study``: make, check and show the contract of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .support import designs, written
from .support.options import PATH, check_output, force_option, json_option, load_study
from .support.priors import known_beforehand
from .support.promises import show_promises
from .support.screen import console, facts, heading, plural, print_json, show_table

if TYPE_CHECKING:
    from ..mechanisms.mechanism import Mechanism
    from ..study import Study

_MOST_LISTED = 1 << 20
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
@click.option("--epsilon", type=float, help="Everyone's privacy: above 0, at most 20.")
@click.option(
    "--levels", metavar="NAME=EPS,…", help="Or a menu to choose from: strong=0.5,normal=2."
)
@click.option(
    "--rate",
    metavar="R[,R,…]",
    help="Only some people report: with this probability, or one of these.",
)
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
    epsilon: float | None,
    levels: str | None,
    rate: str | None,
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
      sottovoce study new menu.toml --title "How we get to work" \\
          --question commute --values car,bicycle,train --levels strong=0.5,normal=2 --rate 0.1

    Next: sottovoce study show study.toml --people 10000
    """  # noqa: D301
    from ..domain.ranges import Range
    from ..domain.values import Attribute
    from ..study import Study

    if (values, edges, bounds).count(None) != 2:
        raise click.UsageError("give one of --values, --edges and --range")
    if clip and bounds is None:
        raise click.UsageError("--clip goes with --range")
    if (epsilon is None) == (levels is None):
        raise click.UsageError("give one of --epsilon and --levels")
    menu = None if levels is None else written.menu_from(levels)
    rates = None if rate is None else written.rates_from(rate)
    check_output(path, force=force)
    attribute = (
        Range(question, *bounds, clip=clip, missing=missing)
        if bounds is not None
        else Attribute(
            question,
            () if values is None else written.values_from(values),
            edges=None if edges is None else written.edges_from(edges),
            missing=missing,
        )
    )
    asked = (
        designs.made(attribute, epsilon, menu, rates, mechanism)
        if prior is None
        else known_beforehand(attribute, epsilon, menu, rates, mechanism, prior)
    )
    made = Study(title, (asked,))
    made.save(path, replace=force)
    if as_json:
        print_json({"path": str(path), **_about(made, None)})
        return
    screen = console()
    screen.print(heading(f"{title}: the study is in {path}"))
    _show(screen, made, None)
    more = " --levels COLUMN" * (menu is not None and len(menu) > 1)
    more += " --rate COLUMN" * isinstance(rates, list)
    screen.print(
        f"\nNext: sottovoce randomise answers.csv --study {path}{more} --out reports.svr",
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
    found = load_study(path)
    advice = [line for line in map(designs.advice, found) if line]
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
    found = load_study(path)
    if as_json:
        print_json({"path": str(path), **_about(found, people)})
        return
    screen = console()
    screen.print(heading(found.title))
    _show(screen, found, people)


def _about(found: Study, people: int | None) -> dict[str, Any]:
    questions = []
    for mechanism in found:
        domain = mechanism.domain
        about: dict[str, Any] = {
            "name": getattr(domain, "name", ""),
            # 2^31 numbers are not listed.
            "values": list(domain.labels) if domain.size <= _MOST_LISTED else domain.size,
            "missing": domain.missing,
            **designs.about(mechanism),
            "digest": mechanism.digest.hex(),
        }
        if people is not None:
            about["std_error"] = designs.error(mechanism, people)[0]
        questions.append(about)
    return {
        "title": found.title,
        "digest": found.digest.hex(),
        "people": people,
        "questions": questions,
        "guarantee": found.guarantee.as_dict(),
    }


def _choices(mechanism: Mechanism) -> list[tuple[str, str]]:
    """What people choose or are given, where there is something."""
    from ..participation.choices import menu_of, rates_of

    levels = [f"{name} {level.epsilon:g}" for name, level in menu_of(mechanism).items()]
    rates = [f"{rate:g}" for rate in rates_of(mechanism)]
    return [
        (name, ", ".join(given[:_MOST_SHOWN]) + ", …" * (len(given) > _MOST_SHOWN))
        for name, given in (("levels", levels), ("rates", rates))
        if len(given) > (name == "rates")
    ]


def _show(screen: Any, found: Study, people: int | None) -> None:
    from ..participation.choices import menu_of, rates_of

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
            ("mechanism", designs.words(mechanism)),
            *_choices(mechanism),
        ]
        if people is not None:
            _, words = designs.error(mechanism, people)
            who = plural(people, "person", "people")
            spread = ", spread evenly" * (len(menu_of(mechanism)) + len(rates_of(mechanism)) > 1)
            rows.append(("error", f"standard error {words}, predicted for {who}{spread}"))
        screen.print()
        show_table(screen, facts(rows))
    screen.print()
    show_promises(screen, found.guarantee, levels=found.levels)
