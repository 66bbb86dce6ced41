"""``sottovoce estimate``: counts or reports in, shares with intervals out."""

from __future__ import annotations

from pathlib import Path

import click

from .support.counting import counted
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
from .support.screen import console, heading, plural, print_json, show_guarantee, show_table
from .support.tables import MOST_ROWS, check_picture, estimate_table, save_picture


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="COUNTS_OR_REPORTS...")
@study_option
@question_option
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option(
    "--method",
    help="unbiased (default) or mle; for numbers unbiased (the mean), variance or distribution; "
    "where a prior is known mle (default), unbiased or mmse.",
)
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

    \b
    Example:
      sottovoce estimate counts.sva --study study.toml --plot shares.png

    Next: sottovoce guarantee --study study.toml says what was promised to those who answered.
    """  # noqa: D301
    study, mechanism = load(study_path, question)
    if picture is not None:
        check_picture(picture)
        check_output(picture, study_path, *files, force=force)
    method = method or mechanism.shown
    found = mechanism.estimate(counted(files, mechanism, allow_equal=allow_equal), method=method)
    if project:
        found = found.project()
    found.interval(confidence)  # refuses a wrong confidence before anything is shown
    if picture is not None:
        save_picture(found, picture, confidence=confidence)
    if as_json:
        print_json(
            {
                "study": study.title,
                "question": found.name,
                "mechanism": mechanism.id,
                "digest": mechanism.digest.hex(),
                "reports": found.n,
                "method": found.method,
                "biased": found.biased,
                "error_from": found.error_from,
                "confidence": confidence,
                "values": found.rows(confidence),
                "plot": None if picture is None else str(picture),
                "guarantee": found.guarantee.as_dict(),
            }
        )
        return
    screen = console()
    screen.print(heading(f"{study.title}: {found.name}"))
    screen.print(
        f"{plural(found.n, 'report')}, {mechanism.id}, {found.method}"
        + (", biased (its error comes from a bootstrap)" if found.biased else "")
    )
    screen.print()
    show_table(screen, estimate_table(screen, found, confidence))
    if found.values.size > MOST_ROWS:
        screen.print(
            f"\nThe {MOST_ROWS} largest of {found.values.size:,} values; --json lists all of them."
        )
    screen.print(
        "\nIntervals measure the noise that privacy adds, for the people who reported.", style="dim"
    )
    if picture is not None:
        screen.print(f"The picture is in {picture}.")
    screen.print()
    show_guarantee(screen, found.guarantee, "What is promised to everyone who reported")
