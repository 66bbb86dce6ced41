"""``sottovoce plan``: which design, how many people, which epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import ParameterError
from .support.command import Output, show_rows
from .support.numbers import INT, REAL
from .support.options import file_output, plot_option
from .support.parse import MENU, levels_from, numbers_from

if TYPE_CHECKING:
    from rich.console import Console

    from ..planning.plan import Plan

_ROUNDING = 0.1 + 1e-9  # in %: three times 33.3 % is everyone


@click.command()
@click.option("--values", "d", type=INT, metavar="D", help="How many values the question has.")
@click.option(
    "--range", "bounds", nargs=2, type=REAL, metavar="LOW HIGH", help="Or the bounds of a number."
)
@click.option(
    "--attributes", metavar="D,D,…", help="Or how many values each attribute of a record has."
)
@click.option("--people", "n", type=INT, metavar="N", help="How many people there are.")
@click.option("--epsilon", type=REAL, help="Everyone's privacy: above 0, at most 20.")
@click.option(
    "--levels",
    metavar="NAME=EPS,…",
    help="Or a menu, such as strong=0.5,normal=2; with the fraction of people who choose each, "
    "strong=0.5:30%,normal=2:70%, or in proportion, strong=0.5:3,normal=2:7.",
)
@click.option("--rate", type=REAL, help="Fraction of people who report, drawn at random.")
@click.option(
    "--traffic", type=REAL, metavar="BYTES", help="Or a limit on the size of all reports."
)
@click.option(
    "--delta", type=REAL, default=0.0, help="If above 0, secure protocols are compared as well."
)
@click.option(
    "--count",
    type=INT,
    help="A public lower bound on the holders of each value; for protocols that sample.",
)
@click.option(
    "--collusion",
    type=INT,
    default=0,
    help="How many people may work together with a recipient of a secure protocol's result.",
)
@click.option("--error", type=REAL, help="Target standard error of a fraction, or of the mean.")
@plot_option("Error against epsilon and people.")
@file_output
def plan(
    attributes: str | None,
    levels: str | None,
    rate: float | None,
    output: Output,
    **requirement: Any,
) -> None:
    """Rank designs before anyone is asked.

    Give two of --people, --epsilon (or --levels) and --error; the third is computed. With
    --rate not everyone reports; --traffic computes how often people of each level should.

    \b
    Examples:
      sottovoce plan --values 6 --people 10000 --epsilon 1     which mechanism, how precise?
      sottovoce plan --values 6 --epsilon 1 --error 0.01       how many people?
      sottovoce plan --values 6 --people 10000 --error 0.01    which epsilon?
      sottovoce plan --values 6 --levels strong=0.5:30%,normal=2:70% --error 0.01
                                                               how many of each level?
      sottovoce plan --values 6 --people 10000 --levels strong=0.5,normal=2 --traffic 8000
                                                               how often should each report?
      sottovoce plan --attributes 4,4,2 --people 10000 --epsilon 2     how to ask for records?
      sottovoce plan --values 30 --people 1000 --epsilon 1 --delta 1e-5 --count 33
                                                               local, or a secure protocol?

    Next: sottovoce study new study.toml … --mechanism NAME
    """  # noqa: D301
    from ..planning.plan import plan as make

    output.check()
    if levels is not None:
        requirement["levels"], requirement["fractions"] = _menu(levels)
    if attributes is not None:
        hint = "give numbers of values, such as 4,4,2"
        requirement["attributes"] = numbers_from(attributes, "--attributes", hint, kind=int)
    if rate is not None:
        requirement["rate"] = rate
    designs = make(**requirement)
    output.save(designs.plot)
    title = designs.requirement.words()
    about = {"requirement": title, "designs": designs.rows(), "verdict": designs.verdict()}
    screen = output.begin({**about, **output.plot()}, title)
    if screen is not None:
        _show(screen, designs)
        output.show_files(screen)


def _show(screen: Console, designs: Plan) -> None:
    asked = designs.requirement
    columns = designs.columns()
    if not asked.attributes:
        columns[0] = ("mechanism", columns[0][1])
    elif not asked.error:
        columns = [column for column in columns if column[0] != "people"]
    if not asked.attributes and not asked.personal:
        width = designs.decimals
        columns.insert(4, ("95 % interval", lambda x: f"± {1.96 * x.std_error:.{width}f}"))
        columns.append(("decode steps", lambda x: f"{x.decode_steps:,.0f}"))
    cells = {title: [cell(design) for design in designs] for title, cell in columns}
    # A narrow screen goes without what was given or matters least.
    spare = ["decode steps", "bytes"] + ["people"] * (asked.n is not None)
    spare += ["epsilon"] * (len(asked.levels) == 1) + ["95 % interval"]
    while spare and sum(max(map(len, [x, *cells[x]])) + 2 for x in cells) - 2 > screen.width:
        cells.pop(spare.pop(0), None)
    show_rows(screen, cells, zip(*cells.values(), strict=True))
    if designs.by_role():
        titles, *rows = designs.by_role()
        screen.print(f"\n{designs.verdict()}\n\nOne member of each role:")
        show_rows(screen, titles, rows, left=2)
    if designs.by_level():
        screen.print(f"\n{designs.by_level()}")
    if designs.mean_only():
        screen.print(f"\n{designs.mean_only()}")
    unit = "the mean" if asked.bounds is not None else "an average fraction"
    screen.print(f"\nStandard errors are those of {unit}, as predicted.", style="dim")
    if asked.attributes:
        screen.print(
            "'tuple' and 'sample one' may spend all of the record's "
            "epsilon on any answer; the others keep each answer's own part.",
            style="dim",
        )
    if len(asked.levels) > 1:
        screen.print(
            "They hold whatever people of each level answer; 'if alike' is the error of the "
            "default estimate if all levels answer alike.",
            style="dim",
        )


def _menu(text: str) -> tuple[dict[str, float], dict[str, float] | None]:
    """Levels with their epsilons, and the fraction of people of each where they are given."""
    menu: dict[str, float] = {}
    fractions: dict[str, float] = {}
    hint, percents = f"{MENU}, or with fractions strong=0.5:30%,normal=2:70%", 0
    for name, value in levels_from(text, hint).items():
        epsilon, colon, fraction = value.partition(":")
        (menu[name],) = numbers_from(text, "--levels", hint, items=[epsilon])
        if colon:
            percents += fraction.endswith("%")
            items = [fraction.removesuffix("%")]
            (fractions[name],) = numbers_from(text, "--levels", hint, items=items)
    if fractions and len(fractions) < len(menu):
        raise ParameterError(
            f"--levels is {text!r}; give the fraction of people for every level or for none"
        )
    if percents not in (0, len(menu)):
        raise ParameterError(f"--levels is {text!r}; give all fractions in % or none")
    total = sum(fractions.values())
    if percents and not abs(total - 100) <= _ROUNDING:
        raise ParameterError(
            f"--levels is {text!r}; the fractions sum to {total:.6g} %, and they must sum to "
            "100 %: correct them, or leave all of them out"
        )
    return menu, fractions or None
