"""``sottovoce joint``: the distribution of attributes of records together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..collect.counting import count_files
from ..errors import ParameterError
from .support.command import Asked, Output, console, heading, plural, print_json, progress
from .support.estimates import estimate_json, noted, show_estimate
from .support.guarantees import show_guarantee
from .support.numbers import INT
from .support.options import asked_options, files_argument, result_options
from .support.saving import picture_of


@click.command()
@files_argument
@asked_options
@click.option(
    "--attribute", "names", required=True, multiple=True, metavar="NAME", help="Once for each axis."
)
@click.option(
    "--given",
    multiple=True,
    metavar="NAME",
    help="Fractions among people with the same value of this attribute, one of those named.",
)
@click.option(
    "--percent",
    type=click.Choice(["all", "rows", "columns"]),
    help="For two attributes: fractions of everyone (default), of each value of the first, or of "
    "each value of the second.",
)
@click.option(
    "--method",
    default="model-average",
    show_default=True,
    help="Also em-ll2, em-full, kronecker (two attributes, unbiased) or product (independent "
    "attributes); the page on records describes all.",
)
@click.option("--stop", type=INT, metavar="STEPS", help="EM steps; by default cross-validated.")
@result_options
def joint(
    files: list[str],
    asked: Asked,
    names: tuple[str, ...],
    given: tuple[str, ...],
    percent: str | None,
    method: str,
    stop: int | None,
    allow_equal: bool,
    output: Output,
) -> None:
    """Estimate a joint table of attributes of records.

    Gives a fraction with an interval for every combination of values: of everyone, or with --given
    of the people who have a value in common. For two attributes it also gives their mutual
    information, and --plot draws a heat map. Takes the files, folders, quoted patterns and
    addresses of object stores that `aggregate` takes.

    \b
    Examples:
      sottovoce joint counts.sva --study health.toml \\
          --attribute smokes --attribute age --plot heat.png
      sottovoce joint counts.sva --study health.toml \\
          --attribute smokes --attribute age --given age --csv smokes-by-age.csv

    Next: sottovoce estimate counts.sva --study health.toml --attribute smokes
    """  # noqa: D301
    from ..estimate.intervals import normal_quantile

    collection, confidence = asked.collection, output.confidence
    output.check(asked.study_path, *map(Path, files))
    given = _conditions(names, given, percent)
    options: dict[str, Any] = {} if stop is None else {"stop": stop}
    collection.check_joint(names, method, **options)
    normal_quantile(confidence)
    if method == "kronecker" and len(names) > 2:
        raise ParameterError(
            f"'kronecker' is for two attributes, {len(names)} were asked for: its error would be "
            "larger than the table; use --method model-average"
        )
    counts = count_files(files, collection, allow_equal=allow_equal, progress=progress).aggregate
    bars: list[Callable[[int], None]] = []
    if method in ("model-average", "em-ll2", "em-full", "pgm"):
        options["progress"] = lambda step, of: bars[-1](100 * step // max(of, 1))
    with noted() as warned:
        with progress("fitting", 100) as done:
            bars.append(done)
            table = collection.joint(counts, names, method=method, **options)
        with progress("errors", 100) as done:
            bars.append(done)
            table.interval(confidence)
        shown: Any = table
        if given:
            of = [name for name in table.names if name not in given]
            shown = table.conditional(of, given)
    if len(shown.attributes) == 2:
        output.save(lambda: picture_of("heatmap", shown, **output.intervals), shown)
    else:
        output.save(lambda: shown.plot(**output.intervals, sort=output.sort), shown)
    information: dict[str, float] | None = None
    if len(names) == 2:
        (row,) = table.mutual_information(*table.names).rows(confidence)
        information = {key: value for key, value in row.items() if key != "value"}
    reports = counts.reports if table.reports is None else table.reports
    if output.as_json:
        named = {"study": asked.study.title, "question": collection.name, "given": list(given)}
        more = {} if information is None else {"mutual_information": information}
        fields = estimate_json(shown, reports, **output.intervals, picture=output.picture)
        print_json({**named, **fields, "steps": table.steps, **more, "warnings": warned})
        return
    screen = console()
    screen.print(heading(f"{asked.study.title}: {shown.name}"))
    steps = "" if table.steps is None else f", {plural(table.steps, 'step')}"
    people = "" if reports == table.n else f" of {table.n:,} people"
    screen.print(f"{plural(reports, 'report')}{people}, {table.method}{steps}")
    if table.steps == 0 and stop is None and len(names) > 1:
        screen.print(
            "No dependence was found: this is the product of the attributes' own fractions."
        )
    screen.print()
    show_estimate(screen, shown, **output.intervals, sort=output.sort)
    if given:
        each = " and ".join(given)
        screen.print(f"\nFractions of the people with the same {each}; they sum to 100 % for each.")
    if information is not None:
        screen.print(
            f"\nMutual information: {information['estimate']:.3f} nats "
            f"({information['low']:.3f} to {information['high']:.3f}); 0 would be independence."
        )
    output.show_files(screen)
    if table.assuming:
        screen.print(f"\nAssuming: {table.assuming}.", style="dim")
    screen.print()
    title = "What is promised to someone who reports every attribute"
    show_guarantee(screen, table.guarantee, title, full=output.full)


def _conditions(
    names: tuple[str, ...], given: tuple[str, ...], percent: str | None
) -> tuple[str, ...]:
    """The attributes within whose values fractions are shown."""
    if given and percent:
        raise ParameterError("--given and --percent say the same thing twice; give one of them")
    if percent is not None and len(names) != 2:
        raise ParameterError(
            f"--percent is for two attributes, {len(names)} are named; use --given"
        )
    if percent in ("rows", "columns"):
        return (names[percent == "columns"],)
    for name in given:
        if name not in names:
            raise ParameterError(
                f"--given is {name!r}; it must be one of the attributes named with --attribute, "
                f"{', '.join(map(repr, names))}"
            )
    if given and not set(names) - set(given):
        raise ParameterError("--given names every attribute; leave out the one of interest")
    return tuple(dict.fromkeys(given))
