"""``sottovoce audit``: try to refute what a study promises."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import ParameterError
from .support.options import json_option, load_study, question_option, study_option
from .support.show import console, heading, print_json


@click.command()
@study_option
@question_option
@click.option(
    "--trials",
    type=click.IntRange(1000, 100_000_000),
    default=200_000,
    show_default=True,
    help="Reports to draw for each promise: half choose what to look at, half test it.",
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Of the lower bound."
)
@json_option
def audit(
    study_path: Path, question: str | None, trials: int, confidence: float, as_json: bool
) -> None:
    """Try to refute what a study promises.

    Draws many reports of known answers, looks for what tells the answers apart, and bounds epsilon
    from below. A bound above the promise is proof that it is broken; one below it proves nothing.

    \b
    Example:
      sottovoce audit --study study.toml --trials 1000000

    The exit code is 1 when a promise is broken. Every question is audited unless one is named, and
    every level at its own promise; where only some people report, silence is looked at, too.
    Records are not audited.

    Next: sottovoce guarantee --study study.toml says what was promised.
    """  # noqa: D301
    from ..auditing.audit import AuditError
    from ..auditing.audit import audit as examine

    study = load_study(study_path)
    mechanisms = (
        [study.mechanism(one.name) for one in study if one.section == "question"]
        if question is None
        else [study.mechanism(question)]
    )
    if not mechanisms:
        raise ParameterError(f"the study {study.title!r} has only records, which are not audited")
    found, broken = [], False
    for mechanism in mechanisms:
        try:
            findings = examine(mechanism, trials=trials, confidence=confidence)
        except AuditError as error:
            findings, broken = [error.finding], True
        found += [(mechanism.name, finding) for finding in findings]
    if as_json:
        rows = [{"question": name, **finding.as_dict()} for name, finding in found]
        print_json({"study": study.title, "broken": broken, "findings": rows})
    else:
        screen = console()
        for name, finding in found:
            screen.print(heading(f"{study.title}: {name}"))
            screen.print(str(finding), soft_wrap=True, highlight=False)
    if broken:
        raise click.exceptions.Exit(1)
