"""``sottovoce estimate``: counts or reports in, shares with intervals out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..collect.counting import counted
from ..errors import ParameterError
from .support.designs import short, words
from .support.options import (
    PATH,
    allow_equal_option,
    check_output,
    force_option,
    json_option,
    load,
    question_option,
    study_option,
)
from .support.parts import (
    by_level,
    by_rate,
    each_level,
    refuse_absent,
    sent,
    show_levels,
    show_rates,
)
from .support.promises import show_promises
from .support.screen import console, heading, plural, print_json, progress, show_table
from .support.tables import MOST_ROWS, check_picture, estimate_table, save_picture

if TYPE_CHECKING:
    from ..estimate.estimate import Estimate
    from ..mechanisms.mechanism import Mechanism


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="COUNTS_OR_REPORTS...")
@study_option
@question_option
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option(
    "--method",
    help="unbiased (default) or mle; for numbers unbiased (the mean), variance or distribution; "
    "for levels hybrid (default), post-stratified or pooled; for rates hajek or horvitz-thompson. "
    "where a prior is known mle (default), unbiased or mmse. A name that is not known lists all.",
)
@click.option("--levels", is_flag=True, help="Also show each level on its own.")
@click.option("--rate", is_flag=True, help="Also show how many were asked and reported, by rate.")
@click.option("--project", is_flag=True, help="Nearest valid shares: none negative, sum 1; biased.")
@click.option(
    "--plot", "picture", type=PATH, metavar="FILE", help="Save a picture: .png, .svg, .pdf."
)
@allow_equal_option
@force_option
@json_option
def estimate(
    files: tuple[Path, ...],
    study_path: Path,
    question: str | None,
    confidence: float,
    method: str | None,
    levels: bool,
    rate: bool,
    project: bool,
    picture: Path | None,
    allow_equal: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate how many people gave each answer.

    Every share comes with an interval that says how sure it is. Takes counts (.sva) and reports
    (.svr, .parquet), merged as by `aggregate`. Shares are unbiased, so a rare answer may come out
    below zero; --project makes them a valid distribution.

    Where people chose levels of privacy, the levels are estimated one by one and put together by
    what they were seen to have in common (hybrid), which is biased a little and says so.

    \b
    Examples:
      sottovoce estimate counts.sva --study study.toml --plot shares.png
      sottovoce estimate counts.sva --study menu.toml --levels

    Next: sottovoce guarantee --study study.toml says what was promised to those who answered.
    """  # noqa: D301
    study, mechanism = load(study_path, question)
    if picture is not None:
        check_picture(picture)
        check_output(picture, study_path, *files, force=force)
    refuse_absent(mechanism, levels=levels, rate=rate)
    counts = counted(files, mechanism, allow_equal=allow_equal, progress=progress)
    methods = _methods(mechanism, method or mechanism.shown)
    found = mechanism.estimate(counts, **methods)
    if project:
        found = found.project()
    found.interval(confidence)  # refuses a wrong confidence before anything is shown
    parts = each_level(mechanism, counts) if levels else {}
    if picture is not None:
        save_picture(found, picture, confidence=confidence)
    if as_json:
        print_json(
            {
                "study": study.title,
                "question": found.name,
                "mechanism": mechanism.id,
                "design": words(mechanism),
                "digest": mechanism.digest.hex(),
                "people": found.n,
                "reports": sent(mechanism, counts),
                "method": found.method,
                **({"method_of_levels": methods["inner"]} if "inner" in methods else {}),
                "biased": found.biased,
                "assuming": found.assuming,
                "error_from": found.error_from,
                "confidence": confidence,
                "values": found.rows(confidence),
                **({"levels": _levels_json(mechanism, parts, confidence)} if levels else {}),
                **({"rates": by_rate(mechanism, counts)} if rate else {}),
                "plot": None if picture is None else str(picture),
                "guarantee": found.guarantee.as_dict(),
            }
        )
        return
    from ..participation.choices import rates_of

    screen = console()
    screen.print(heading(f"{study.title}: {found.name}"))
    reports = sent(mechanism, counts)
    of = "" if reports == found.n else f" from {plural(found.n, 'person', 'people')}"
    screen.print(
        f"{plural(reports, 'report')}{of}, {short(mechanism)}, {found.method}"
        + (f" (levels {methods['inner']})" if "inner" in methods else "")
        + ", biased" * found.biased
        + " (its error comes from a bootstrap)" * (found.error_from == "bootstrap")
    )
    screen.print()
    show_table(screen, estimate_table(screen, found, confidence))
    if found.values.size > MOST_ROWS:
        screen.print(
            f"\nThe {MOST_ROWS} largest of {found.values.size:,} values; --json lists all of them."
        )
    if found.assuming:
        screen.print(f"\nAssuming: {found.assuming}.", style="yellow")
    sampled = bool(rates_of(mechanism))
    noise = "privacy and sampling add" if sampled else "privacy adds"
    who = "were asked" if sampled else "reported"
    screen.print(
        f"\nIntervals measure the noise that {noise}, for the people who {who}.", style="dim"
    )
    if parts:
        screen.print()
        screen.print(heading("Each level on its own"))
        show_levels(screen, parts, confidence)
    if rate:
        screen.print()
        screen.print(heading("Who was asked, and who reported"))
        show_rates(screen, by_rate(mechanism, counts))
    if picture is not None:
        screen.print(f"The picture is in {picture}.")
    screen.print()
    people = by_level(mechanism, counts)
    show_promises(
        screen,
        found.guarantee,
        "What is promised to everyone who reported",
        levels=list(people),
        counts={name: (n, n) for name, n in people.items()},
        who="reports" if sampled else "people",
    )


def _methods(mechanism: Mechanism, method: str | None) -> dict[str, str | None]:
    """The method, or how levels are combined within each rate.

    Where both have a method of that name, it is that of the rates, unless there is only one rate.
    """
    from ..participation import Levels, Sampled

    if not isinstance(mechanism, Sampled) or not isinstance(mechanism.inner, Levels):
        return {"method": method}
    rates, levels = mechanism.methods, mechanism.inner.methods
    if method is not None and method not in {**rates, **levels}:
        raise ParameterError(
            f"there is no method {method!r}; for the rates there are "
            f"{', '.join(map(repr, rates))}, and for the levels {', '.join(map(repr, levels))}"
        )
    if method in levels and (method not in rates or len(mechanism.rates) == 1):
        return {"inner": method}
    return {"method": method, "inner": mechanism.inner.chosen(None)}


def _levels_json(
    mechanism: Mechanism, parts: dict[str, Estimate], confidence: float
) -> list[dict[str, object]]:
    from ..participation.choices import menu_of

    epsilons = {name: level.epsilon for name, level in menu_of(mechanism).items()}
    return [
        {
            "level": name,
            "epsilon": epsilons[name],
            "people": part.n,
            "values": part.rows(confidence),
        }
        for name, part in parts.items()
    ]
