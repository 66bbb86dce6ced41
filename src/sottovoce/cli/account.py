"""``sottovoce account``: when more privacy may be claimed than epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .support.accounts import (
    central_promise,
    delta_option,
    epsilon_option,
    sample_option,
    say,
    show_comparison,
)
from .support.options import PATH, force_option, json_option
from .support.parse import numbers_from
from .support.pictures import check_picture, save_figure
from .support.sampled_counts import sampled_counts
from .support.show import print_json


@click.group()
def account() -> None:
    """Say what sampling, shuffling or many rounds make of a promise.

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
@json_option
def poisson(epsilon: float, delta: float, rate: str, sample: Any, as_json: bool) -> None:
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
    say("poisson", promise, as_json, epsilon=epsilon, delta=delta, rate=one)


@account.command()
@epsilon_option
@delta_option
@click.option("--sampled", type=int, required=True, metavar="S", help="How many are drawn.")
@click.option("--people", type=int, required=True, metavar="N", help="Out of how many.")
@sample_option
@json_option
def fixed(
    epsilon: float, delta: float, sampled: int, people: int, sample: Any, as_json: bool
) -> None:
    """A secret sample of a fixed size, drawn without replacement.

    Give the epsilon (and delta) that the result keeps for the people in the sample; for shuffled
    reports that is what `account shuffle` gives for this many people.

    \b
    Example:
      sottovoce account fixed --epsilon 1 --sampled 1000 --people 10000

    Next: sottovoce account rounds --epsilon 0.159 --central --rounds 10
    """  # noqa: D301
    from .. import accounting

    promise = accounting.fixed_size(epsilon, sampled, people, delta=delta, sample=sample)
    parameters = {"epsilon": epsilon, "delta": delta, "sampled": sampled, "people": people}
    say("fixed", promise, as_json, **parameters)


@account.command()
@epsilon_option
@click.option("--values", "d", type=int, required=True, metavar="D", help="Number of values.")
@click.option("--rate", type=float, required=True, metavar="P", help="Probability of being chosen.")
@json_option
def dummies(epsilon: float, d: int, rate: float, as_json: bool) -> None:
    """GRR in which those who are not chosen report a random value.

    Nobody needs to be trusted for it, and it saves no traffic: everyone sends.

    \b
    Example:
      sottovoce account dummies --epsilon 1 --values 4 --rate 0.1

    Next: sottovoce account poisson --epsilon 1 --rate 0.1 shows what trust would gain.
    """  # noqa: D301
    from .. import accounting

    promise = accounting.dummies(epsilon, d, rate)
    say("dummies", promise, as_json, epsilon=epsilon, values=d, rate=rate)


@account.command()
@epsilon_option
@click.option("--people", type=int, required=True, metavar="N", help="How many report.")
@click.option("--delta", type=float, required=True, help="Above 0; choose it far below 1 / people.")
@click.option(
    "--bound",
    type=click.Choice(["numerical", "grr", "closed-form"]),
    default="numerical",
    show_default=True,
    help="For any mechanism; for GRR over --values; or the published formula where it was proven.",
)
@click.option("--values", "d", type=int, metavar="D", help="Number of values, for GRR.")
@click.option(
    "--labelled", is_flag=True, help="Reports carry a level, mechanism or rate; give --crowd."
)
@click.option("--crowd", type=int, metavar="N", help="People in the smallest group with one label.")
@json_option
def shuffle(
    epsilon: float,
    people: int,
    delta: float,
    bound: Any,
    d: int | None,
    labelled: bool,
    crowd: int | None,
    as_json: bool,
) -> None:
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

    promise = accounting.shuffle(
        epsilon, people, delta, bound=bound, d=d, labelled=labelled, crowd=crowd
    )
    parameters = {"epsilon": epsilon, "people": people, "delta": delta, "bound": bound, "values": d}
    say("shuffle", promise, as_json, **parameters, labelled=labelled, crowd=crowd)


@account.command()
@epsilon_option
@delta_option
@click.option("--rounds", "k", type=int, required=True, metavar="K", help="How many rounds.")
@click.option(
    "--slack",
    type=float,
    default=0.0,
    show_default=True,
    help="What is added to delta in exchange for a smaller epsilon.",
)
@click.option(
    "--central",
    is_flag=True,
    help="The promise is not local: it holds against those who see the result.",
)
@json_option
def rounds(
    epsilon: float, delta: float, k: int, slack: float, central: bool, as_json: bool
) -> None:
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

    once = Promise(LDP, checked_epsilon(epsilon), checked_delta(delta))
    if central:
        once = central_promise(once)
    promise = accounting.rounds(once, k, slack=slack)
    parameters = {
        "epsilon": epsilon,
        "delta": delta,
        "rounds": k,
        "slack": slack,
        "central": central,
    }
    say("rounds", promise, as_json, **parameters)


@account.command()
@click.option("--values", "d", type=int, required=True, metavar="D", help="Number of values.")
@click.option("--people", type=int, required=True, metavar="N", help="How many report.")
@click.option("--delta", type=float, required=True, help="Above 0; far below 1 / people.")
@click.option(
    "--epsilons",
    default="0.25,0.5,1,2,3,4,5,6",
    show_default=True,
    metavar="E,E…",
    help="Local epsilons of GRR.",
)
@click.option("--plot", "picture", type=PATH, metavar="FILE", help="Draw it.")
@force_option
@json_option
def compare(
    d: int,
    people: int,
    delta: float,
    epsilons: str,
    picture: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Shuffled GRR beside a trusted server with Gaussian noise.

    Both keep the same epsilon and delta against those who see the result; the errors differ.

    \b
    Example:
      sottovoce account compare --values 10 --people 10000 --delta 1e-6 --plot shuffle.png

    Next: sottovoce account shuffle --epsilon 2 --people 10000 --delta 1e-6 --bound grr --values 10
    """  # noqa: D301
    from .. import accounting

    check_picture(picture, force=force)
    rows = accounting.compare(d, people, delta, numbers_from(epsilons, "--epsilons"))
    if picture is not None:
        from ..plot import shuffle as draw

        save_figure(lambda: draw(rows), picture)
    if as_json:
        about = {"account": "compare", "rows": [row.as_dict() for row in rows]}
        print_json({**about, "plot": None if picture is None else str(picture)})
        return
    show_comparison(rows, picture)


account.add_command(sampled_counts)
