"""``sottovoce guarantee``: what is promised to someone who answers."""

from __future__ import annotations

import click

from .support.command import Asked, Output
from .support.guarantees import show_guarantee
from .support.numbers import IntRange
from .support.options import asked_options, json_output


@click.command()
@asked_options
@click.option(
    "--releases",
    type=IntRange(1, 1000),
    default=1,
    show_default=True,
    help="How often the same answers are released with fresh noise.",
)
@json_output
def guarantee(asked: Asked, releases: int, output: Output) -> None:
    """State in plain words what a study promises.

    Without --question: to someone who answers every question once. Where people choose a level,
    each level has its own promise.

    \b
    Example:
      sottovoce guarantee --study study.toml --releases 3

    Next: sottovoce study show study.toml --people 10000 says how precise the estimates will be.
    """  # noqa: D301
    study, question = asked.study, asked.question
    once = study.guarantee if question is None else asked.collection.guarantee
    promised = once.times(releases)
    about = {
        "study": study.title,
        "digest": study.digest.hex(),
        "question": question,
        "releases": releases,
        "guarantee": promised.as_dict(),
    }
    names = study.names if question is None else [question]
    often = "" if releases == 1 else f", released {releases} times with fresh noise"
    screen = output.begin(about, study.title)
    if screen is not None:
        show_guarantee(screen, promised, f"What is promised: {', '.join(names)}{often}")
