"""``sottovoce account sampled-counts``: the exact counts of a secret sample."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .command import Output
from .numbers import INT, REAL
from .options import json_output

if TYPE_CHECKING:
    from ...promise import Promise


@click.command("sampled-counts")
@click.option("--epsilon", type=REAL, help="Epsilon of the promise.")
@click.option("--delta", type=REAL, help="Delta of the promise.")
@click.option(
    "--count",
    type=INT,
    metavar="C",
    help="A public lower bound on the holders of every answer, the protected person included.",
)
@click.option("--rate", type=REAL, metavar="P", help="Probability of being in the sample.")
@click.option(
    "--neighbours",
    type=click.Choice(["substitute", "add-remove"]),
    default="substitute",
    show_default=True,
    help="What is protected: a changed answer, or a record more or less.",
)
@click.option(
    "--insiders",
    type=INT,
    default=0,
    show_default=True,
    metavar="N",
    help="Holders who reveal whether they were sampled to someone who sees the counts.",
)
@click.option(
    "--rounds",
    type=INT,
    default=1,
    show_default=True,
    metavar="K",
    help="How often the same people are sampled afresh.",
)
@json_output
def sampled_counts(output: Output, **numbers: Any) -> None:
    """The exact counts of a secret sample.

    What hides a person is the randomness of who else was sampled.

    Give three of --epsilon, --delta, --count and --rate; the fourth is computed, exactly and on
    the safe side: the delta, the epsilon, the smallest count, or the largest rate.

    \b
    Examples:
      sottovoce account sampled-counts --epsilon 0.5 --count 100 --rate 0.39
      sottovoce account sampled-counts --delta 1e-6 --count 100 --rate 0.39
      sottovoce account sampled-counts --epsilon 0.5 --delta 1e-6 --rate 0.39
      sottovoce account sampled-counts --epsilon 0.5 --delta 1e-6 --count 100

    Next: sottovoce secure run --protocol dpds counts a secret sample without a trusted server.
    """  # noqa: D301
    from ...promise import Guarantee

    four = ("epsilon", "delta", "count", "rate")
    unknown = [name for name in four if numbers[name] is None]
    if len(unknown) != 1:
        raise click.UsageError("give three of --epsilon, --delta, --count and --rate")
    (asked,) = unknown
    answer, promise = _answer(asked, numbers)
    promised = Guarantee((promise,))
    known = {name: value for name, value in numbers.items() if name != asked}
    words = {"count": "smallest count", "rate": "largest rate"}.get(asked, f"smallest {asked}")
    about = {"account": "sampled-counts", "given": known, "asked": asked, asked: answer}
    output.show(
        {**about, "guarantee": promised.as_dict()},
        f"{words}: {_safely(asked, answer)}",
        promise={"guarantee": promised},
    )


def _answer(asked: str, numbers: dict[str, Any]) -> tuple[float, Promise]:
    """What was asked for, and the promise of all four numbers."""
    from ... import accounting
    from ...errors import GuaranteeError, ParameterError

    epsilon, delta, count, rate = (numbers[name] for name in ("epsilon", "delta", "count", "rate"))
    common = {"neighbours": numbers["neighbours"], "insiders": numbers["insiders"]}
    again = {**common, "rounds": numbers["rounds"]}
    if asked == "delta":
        delta = accounting.sampled_counts_delta(epsilon, count, rate, **again)
        if delta >= 1:
            raise GuaranteeError(
                f"delta is 1, so nothing is promised: with rate {rate:g} the counts can show "
                "everyone's answer; choose a smaller rate"
            )
    elif asked == "count":
        if numbers["rounds"] != 1:
            raise ParameterError("the smallest count is known for one round; leave --rounds out")
        count = accounting.smallest_count(epsilon, delta, rate, **common)
    elif asked == "rate":
        rate = accounting.largest_rate(epsilon, delta, count, **again)
    promise = accounting.sampled_counts(count, rate, delta, **again)
    if asked == "epsilon":
        return promise.epsilon, promise
    # The promise with this delta has at most the epsilon that was given.
    whole = replace(promise, epsilon=epsilon)
    return {"delta": delta, "count": count, "rate": rate}[asked], whole


def _safely(asked: str, answer: float) -> str:
    """Rounded so that what is shown holds, too."""
    from ...checks import rounded_up

    if asked == "count":
        return f"{answer:,}"
    return f"{math.floor(answer * 1e6) / 1e6:g}" if asked == "rate" else rounded_up(answer, 6)
