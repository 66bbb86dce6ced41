"""``sottovoce plan``: which design, how many people, which epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import ParameterError
from .support.options import PATH, check_output, force_option, json_option
from .support.screen import console, heading, print_json, show_table, table_of
from .support.tables import check_picture, save_figure

if TYPE_CHECKING:
    from ..plan import Plan


@click.command()
@click.option("--values", "d", type=int, metavar="D", help="How many values the question has.")
@click.option(
    "--range", "bounds", nargs=2, type=float, metavar="LOW HIGH", help="Or the bounds of a number."
)
@click.option("--people", "n", type=int, metavar="N", help="How many people report.")
@click.option("--epsilon", type=float, help="Everyone's privacy: above 0, at most 20.")
@click.option("--levels", metavar="NAME=EPS,…", help="Or a menu, such as strong=0.5,normal=2.")
@click.option("--error", type=float, help="Wanted standard error of a share, or of the mean.")
@click.option(
    "--plot", "picture", type=PATH, metavar="FILE", help="Error against epsilon and people."
)
@force_option
@json_option
def plan(
    d: int | None,
    bounds: tuple[float, float] | None,
    n: int | None,
    epsilon: float | None,
    levels: str | None,
    error: float | None,
    picture: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Rank designs before anyone is asked.

    Give two of --people, --epsilon (or --levels) and --error; the third is worked out.

    \b
    Examples:
      sottovoce plan --values 6 --people 10000 --epsilon 1     which mechanism, how exact?
      sottovoce plan --values 6 --epsilon 1 --error 0.01       how many people?
      sottovoce plan --values 6 --people 10000 --error 0.01    which epsilon?

    Next: sottovoce study new study.toml … --mechanism NAME
    """  # noqa: D301
    from ..plan import plan as make

    if picture is not None:
        check_picture(picture)
        check_output(picture, force=force)
    menu = None if levels is None else _menu(levels)
    found = make(d=d, bounds=bounds, n=n, epsilon=epsilon, levels=menu, error=error)
    if picture is not None:
        save_figure(found.plot, picture)
    if as_json:
        print_json(
            {
                "requirement": found.requirement.words(),
                "designs": found.rows(),
                "plot": None if picture is None else str(picture),
            }
        )
        return
    _show(found, picture)


def _show(found: Plan, picture: Path | None) -> None:
    screen = console()
    screen.print(heading(found.requirement.words()))
    titles = ("people", "epsilon", "std error", "95 % interval", "bytes", "decode steps")
    table = table_of(screen, [("mechanism", "left"), *((title, "right") for title in titles)])
    for design in found:
        table.add_row(
            design.name,
            f"{design.n:,}",
            design.epsilon_words,
            f"{design.std_error:.3g}",
            f"± {1.96 * design.std_error:.3g}",
            f"{design.report_bytes:,}",
            f"{design.decode_steps:.2g}",
        )
    show_table(screen, table)
    unit = "an average share" if found.requirement.d is not None else "the mean"
    screen.print(f"\nStandard errors are those of {unit}, as predicted.", style="dim")
    if picture is not None:
        screen.print(f"The picture is in {picture}.")


def _menu(text: str) -> dict[str, float]:
    menu: dict[str, float] = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        try:
            menu[name.strip()] = float(value)
        except ValueError as error:
            raise ParameterError(
                f"--levels is {text!r}; levels are names with an epsilon each, such as "
                "strong=0.5,normal=2"
            ) from error
    return menu
