"""Common parts of the `account` commands: options, words and the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .show import console, heading, print_json, show_guarantee, show_table, table_of

if TYPE_CHECKING:
    from ...accounting import Comparison
    from ...promise import Promise

F = TypeVar("F", bound=Callable[..., Any])


def epsilon_option(command: F) -> F:
    """--epsilon E."""
    return click.option(
        "--epsilon", type=float, required=True, help="Before the account: above 0, at most 20."
    )(command)


def delta_option(command: F) -> F:
    """--delta D."""
    return click.option(
        "--delta", type=float, default=0.0, show_default=True, help="Before the account."
    )(command)


def sample_option(command: F) -> F:
    """--sample secret, seen or picked."""
    return click.option(
        "--sample",
        type=click.Choice(["secret", "seen", "picked"]),
        default="secret",
        show_default=True,
        help="Who knows the sample: only someone trusted; the server sees it; the server picks it. "
        "The last two gain nothing and are refused.",
    )(command)


def show_comparison(rows: list[Comparison], picture: Path | None) -> None:
    """The table of a comparison."""
    from ...checks import rounded_up

    first = rows[0]
    screen = console()
    screen.print(
        heading(f"{first.values:,} values, {first.people:,} people, delta = {first.delta:g}")
    )
    titles = ("local epsilon", "epsilon", "shuffled", "trusted server", "ratio", "nobody trusted")
    table = table_of(screen, [(title, "right") for title in titles])
    for row in rows:
        table.add_row(
            f"{row.local_epsilon:g}",
            rounded_up(row.epsilon, 3),
            f"{row.shuffled_error:.3g}",
            f"{row.gaussian_error:.3g}",
            f"{row.ratio:.2f}",
            f"{row.local_error:.3g}",
        )
    show_table(screen, table)
    for line in (
        "",
        "Standard errors of an average fraction; all keep the epsilon of the second column.",
        "shuffled: GRR with the local epsilon, mixed by a trusted shuffler",
        "trusted server: sees every answer and adds Gaussian noise",
        "nobody trusted: GRR with the epsilon of the second column",
    ):
        screen.print(line, style="dim")
    if picture is not None:
        screen.print(f"The picture is in {picture}.")


def say(name: str, promise: Promise, as_json: bool, **parameters: Any) -> None:
    """A promise in plain words, or as JSON together with the inputs."""
    from ...promise import Guarantee

    promised = Guarantee((promise,))
    if as_json:
        print_json({"account": name, "given": parameters, "guarantee": promised.as_dict()})
        return
    show_guarantee(console(), promised)


def central_promise(promise: Promise) -> Promise:
    """The same numbers against those who see a result; its assumptions are not known here."""
    from dataclasses import replace

    from ...promise import DP, Against, Neighbours, Protected, Unit
    from ...promise.assumptions import EVERY_ROUND

    return replace(
        promise,
        notion=DP,
        neighbours=Neighbours.UNSTATED,
        unit=Unit(Protected.CONTRIBUTION),
        against=Against.RESULT,
        assuming=(EVERY_ROUND,),
    )
