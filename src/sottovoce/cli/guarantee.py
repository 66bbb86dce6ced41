"""``sottovoce guarantee``: what is promised to someone who answers."""

from __future__ import annotations

from pathlib import Path

import click

from .support.options import json_option, load_study, question_option, study_option
from .support.promises import show_promises
from .support.screen import console, heading, print_json


@click.command()
@study_option
@question_option
@click.option(
    "--releases",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="How often the same answers are released with fresh noise.",
)
@json_option
def guarantee(study_path: Path, question: str | None, releases: int, as_json: bool) -> None:
    """Say in plain words what a study promises.

    Without --question: to someone who answers every question once. Where people choose a level,
    each level has its own promise.

    \b
    Example:
      sottovoce guarantee --study study.toml --releases 3

    Next: sottovoce study show study.toml --people 10000 says how exact the shares will be.
    """  # noqa: D301
    from ..participation.choices import menu_of

    study = load_study(study_path)
    promised = study.guarantee if question is None else study.mechanism(question).guarantee
    levels = study.levels if question is None else tuple(menu_of(study.mechanism(question)))
    promised = promised.times(releases)
    if as_json:
        print_json(
            {
                "study": study.title,
                "digest": study.digest.hex(),
                "question": question,
                "releases": releases,
                "guarantee": promised.as_dict(),
            }
        )
        return
    screen = console()
    screen.print(heading(study.title))
    asked = [attribute.name for attribute in study.schema] if question is None else [question]
    often = "" if releases == 1 else f", released {releases} times with fresh noise"
    title = f"What is promised: {', '.join(asked)}{often}"
    show_promises(screen, promised, title, levels=levels)
