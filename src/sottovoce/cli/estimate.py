"""``sottovoce estimate``: counts or reports in, fractions with intervals out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..collect.counting import count_files
from ..errors import ParameterError
from .support.command import Asked, Output, console, heading, plural, print_json, progress
from .support.estimates import estimate_json, noise_words, noted, show_estimate
from .support.guarantees import show_guarantee
from .support.levels import levels_json, show_levels, show_turnout
from .support.options import (
    allow_equal_option,
    asked_options,
    candidates_option,
    confidence_option,
    csv_option,
    files_argument,
    full_output,
    plot_option,
    simultaneous_option,
    sort_option,
)
from .support.summaries import Summaries, show_summaries, summary_json, summary_options

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate
    from ..contract.collection import Collection
    from ..estimate.estimate import Estimate


@click.command()
@files_argument
@asked_options
@click.option(
    "--attribute", "names", multiple=True, metavar="NAME", help="For records: which attribute."
)
@confidence_option
@click.option(
    "--method",
    help="unbiased (default) or mle; for numbers unbiased (the mean), variance or distribution; "
    "for levels james-stein (default), post-stratified or pooled; for rates hajek or "
    "horvitz-thompson; where a prior is known mle (default), unbiased or mmse; for records "
    "self-calibrated (default), known-epsilons (if public) or published. A name that is not known "
    "lists all.",
)
@click.option("--levels", is_flag=True, help="Also show each level on its own.")
@click.option(
    "--rate", is_flag=True, help="Also show how many were asked and reported, by level and rate."
)
@click.option(
    "--project", is_flag=True, help="Nearest valid fractions: none negative, sum 1; biased."
)
@simultaneous_option
@sort_option
@summary_options
@plot_option()
@csv_option
@candidates_option
@allow_equal_option
@full_output
def estimate(
    files: list[str],
    asked: Asked,
    names: tuple[str, ...],
    method: str | None,
    levels: bool,
    rate: bool,
    project: bool,
    summaries: Summaries,
    output: Output,
    **counting: Any,
) -> None:
    """Estimate how many people gave each answer.

    Every fraction comes with an interval that says how precise it is. Takes counts (.sva) and
    reports (.svr, .parquet), merged as by `aggregate`: folders, quoted patterns and addresses of an
    object store (s3://bucket/folder) stand for the files in them. Fractions are unbiased, so that
    of a rare answer may be below zero; --project makes them a valid distribution.

    For a number, the mean is estimated; --bins shows its distribution, and --quantiles
    0.25,0.5,0.75 the quartiles and the median. For ordered values, --scores shows their mean.
    Intervals describe the people who reported; if these are a random sample of a population,
    --for-population adds the sampling error.

    Where people chose levels of privacy, each level is estimated on its own, and the estimates are
    shrunk towards each other as far as the data support it. This is slightly biased; the interval
    stays that of the unbiased estimate. For records, --attribute says which attribute.

    \b
    Examples:
      sottovoce estimate counts.sva --study study.toml --plot fractions.png
      sottovoce estimate counts.sva --study menu.toml --levels
      sottovoce estimate counts.sva --study health.toml --attribute smokes
      sottovoce estimate counts.sva --study age.toml --bins 0,18,30,65,120 --quantiles 0.5

    Next: sottovoce guarantee --study study.toml says what was promised to those who answered.
    """  # noqa: D301
    collection, confidence = asked.collection, output.confidence
    output.check(asked.study_path, *map(Path, files))
    _check(collection, names, levels=levels, rate=rate)
    counts = count_files(files, collection, progress=progress, **counting).aggregate
    with noted() as warned:
        result: Estimate = summaries.estimate(collection, counts, names, method)
        if project:
            result = result.project()
        result.interval(confidence)  # refuses a wrong confidence before anything is shown
        mean = summaries.mean(result)
        quantiles = summaries.quantile_list(collection, counts, result, confidence)
        parts = collection.estimates(counts) if levels else {}
    about = output.intervals
    if result.picture == "estimate":  # the bins of a histogram have their own order
        about["sort"] = output.sort
    output.save(lambda: result.plot(None, **about), result)
    turnout = _turnout(collection, counts)
    within = _rates_estimator(collection, method, result)
    reports = counts.reports if result.reports is None else result.reports
    if output.as_json:
        more: dict[str, Any] = summary_json(mean, quantiles, confidence)
        if levels:
            more["levels"] = levels_json(collection, parts, confidence)
        if rate:
            more["rates"] = turnout
        if within:
            more["method_of_each_level"] = within
        fields = estimate_json(result, reports, **output.intervals, picture=output.picture)
        print_json({**asked.as_dict(), **fields, **more, "warnings": warned})
        return
    screen = console()
    screen.print(heading(f"{asked.study.title}: {result.name}"))
    of = "" if reports == result.n else f" from {plural(result.n, 'person', 'people')}"
    screen.print(
        f"{plural(reports, 'report')}{of}, {collection.words}; {result.method}"
        + (f" of levels by {within}" if within else "")
        + ", biased" * result.biased
        + " (its error comes from a bootstrap)" * (result.error_from == "bootstrap")
    )
    screen.print()
    show_estimate(screen, result, **output.intervals, sort=output.sort)
    show_summaries(screen, mean, quantiles, confidence)
    if hint := summaries.hint(collection, result):
        screen.print(f"\n{hint}", style="dim")
    if result.assuming:
        screen.print(f"\nAssuming: {result.assuming}.", style="yellow")
    noise = noise_words(collection.sampled, population=result.population is not None)
    screen.print(f"\nIntervals measure {noise}.", style="dim")
    if parts:
        screen.print()
        screen.print(heading(f"Each level on its own, ± half its {100 * confidence:g} % interval"))
        show_levels(screen, parts, confidence)
    if rate:
        screen.print()
        screen.print(heading("Who was asked, and who reported"))
        show_turnout(screen, turnout)
    output.show_files(screen)
    screen.print()
    title, people = "What is promised to everyone who reported", _by_level(turnout)
    show_guarantee(screen, result.guarantee, title, full=output.full, counts=people)


def _check(collection: Collection, names: tuple[str, ...], *, levels: bool, rate: bool) -> None:
    """Refuse to show what is not there, before anything is counted."""
    if len(names) > 1:
        raise ParameterError(
            f"--attribute is given {len(names)} times, {', '.join(map(repr, names))}; give one, or "
            "use sottovoce joint for attributes together"
        )
    if collection.allocations and not names:
        known = ", ".join(repr(attribute.name) for attribute in collection.attributes)
        raise ParameterError(
            f"{collection.name!r} are records; say which attribute with --attribute, one of "
            f"{known}, or use sottovoce joint for several together"
        )
    if levels and not collection.level_names:
        raise ParameterError(
            f"the question {collection.name!r} has no levels to show; leave --levels out"
        )
    if levels and collection.allocations:
        raise ParameterError(
            f"the levels of the records {collection.name!r} are combined and not shown one by one; "
            "leave --levels out"
        )
    if rate and not collection.sampled:
        raise ParameterError(
            f"the question {collection.name!r} has no rates to show, everyone reports; leave "
            "--rate out"
        )


def _rates_estimator(collection: Collection, method: str | None, result: Estimate) -> str:
    """The estimator over the rates of each level, where it was asked for by name."""
    from ..estimate.combine import ALIASES

    if method is None or not (collection.level_names and collection.sampled):
        return ""
    name = ALIASES.get(method, method)
    return "" if name == result.method else name


def _turnout(collection: Collection, counts: Aggregate) -> list[dict[str, Any]]:
    """How many people were asked and reported in each way to take part."""
    pairs = zip(collection.ways(), *collection.turnout(counts), strict=True)
    return [{**way.as_dict(), "asked": int(n), "reported": int(s)} for way, n, s in pairs]


def _by_level(turnout: list[dict[str, Any]]) -> dict[str, list[int]]:
    """[people, reports] of each level."""
    levels: dict[str, list[int]] = {}
    for row in turnout:
        before = levels.get(row["level"], [0, 0])
        levels[row["level"]] = [before[0] + row["asked"], before[1] + row["reported"]]
    return levels
