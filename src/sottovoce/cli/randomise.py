"""``sottovoce randomise``: true answers in, reports out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import ParameterError
from .support.answers import Answers
from .support.options import (
    PATH,
    check_output,
    force_option,
    json_option,
    load,
    question_option,
    study_option,
)
from .support.receipts import Drawer, Receipt, folder_of
from .support.release import Input, draw, form, give
from .support.screen import (
    console,
    facts,
    heading,
    plural,
    print_json,
    show_guarantee,
    show_table,
)

if TYPE_CHECKING:
    from ..mechanism import Mechanism


@click.command()
@click.argument("answers", type=PATH)
@study_option
@question_option
@click.option(
    "--column", metavar="NAME", help="Column of the answers; by default the question's name."
)
@click.option(
    "--out",
    type=PATH,
    required=True,
    metavar="FILE",
    help="Where the reports go: .svr or .parquet.",
)
@click.option(
    "--again", is_flag=True, help="Draw fresh noise: one more release, and it counts as one."
)
@click.option(
    "--receipts",
    type=PATH,
    metavar="DIR",
    help="Where receipts are kept; by default $SOTTOVOCE_RECEIPTS, or the user's state folder.",
)
@force_option
@json_option
def randomise(
    answers: Path,
    study_path: Path,
    question: str | None,
    column: str | None,
    out: Path,
    again: bool,
    receipts: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Turn a column of true answers into reports.

    Reports may leave the machine, answers may not. ANSWERS is a CSV (also gzipped) or Parquet file
    with one row per person. Only the one column is read, and only reports are written.

    \b
    Example:
      sottovoce randomise answers.csv --study study.toml --out reports.svr

    The same command again gives the same reports: a receipt remembers them, because fresh noise
    would be a second release of the same answers. If that is what you want, say --again; the
    guarantee of both together is then stated.

    Next: sottovoce aggregate, or sottovoce estimate directly.
    """  # noqa: D301
    study, mechanism = load(study_path, question)
    name = str(getattr(mechanism.domain, "name", ""))
    source = Answers(answers, column or name, mechanism.domain)
    check_output(out, answers, study_path, force=True)
    given = Input.of(answers)
    drawer = Drawer(folder_of(receipts), mechanism.digest.hex(), given.digest, source.column)
    with drawer.open():
        receipt = _begun(drawer, study.title, mechanism, given, source)
        others = drawer.others(receipt.inputs)
        fresh = again or not receipt.releases
        if fresh:
            if others and not again:
                raise _changed(answers, source.column, others)
            check_output(out, answers, study_path, force=force)
            receipt = draw(mechanism, source, given, drawer, receipt, out)
            promised = mechanism.guarantee.times(_total(receipt, others))
            receipt = replace(receipt, guarantee=promised.as_dict())
            drawer.write(receipt)  # before anyone can see the reports
        receipt = give(mechanism, drawer, receipt, out, force=force or fresh)
        elsewhere = drawer.elsewhere()
    total = _total(receipt, others)
    guarantee = mechanism.guarantee.times(total)
    notes = _notes(receipt, others, elsewhere, fresh)
    if as_json:
        print_json(
            {
                "study": study.title,
                "question": name,
                "mechanism": mechanism.id,
                "digest": mechanism.digest.hex(),
                "people": receipt.rows,
                "reports": receipt.latest.reports,
                "out": str(out),
                "sha256": receipt.latest.sha256[form(out)],
                "fresh": fresh,
                "releases": total,
                "receipt": str(drawer.receipt_path),
                "guarantee": guarantee.as_dict(),
                "notes": notes,
            }
        )
        return
    people = plural(receipt.rows, "person", "people")
    drawn = "" if fresh else f", drawn on {receipt.latest.time}"
    screen = console()
    screen.print(heading(f"{study.title}: {plural(receipt.latest.reports, 'report')} in {out}"))
    show_table(
        screen,
        facts(
            [
                ("question", f"{name}: {mechanism.id}, epsilon = {mechanism.epsilon:g}"),
                ("answers", f"{answers}, column {source.column!r}, {people}"),
                ("release", f"{total}{drawn}"),
                ("receipt", str(drawer.receipt_path)),
            ]
        ),
    )
    for note in notes:
        screen.print(f"\n{note}", style="yellow")
    screen.print()
    after = f" after {total} releases together" if total > 1 else ""
    show_guarantee(screen, guarantee, f"What is promised to everyone who answered{after}")
    screen.print(
        f"\nNext: sottovoce estimate {out} --study {study_path}", style="dim", soft_wrap=True
    )


def _begun(
    drawer: Drawer, title: str, mechanism: Mechanism, given: Input, source: Answers
) -> Receipt:
    """The receipt of this content, or a blank one; it knows the file's name from now on."""
    receipt = drawer.receipt() or Receipt(
        study=title,
        question=str(getattr(mechanism.domain, "name", "")),
        mechanism=mechanism.id,
        mechanism_digest=mechanism.digest.hex(),
        input_digest=given.digest,
        column=source.column,
        inputs=(),
        rows=0,
    )
    return replace(receipt, inputs=tuple(dict.fromkeys((*receipt.inputs, given.path))))


def _total(receipt: Receipt, others: list[Receipt]) -> int:
    """How often someone who is in all of these files was released."""
    return len(receipt.releases) + sum(len(other.releases) for other in others)


def _changed(path: Path, column: str, others: list[Receipt]) -> ParameterError:
    last = max(other.latest.time for other in others)
    return ParameterError(
        f"{str(path)!r}, column {column!r}, was randomised under this study on {last} and has "
        "changed since; whoever is in both versions would be released twice, and their guarantee "
        "would be weaker; put only new people into a file of its own, or say --again to release "
        "everyone in it once more"
    )


def _notes(
    receipt: Receipt, others: list[Receipt], elsewhere: list[Receipt], fresh: bool
) -> list[str]:
    notes = []
    if not fresh:
        notes.append(
            "These answers were randomised before: the very same reports were given again, no new "
            "noise was drawn, and the guarantee is unchanged."
        )
    elif len(receipt.releases) > 1:
        notes.append(
            f"This is release {len(receipt.releases)} of the same answers: whoever sees all of "
            "them learns more than from one."
        )
    if others:
        notes.append(
            "The file held other answers before: the guarantee below is that of people who are in "
            "every version; new people have a stronger one."
        )
    if elsewhere:
        titles = ", ".join(sorted({repr(found.study) for found in elsewhere}))
        notes.append(
            f"The same column was randomised under {titles} too: for these people the promises of "
            "all these studies add up."
        )
    return notes
