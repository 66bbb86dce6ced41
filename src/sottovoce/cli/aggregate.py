"""``sottovoce aggregate``: reports in, counts out."""

from __future__ import annotations

from pathlib import Path

import click

from ..collect.counting import counted
from .support.designs import words
from .support.options import (
    COUNTS,
    PATH,
    allow_equal_option,
    check_output,
    force_option,
    json_option,
    load,
    question_option,
    study_option,
)
from .support.parts import sent, shares_of
from .support.screen import console, facts, heading, plural, print_json, progress, show_table


@click.command()
@click.argument("reports", type=PATH, nargs=-1, required=True)
@study_option
@question_option
@click.option("--out", type=PATH, required=True, metavar="FILE", help="Where the counts go: .sva.")
@allow_equal_option
@force_option
@json_option
def aggregate(
    reports: tuple[Path, ...],
    study_path: Path,
    question: str | None,
    out: Path,
    allow_equal: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Count reports, and merge counts of many places.

    REPORTS are files of reports (.svr, .parquet) and of counts (.sva) in any order and number.
    Counts are integers, so the order never matters.

    \b
    Example:
      sottovoce aggregate north.svr south.parquet earlier.sva \\
          --study study.toml --out counts.sva

    Next: sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301
    study, mechanism = load(study_path, question)
    check_output(out, study_path, *reports, force=force, ends=COUNTS)
    counts = counted(reports, mechanism, allow_equal=allow_equal, progress=progress)
    counts.save(out, replace=force)
    name = str(getattr(mechanism.domain, "name", ""))
    if as_json:
        tables = {key: table.tolist() for key, table in counts.tables.items()}
        print_json(
            {
                "study": study.title,
                "question": name,
                "mechanism": mechanism.id,
                "design": words(mechanism),
                "digest": mechanism.digest.hex(),
                "files": len(reports),
                "people": counts.n,
                "reports": sent(mechanism, counts),
                "tables": tables,
                "out": str(out),
            }
        )
        return
    reports_words = plural(sent(mechanism, counts), "report")
    screen = console()
    screen.print(heading(f"{study.title}: {reports_words} counted in {out}"))
    rows = [
        ("question", f"{name}: {words(mechanism)}"),
        ("files", f"{len(reports):,}"),
        *shares_of(mechanism, counts),
    ]
    show_table(screen, facts(rows))
    screen.print(
        f"\nNext: sottovoce estimate {out} --study {study_path}", style="dim", soft_wrap=True
    )
