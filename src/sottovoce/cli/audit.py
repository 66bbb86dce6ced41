"""``sottovoce audit``: try to refute what a study promises."""

from __future__ import annotations

import click

from .support.command import Asked, Output, heading, progress
from .support.numbers import REAL, IntRange
from .support.options import asked_options, json_output


@click.command()
@asked_options
@click.option(
    "--trials",
    type=IntRange(1000, 100_000_000),
    default=300_000,
    show_default=True,
    help="Reports to draw for each promise: 30 % choose what to look at, 70 % test it.",
)
@click.option(
    "--confidence",
    type=REAL,
    default=0.999,
    show_default=True,
    help="Confidence of the lower bounds.",
)
@json_output
def audit(asked: Asked, trials: int, output: Output) -> None:
    """Try to refute what a study promises.

    Draws many reports of known answers, looks for what distinguishes the answers, and bounds
    epsilon from below. A bound above the promise is evidence, at the stated confidence, that the
    promise is broken; one below it proves nothing. By default, a study that keeps all its promises
    fails at most 1 in 1,000 audits.

    \b
    Example:
      sottovoce audit --study study.toml --trials 1000000

    The exit code is 1 when a promise is broken. Every question is audited unless one is named, and
    every level at its own promise; where only some people report, silence is examined as well.

    Next: sottovoce guarantee --study study.toml says what was promised.
    """  # noqa: D301
    from ..auditing.audit import AuditError
    from ..auditing.audit import audit as examine

    study = asked.study
    subject = study if asked.question is None else asked.collection
    with progress("auditing", 100) as done:
        try:
            findings, broken = (
                examine(
                    subject,
                    trials=trials,
                    confidence=output.confidence,
                    progress=lambda drawn, of: done(100 * drawn // of),
                ),
                False,
            )
        except AuditError as error:
            findings, broken = list(error.findings), True
    rows = [finding.as_dict() for finding in findings]
    screen = output.begin({"study": study.title, "broken": broken, "findings": rows})
    if screen is not None:
        for finding in findings:
            screen.print(heading(f"{study.title}: {finding.question}"))
            screen.print(str(finding), soft_wrap=True, highlight=False)
    if broken:
        raise click.exceptions.Exit(1)
