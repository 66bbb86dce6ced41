"""``sottovoce aggregate``: reports in, counts out."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..collect.counting import count_files
from .support.options import (
    COUNTS,
    PATH,
    allow_equal_option,
    check_output,
    digest_words,
    force_option,
    json_option,
    question_option,
    study_option,
)
from .support.show import (
    console,
    facts,
    heading,
    plural,
    print_json,
    printable,
    progress,
    show_next_estimate,
    show_table,
)

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate
    from ..contract.collection import Collection

_MOST_LEVELS = 12


@click.command()
@click.argument("reports", type=PATH, nargs=-1, required=True)
@study_option
@question_option
@click.option("--out", type=PATH, required=True, metavar="FILE", help="Where the counts go: .sva.")
@click.option(
    "--engine",
    type=click.Choice(["cpu", "cuda", "auto"]),
    default="cpu",
    show_default=True,
    help="What counts: the cores, a GPU, or a GPU if there is one and it is worth it.",
)
@allow_equal_option
@force_option
@json_option
def aggregate(
    reports: tuple[Path, ...],
    study_path: Path,
    question: str | None,
    out: Path,
    engine: str,
    allow_equal: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Count reports, and merge counts of many places.

    REPORTS are files of reports (.svr, .parquet) and of counts (.sva) in any order and number, of
    one question or of records. Counts are integers, so the order never matters.

    \b
    Example:
      sottovoce aggregate north.svr south.parquet earlier.sva \\
          --study study.toml --out counts.sva

    Next: sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301
    from ..study import Study

    study = Study.load(study_path)
    collection = study.collection(question)
    check_output(out, study_path, *reports, force=force, ends=COUNTS)
    with _counting(engine):
        counts = count_files(
            reports, collection, allow_equal=allow_equal, progress=progress
        ).aggregate
    counts.save(out, replace=force)
    if as_json:
        print_json(
            {
                "study": study.title,
                "question": collection.name,
                "mechanism": collection.id,
                "design": collection.words,
                "digest": study.digest.hex(),
                "question_digest": collection.digest.hex(),
                "files": len(reports),
                "people": counts.people,
                "reports": counts.reports,
                **counts.content(),
                "out": str(out),
            }
        )
        return
    screen = console()
    screen.print(heading(f"{study.title}: {plural(counts.reports, 'report')} counted in {out}"))
    rows = [
        ("question", f"{collection.name}: {collection.words}"),
        ("digest", digest_words(study, collection)),
        ("files", f"{len(reports):,}"),
        *_people(collection, counts),
    ]
    show_table(screen, facts(rows))
    show_next_estimate(screen, out, study_path, study, collection)


def _counting(engine: str) -> AbstractContextManager[object]:
    """Where the counting is done; the cores need no choice."""
    if engine == "cpu":
        return nullcontext()
    from ..scale import counting

    return counting(engine)


def _people(collection: Collection, counts: Aggregate) -> list[tuple[str, str]]:
    """Who is in the counts: people of each level, and how many were asked."""
    asked, _ = collection.turnout(counts)
    if len(asked) == 1 and counts.people == counts.reports:
        return []
    levels = dict.fromkeys(collection.level_names, 0)
    for way, people in zip(collection.ways(), asked.tolist(), strict=True):
        if way.level is not None:
            levels[way.level] += people
    rows = []
    if levels:
        shown = [f"{printable(name)} {n:,}" for name, n in list(levels.items())[:_MOST_LEVELS]]
        rows.append(("levels", ", ".join(shown) + (", …" if len(levels) > _MOST_LEVELS else "")))
    if collection.sampled:
        rows.append(("asked", plural(counts.people, "person", "people")))
    return rows
