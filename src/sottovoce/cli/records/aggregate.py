"""``sottovoce records aggregate``: reports of records in, counts out."""

from __future__ import annotations

from pathlib import Path

import click

from ...collect.counting import counted_records
from ..support.attributes import load_records
from ..support.options import (
    COUNTS,
    PATH,
    allow_equal_option,
    check_output,
    force_option,
    json_option,
    records_option,
)
from ..support.screen import console, facts, heading, plural, print_json, progress, show_table


@click.command()
@click.argument("reports", type=PATH, nargs=-1, required=True)
@records_option
@click.option("--out", type=PATH, required=True, metavar="FILE", help="Where the counts go: .sva.")
@allow_equal_option
@force_option
@json_option
def aggregate(
    reports: tuple[Path, ...],
    schema: Path,
    out: Path,
    allow_equal: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Count reports, and merge counts of many places.

    REPORTS are files of reports (.svr, .parquet) and of counts (.sva) in any order and number. How
    often each different report came is kept, so that any attributes can be estimated together.

    \b
    Example:
      sottovoce records aggregate north.svr south.parquet earlier.sva \\
          --records health.toml --out counts.sva

    Next: sottovoce records joint counts.sva --records health.toml --attribute NAME
    """  # noqa: D301
    title, about = load_records(schema)
    check_output(out, schema, *reports, force=force, ends=COUNTS)
    counts = counted_records(reports, about, allow_equal=allow_equal, progress=progress)
    counts.save(out, replace=force)
    different = len(counts.counts)
    if as_json:
        print_json(
            {
                "title": title,
                "digest": about.digest.hex(),
                "files": len(reports),
                "reports": counts.n,
                "different": different,
                "out": str(out),
            }
        )
        return
    screen = console()
    screen.print(heading(f"{title}: {plural(counts.n, 'record')} counted in {out}"))
    rows = [("files", f"{len(reports):,}"), ("different", f"{plural(different, 'report')}")]
    show_table(screen, facts(rows))
    screen.print(
        f"\nNext: sottovoce records joint {out} --records {schema} --attribute NAME",
        style="dim",
        soft_wrap=True,
    )
