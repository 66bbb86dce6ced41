"""``sottovoce randomise``: true answers in, reports out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..collect.answers import Answers
from ..collect.choices import choices_of
from ..collect.ledger import Ledger, Subject, folder_of
from ..collect.notes import notes_of, refused, total_of
from ..collect.receipts import Receipt
from ..collect.release import Input, Source, check_plain, draw, form, give
from ..errors import ParameterError
from .support.designs import words
from .support.options import (
    PATH,
    REPORTS,
    check_output,
    force_option,
    json_option,
    load,
    question_option,
    study_option,
)
from .support.promises import show_promises
from .support.screen import console, facts, heading, plural, print_json, progress, show_table

if TYPE_CHECKING:
    from ..mechanisms.mechanism import Mechanism
    from ..promise import Guarantee


_MOST_RATES = 8


@click.command()
@click.argument("answers", type=PATH)
@study_option
@question_option
@click.option(
    "--column", metavar="NAME", help="Column of the answers; by default the question's name."
)
@click.option(
    "--levels",
    metavar="COLUMN|NAME",
    help="Where everyone's level is: a column of ANSWERS, or one level's name for everyone.",
)
@click.option(
    "--rate",
    metavar="COLUMN|NUMBER",
    help="Where everyone's rate is: a column of ANSWERS, or one of the study's rates.",
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
    levels: str | None,
    rate: str | None,
    out: Path,
    again: bool,
    receipts: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Turn a column of true answers into reports.

    Reports may leave the machine, answers may not. ANSWERS is a CSV (also gzipped) or Parquet file
    with one row per person. Only the one column is read, and only reports are written.

    A study may let everyone choose a level of privacy, or draw only some people at a public rate;
    then a second column says who has which.

    \b
    Examples:
      sottovoce randomise answers.csv --study study.toml --out reports.svr
      sottovoce randomise answers.csv --study menu.toml --levels privacy --out reports.svr

    The same command again gives the same reports: a receipt remembers them, because fresh noise
    would be a second release of the same answers. If that is what you want, say --again; the
    guarantee of both together is then stated.

    Next: sottovoce aggregate, or sottovoce estimate directly.
    """  # noqa: D301
    study, mechanism = load(study_path, question)
    name = str(getattr(mechanism.domain, "name", ""))
    column = column or name
    check_output(out, answers, study_path, force=True, ends=REPORTS)
    check_plain(answers)
    choices = choices_of(mechanism, answers, column, levels, rate)
    source = Source(Answers(answers, column, mechanism.domain), tuple(choices))
    ledger, digest = Ledger(folder_of(receipts)), mechanism.digest.hex()
    given = Input.of(answers, source, ledger, digest, progress)
    subject = Subject(study.title, name, mechanism.id, digest, column, given.path, given.content)
    with ledger.entry(subject) as entry:
        receipt = entry.receipt().of_file(given.path)
        others = entry.others()
        fresh = again or not receipt.releases
        if fresh:
            if others and not again:
                raise refused(f"{str(answers)!r}, column {column!r},", given, others)
            check_output(out, answers, study_path, force=force)
            receipt = draw(mechanism, source, given, entry, receipt, out, progress)
            promised = _promised(mechanism, receipt, others)
            receipt = replace(receipt, guarantee=promised.as_dict())
            entry.write(receipt)  # before anyone can see the reports
        elif receipt.latest.chosen != given.content.choices:
            raise _other_choices(answers, column, receipt, source)
        receipt = give(mechanism, entry, receipt, out, force=force or fresh, progress=progress)
        elsewhere = entry.elsewhere()
    total = total_of(receipt, others)
    guarantee = _promised(mechanism, receipt, others)
    notes = notes_of(receipt, others, elsewhere, fresh, "The same column was") + ledger.notes
    latest = receipt.latest
    if as_json:
        print_json(
            {
                "study": study.title,
                "question": name,
                "mechanism": mechanism.id,
                "design": words(mechanism),
                "digest": mechanism.digest.hex(),
                "people": receipt.rows,
                "reports": latest.reports,
                **_counts(latest.counts),
                "out": str(out),
                "sha256": latest.sha256[form(out)],
                "fresh": fresh,
                "releases": total,
                "receipt": str(entry.path),
                "guarantee": guarantee.as_dict(),
                "notes": notes,
            }
        )
        return
    screen = console()
    screen.print(heading(f"{study.title}: {plural(latest.reports, 'report')} in {out}"))
    rows = [
        ("question", f"{name}: {words(mechanism)}"),
        ("answers", f"{answers}, column {column!r}, {plural(receipt.rows, 'person', 'people')}"),
        *((what, where) for what, where in latest.choices.items()),
        *_asked(latest.counts),
        ("release", f"{total}" + ("" if fresh else f", drawn on {latest.day}")),
        ("receipt", str(entry.path)),
    ]
    show_table(screen, facts(rows))
    for note in notes:
        screen.print(f"\n{note}", style="yellow")
    screen.print()
    after = f" after {total} releases together" if total > 1 else ""
    chosen = latest.counts.get("levels", {})
    show_promises(
        screen,
        guarantee,
        f"What is promised to everyone who answered{after}",
        levels=list(chosen),
        counts=chosen,
    )
    screen.print(
        f"\nNext: sottovoce estimate {out} --study {study_path}", style="dim", soft_wrap=True
    )


def _counts(counts: dict[str, dict[str, list[int]]]) -> dict[str, list[dict[str, object]]]:
    """People and reports of each level and rate, for JSON."""
    one = {"levels": "level", "rates": "rate"}
    return {
        key: [
            {one[key]: name if key == "levels" else float(name), "people": n, "reports": s}
            for name, (n, s) in rows.items()
        ]
        for key, rows in counts.items()
    }


def _asked(counts: dict[str, dict[str, list[int]]]) -> list[tuple[str, str]]:
    """How many of those asked at each rate report; of many rates the first."""
    rates = counts.get("rates", {})
    rows = [(f"rate {float(r):g}", f"{s:,} of {n:,} report") for r, (n, s) in rates.items()]
    if len(rows) > _MOST_RATES:
        rest = sum(n for n, _ in list(rates.values())[_MOST_RATES:])
        rows[_MOST_RATES:] = [("…", f"{rest:,} people at {len(rates) - _MOST_RATES} more rates")]
    return rows


def _promised(mechanism: Mechanism, receipt: Receipt, others: list[Receipt]) -> Guarantee:
    """What holds for someone in all these releases, whose level may have changed between them."""
    from ..participation.choices import guarantee_of

    same = not others and all(r.chosen == receipt.latest.chosen for r in receipt.releases)
    once = mechanism.guarantee if same else guarantee_of(mechanism)
    return once.times(total_of(receipt, others))


def _other_choices(path: Path, column: str, receipt: Receipt, source: Source) -> ParameterError:
    before = ", ".join(f"{what}: {where}" for what, where in receipt.latest.choices.items())
    now = ", ".join(f"{what}: {where}" for what, where in source.words.items())
    asked = "what people chose has changed since" if before == now else f"now {now} is asked for"
    return ParameterError(
        f"{str(path)!r}, column {column!r}, was randomised on {receipt.latest.day} with "
        f"{before}, and {asked}; everyone would be released twice, and their "
        "guarantee would be weaker; give the same --levels and --rate as then, or say --again to "
        "release everyone once more"
    )
