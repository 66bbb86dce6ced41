"""``sottovoce lip``: randomised response that knows a prior, before anyone is asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from .support.command import Output, facts, heading, plural, show_rows, show_table
from .support.guarantees import show_guarantee
from .support.numbers import REAL, IntRange
from .support.options import file_output, json_output, plot_option
from .support.parse import numbers_from, prior_from
from .support.saving import picture_of

if TYPE_CHECKING:
    from rich.console import Console

    from ..mechanisms import LIP

_PRIORS = ("0.01", "0.5", "0.99", "random")
_MOST_SHOWN = 8
_PARAMETERS = {"prior": "prior", "low": "prior_low", "high": "prior_high"}


@click.group()
def lip() -> None:
    """Design randomised response that uses a public prior.

    Where it is public how likely each answer is, less noise keeps a promise that is relative to
    that knowledge. The promise that holds without it is always stated as well.

    \b
    Example:
      sottovoce lip design --prior 0.1 --epsilon 1

    Next: sottovoce study new study.toml … --prior 0.1,0.9
    """  # noqa: D301


@lip.command()
@click.option(
    "--prior",
    metavar="P[,P,…]",
    help="Probability of yes; of all values, in order; or by name: yes=0.1,no=0.9.",
)
@click.option(
    "--low",
    metavar="P[,P,…]",
    help="Or lower bounds of these probabilities, written the same way …",
)
@click.option("--high", metavar="P[,P,…]", help="… and upper bounds.")
@click.option("--epsilon", type=REAL, required=True, help="Privacy: above 0, at most 20.")
@click.option(
    "--variant",
    default="optimal",
    show_default=True,
    help="Or symmetric, opt-ldp, context-free-ldp, mmse-optimal, a-optimal, or a published one.",
)
@click.option(
    "--people",
    type=IntRange(1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Predict the error for N people.",
)
@json_output
def design(epsilon: float, variant: str, people: int, output: Output, **priors: str | None) -> None:
    """Show the channel for a prior, its levels and its error.

    The level under the prior is relative to what is believed beforehand; the level without it
    holds whatever anyone believes. Errors are shown beside those of randomised response.

    \b
    Examples:
      sottovoce lip design --prior 0.1 --epsilon 1
      sottovoce lip design --prior infected=0.1,not=0.9 --epsilon 1 --people 1000
      sottovoce lip design --low 0.05 --high 0.2 --epsilon 1

    Next: sottovoce study new study.toml … --prior 0.1,0.9
    """  # noqa: D301
    from ..mechanisms import LIP

    texts = {option: text for option, text in priors.items() if text is not None}
    if "prior" not in texts and len(texts) < 2:
        raise click.UsageError("give --prior, or both --low and --high")
    known = {_PARAMETERS[option]: prior_from(text, f"--{option}") for option, text in texts.items()}
    mechanism = LIP(epsilon=epsilon, variant=variant, **known)
    compared = _errors_beside(mechanism, people)
    few = mechanism.domain.size <= _MOST_SHOWN
    about = {
        "parameters": mechanism.parameters,
        "values": [str(label) for label in mechanism.domain.labels],
        "channel": mechanism.matrix.tolist() if few else None,
        "levels": {p.notion.value: p.epsilon for p in mechanism.guarantee.promises},
        "leakage_nats": mechanism.leakage,
        "people": people,
        "errors": compared,
        "guarantee": mechanism.guarantee.as_dict(),
    }
    title = f"{plural(mechanism.domain.size, 'value')}, {mechanism.variant}"
    screen = output.begin(about, title)
    if screen is not None:
        _show_design(screen, mechanism, compared, people)


def _errors_beside(mechanism: LIP, people: int) -> list[dict[str, Any]]:
    """Errors of the design, of LDP at its epsilon, and of LDP at the level without a prior."""
    from ..checks import MOST_EPSILON
    from ..mechanisms import LIP

    known = {key: getattr(mechanism, key) for key in _PARAMETERS.values()}
    response = {"domain": mechanism.domain, "variant": "context-free-ldp", **known}
    designs: list[tuple[str, LIP]] = [
        (f"{mechanism.variant}, ε = {mechanism.epsilon:.4g}", mechanism)
    ]
    for epsilon in dict.fromkeys((mechanism.epsilon, mechanism.ldp_epsilon)):
        if epsilon <= MOST_EPSILON:
            name = f"randomised response, ε = {epsilon:.4g}"
            designs.append((name, LIP(epsilon=epsilon, **response)))
    # Of yes (1) or no (0) for two values, else total over the values.
    answers = 2 if mechanism.domain.size == 2 else 1
    return [
        {
            "design": name,
            "per_person": None if mechanism.prior is None else each.mmse_error() / answers,
            "std_error": _std_error(each, people),
        }
        for name, each in designs
    ]


def _std_error(mechanism: LIP, people: int) -> float | None:
    """Of an average fraction, where the fractions are those of the prior."""
    if not mechanism.invertible:
        return None
    return math.sqrt(float(mechanism.variance(mechanism.centre, people).mean()))


def _show_design(
    screen: Console, mechanism: LIP, compared: list[dict[str, Any]], people: int
) -> None:
    if max(mechanism.domain.size, mechanism.cells) <= _MOST_SHOWN:
        labels = [str(label) for label in mechanism.domain.labels]
        numbers = [f"report {k}" for k in range(mechanism.cells)]
        reports = numbers if mechanism.integers.rows else labels
        channel = zip(labels, mechanism.matrix, strict=True)
        chances = ([label, *(f"{chance:.4f}" for chance in row)] for label, row in channel)
        show_rows(screen, ["answer", *reports], chances)
        screen.print("How likely each answer is to give each report.", style="dim")
    else:
        keep = mechanism.integers.keep / 2.0**128
        screen.print(f"The answer is kept with probability {keep:.4g}, else a value is drawn.")
    screen.print()
    show_table(screen, facts(_levels(mechanism)))
    screen.print()
    per = "yes or no" if mechanism.domain.size == 2 else "all values"
    titles = ["design", f"one person, {per}", "a fraction"]
    rows = (list(row.values()) for row in compared)
    cells = ([name, *("–" if n is None else f"{n:.4g}" for n in of)] for name, *of in rows)
    show_rows(screen, titles, cells)
    where = "where the prior is right" if mechanism.prior else "in the middle of the bounds"
    last = " The last line makes the promise that holds here without a prior." * (len(compared) > 2)
    screen.print(
        "Squared error of one person's answer by its posterior mean, and standard error of an "
        f"average fraction of {plural(people, 'person', 'people')} without bias, {where}.{last}",
        style="dim",
    )
    screen.print()
    show_guarantee(screen, mechanism.guarantee)


def _levels(mechanism: LIP) -> list[tuple[str, str]]:
    """Both levels in a few words."""
    from ..checks import rounded_up
    from ..promise import LIP as UNDER

    rows = []
    for promise in mechanism.guarantee.promises:
        times = rounded_up(promise.ratio, 3)
        level = f"ε = {rounded_up(promise.epsilon, 4)}: "
        rows.append(
            ("under the prior", f"{level}no answer becomes more than {times} times as likely")
            if promise.notion == UNDER
            else ("without one", f"{level}no report distinguishes two answers by more than {times}")
        )
    return rows


@lip.command()
@click.option(
    "--prior",
    "priors",
    multiple=True,
    metavar="P",
    help='Probability of yes, or "random" for a different one for each person; may be repeated.',
)
@click.option(
    "--epsilon", "epsilons", metavar="E,E,…", help="Epsilons to show; by default 0.5 to 10."
)
@plot_option()
@file_output
def curve(priors: tuple[str, ...], epsilons: str | None, output: Output) -> None:
    """Show how useful each model is at each epsilon.

    The square root of the average squared error per person, for yes/no questions: with the
    promise relative to the prior (LIP), at half its epsilon, with equal flips for both answers
    (symmetric), with randomised response that uses the prior (Opt-LDP) or does not
    (context-free).

    \b
    Examples:
      sottovoce lip curve --prior 0.01 --epsilon 1,2,4,8
      sottovoce lip curve --prior 0.01 --prior 0.5 --prior random --plot curve.png

    Next: sottovoce lip design --prior 0.01 --epsilon 4
    """  # noqa: D301
    from ..published.information_privacy import prior_curve

    output.check()
    grid = None if epsilons is None else numbers_from(epsilons, "--epsilon")
    curves = [
        prior_curve("random" if text == "random" else numbers_from(text, "--prior")[0], grid)
        for text in priors or _PRIORS
    ]
    output.save(lambda: picture_of("lip", curves))
    listed = [{"prior": c.prior, "unasked": c.unasked, "rows": c.rows()} for c in curves]
    screen = output.begin({"curves": listed, **output.plot()})
    if screen is None:
        return
    for each in curves:
        screen.print(heading(each.prior))
        cells = (
            [f"{row.pop('epsilon'):g}", *(f"{x:.4f}" for x in row.values())] for row in each.rows()
        )
        show_rows(screen, ["ε", *each.errors], cells, left=0)
        screen.print(f"The prior alone, without asking anyone: {each.unasked:.4f}.\n", style="dim")
    screen.print("√(average squared error per person); smaller is better.", style="dim")
    output.show_files(screen)
