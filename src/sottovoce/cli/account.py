"""``sottovoce account``: when more privacy may be claimed than epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .support.command import Output, show_rows
from .support.guarantees import show_guarantee
from .support.numbers import INT, REAL
from .support.options import file_output, json_output, plot_option
from .support.parse import numbers_from
from .support.sampled_counts import sampled_counts
from .support.saving import picture_of

if TYPE_CHECKING:
    from ..promise import Promise

epsilon_option = click.option(
    "--epsilon", type=REAL, required=True, help="Epsilon before the account: above 0, at most 20."
)
delta_option = click.option(
    "--delta", type=REAL, default=0.0, show_default=True, help="Delta before the account."
)
sample_option = click.option(
    "--sample",
    type=click.Choice(["secret", "seen", "picked"]),
    default="secret",
    show_default=True,
    help="Who knows the sample: only someone trusted; the server sees it; the server picks it. "
    "The last two gain nothing and are refused.",
)
values_option = click.option(
    "--values", "d", type=INT, required=True, metavar="D", help="Number of values."
)
people_option = click.option(
    "--people", type=INT, required=True, metavar="N", help="How many people report."
)


@click.group()
def account() -> None:
    """Compute how samples, shufflers or rounds change a promise.

    Each account names who must be trusted for it, and is refused where it does not hold. Every
    command takes --json.

    \b
    Example:
      sottovoce account shuffle --epsilon 2 --people 5000 --delta 1e-6

    Next: sottovoce plan --values 6 --people 10000 --epsilon 2 says how precise the fractions will
    be.
    """  # noqa: D301


@account.command()
@epsilon_option
@delta_option
@click.option(
    "--rate",
    required=True,
    metavar="P[,P…]",
    help="Probability of being in the sample; one for each answer is refused unless all are equal.",
)
@sample_option
@json_output
def poisson(epsilon: float, delta: float, rate: str, sample: Any, output: Output) -> None:
    """Everyone enters a secret sample by their own coin flip.

    Holds for a result computed from the sample by someone trusted. It does not hold for reports
    that are seen one by one: there the loss stays epsilon.

    \b
    Example:
      sottovoce account poisson --epsilon 1 --rate 0.1

    Next: sottovoce account rounds --epsilon 0.159 --central --rounds 10
    """  # noqa: D301
    from .. import accounting
    from ..accounting.sampling import refuse_value_dependent

    one = refuse_value_dependent(epsilon, numbers_from(rate, "--rate"))
    promise = accounting.poisson(epsilon, one, delta=delta, sample=sample)
    _say(promise, output, epsilon=epsilon, delta=delta, rate=one)


@account.command()
@epsilon_option
@delta_option
@click.option("--sampled", type=INT, required=True, metavar="S", help="How many are drawn.")
@click.option("--people", type=INT, required=True, metavar="N", help="Out of how many people.")
@sample_option
@json_output
def fixed(sample: Any, output: Output, **given: Any) -> None:
    """A secret sample of fixed size, without replacement.

    Give the epsilon (and delta) that the result keeps for the people in the sample; for shuffled
    reports that is what `account shuffle` gives for this many people.

    \b
    Example:
      sottovoce account fixed --epsilon 1 --sampled 1000 --people 10000

    Next: sottovoce account rounds --epsilon 0.159 --central --rounds 10
    """  # noqa: D301
    from .. import accounting

    _say(accounting.fixed_size(sample=sample, **given), output, **given)


@account.command()
@epsilon_option
@values_option
@click.option("--rate", type=REAL, required=True, metavar="P", help="Probability of being chosen.")
@json_output
def dummies(output: Output, **given: Any) -> None:
    """GRR where those not chosen report a random value.

    Nobody needs to be trusted for it, and it saves no traffic: everyone sends.

    \b
    Example:
      sottovoce account dummies --epsilon 1 --values 4 --rate 0.1

    Next: sottovoce account poisson --epsilon 1 --rate 0.1 shows what trust would gain.
    """  # noqa: D301
    from .. import accounting

    _say(accounting.dummies(**given), output, **given)


@account.command()
@epsilon_option
@people_option
@click.option("--delta", type=REAL, required=True, help="Above 0; choose it far below 1 / people.")
@click.option(
    "--bound",
    type=click.Choice(["numerical", "grr", "closed-form"]),
    default="numerical",
    show_default=True,
    help="Which bound: for any mechanism; for GRR over --values; or the "
    "published formula, where it was proven.",
)
@click.option("--values", "d", type=INT, metavar="D", help="Number of values, for GRR.")
@click.option(
    "--labelled", is_flag=True, help="Reports carry a level, mechanism or rate; give --crowd."
)
@click.option("--crowd", type=INT, metavar="N", help="People in the smallest group with one label.")
@json_output
def shuffle(output: Output, **given: Any) -> None:
    """A trusted shuffler mixes everyone's reports.

    Everyone reports once, with the same mechanism and epsilon, and reports carry no labels. With
    labels, a report hides only among those with the same label.

    \b
    Examples:
      sottovoce account shuffle --epsilon 2 --people 5000 --delta 1e-6
      sottovoce account shuffle --epsilon 2 --people 5000 --delta 1e-6 --bound grr --values 100
      sottovoce account shuffle --epsilon 2 --people 5000 --delta 1e-6 --labelled --crowd 800

    Next: sottovoce account compare --values 10 --people 5000 --delta 1e-6
    """  # noqa: D301
    from .. import accounting

    _say(accounting.shuffle(**given), output, **given)


@account.command()
@epsilon_option
@delta_option
@click.option("--rounds", "k", type=INT, required=True, metavar="K", help="How many rounds.")
@click.option(
    "--slack",
    type=REAL,
    default=0.0,
    show_default=True,
    help="What is added to delta in exchange for a smaller epsilon.",
)
@click.option(
    "--central",
    is_flag=True,
    help="The promise is not local: it holds against those who see the result.",
)
@json_output
def rounds(output: Output, **given: Any) -> None:
    """The same person takes part again, with fresh noise.

    Without --slack epsilons add up. With it, the smallest epsilon that holds for every mechanism.

    \b
    Examples:
      sottovoce account rounds --epsilon 0.1 --rounds 100
      sottovoce account rounds --epsilon 0.1 --rounds 100 --slack 1e-6

    Next: sottovoce guarantee --study study.toml --releases 3 says it for a study.
    """  # noqa: D301
    from .. import accounting
    from ..checks import checked_delta, checked_epsilon
    from ..promise import LDP, Promise

    once = Promise(LDP, checked_epsilon(given["epsilon"]), checked_delta(given["delta"]))
    if given["central"]:
        once = _central(once)
    _say(accounting.rounds(once, given["k"], slack=given["slack"]), output, **given)


@account.command()
@values_option
@people_option
@click.option(
    "--delta", type=REAL, required=True, help="Delta of both: above 0, far below 1 / people."
)
@click.option(
    "--epsilons",
    default="0.25,0.5,1,2,3,4,5,6",
    show_default=True,
    metavar="E,E…",
    help="Local epsilons of GRR.",
)
@plot_option("Save a picture of the errors.")
@file_output
def compare(d: int, people: int, delta: float, epsilons: str, output: Output) -> None:
    """Shuffled GRR beside a trusted server with Gaussian noise.

    Both keep the same epsilon and delta against those who see the result; the errors differ.

    \b
    Example:
      sottovoce account compare --values 10 --people 10000 --delta 1e-6 --plot shuffle.png

    Next: sottovoce account shuffle --epsilon 2 --people 10000 --delta 1e-6 --bound grr --values 10
    """  # noqa: D301
    from .. import accounting
    from ..checks import rounded_up

    output.check()
    rows = accounting.compare(d, people, delta, numbers_from(epsilons, "--epsilons"))
    output.save(lambda: picture_of("shuffle", rows))
    about = {"account": "compare", "rows": [row.as_dict() for row in rows], **output.plot()}
    screen = output.begin(about, f"{d:,} values, {people:,} people, delta = {delta:g}")
    if screen is None:
        return
    titles = ("local epsilon", "epsilon", "shuffled", "trusted server", "ratio", "nobody trusted")
    cells = (
        [
            f"{row.local_epsilon:g}",
            rounded_up(row.epsilon, 3),
            f"{row.shuffled_error:.3g}",
            f"{row.gaussian_error:.3g}",
            f"{row.ratio:.2f}",
            f"{row.local_error:.3g}",
        ]
        for row in rows
    )
    show_rows(screen, titles, cells, left=0)
    screen.print(
        "\nStandard errors of an average fraction; all keep the epsilon of the second column.\n"
        "shuffled: GRR with the local epsilon, mixed by a trusted shuffler\n"
        "trusted server: sees every answer and adds Gaussian noise\n"
        "nobody trusted: GRR with the epsilon of the second column",
        style="dim",
    )
    output.show_files(screen)


def _say(promise: Promise, output: Output, **given: Any) -> None:
    """A promise in plain words, or as JSON together with the values of the options."""
    from ..promise import Guarantee

    promised, command = Guarantee((promise,)), click.get_current_context().command
    options = {p.opts[0].removeprefix("--"): p.name for p in command.params}
    values = {option: given[name] for option, name in options.items() if name in given}
    about = {"account": command.name, "given": values, "guarantee": promised.as_dict()}
    screen = output.begin(about)
    if screen is not None:
        show_guarantee(screen, promised)


def _central(promise: Promise) -> Promise:
    """The same numbers against those who see a result; its assumptions are not known here."""
    from dataclasses import replace

    from ..promise import DP, Against, Neighbours, Protected, Unit
    from ..promise.assumptions import EVERY_ROUND

    return replace(
        promise,
        notion=DP,
        neighbours=Neighbours.UNSTATED,
        unit=Unit(Protected.CONTRIBUTION),
        against=Against.RESULT,
        assuming=(EVERY_ROUND,),
    )


account.add_command(sampled_counts)
