"""``sottovoce records randomise``: a table of true answers in, reports out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ...collect.ledger import Ledger, Subject, folder_of
from ...collect.notes import notes_of, refused, total_of
from ...collect.receipts import RECORDS
from ...collect.records import Divided, Table
from ...collect.release import Input, Made, check_plain, give, released
from ...errors import ParameterError, SottovoceError
from ..support.attributes import load_records
from ..support.options import PATH, REPORTS, check_output, force_option, json_option, records_option
from ..support.screen import console, heading, plural, print_json, progress, show_guarantee

if TYPE_CHECKING:
    from ...contract.reports import Reports

_MOST_BYTES = 1 << 23


@click.command()
@click.argument("table", type=PATH)
@records_option
@click.option(
    "--allocation",
    type=click.Choice(["equal", "random", "columns"]),
    default="equal",
    show_default=True,
    help="How epsilon is divided; 'columns' reads epsilon_NAME for each attribute, empty where "
    "unreported.",
)
@click.option("--out", type=PATH, required=True, metavar="FILE", help=".svr or .parquet.")
@click.option("--again", is_flag=True, help="Draw fresh noise: one more release.")
@click.option("--receipts", type=PATH, metavar="DIR", help="Where receipts are kept.")
@force_option
@json_option
def randomise(
    table: Path,
    schema: Path,
    allocation: str,
    out: Path,
    again: bool,
    receipts: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Turn a table of true answers into reports.

    TABLE is a CSV or Parquet file with a row per person and a column per attribute. The same
    command again gives the same reports; --again draws fresh ones, a second release.

    \b
    Example:
      sottovoce records randomise people.csv --records health.toml --out reports.svr

    Next: sottovoce records marginal, or sottovoce records joint.
    """  # noqa: D301
    title, about = load_records(schema)
    source = Table(table, about, allocation == "columns")
    divided = Divided(about, allocation)
    check_output(out, table, schema, force=True, ends=REPORTS)
    check_plain(table)
    ledger, digest = Ledger(folder_of(receipts)), about.digest.hex()
    given = Input.of(table, source, ledger, digest, progress)
    subject = Subject(title, allocation, about.id, digest, RECORDS, given.path, given.content)
    with ledger.entry(subject) as entry:
        receipt = entry.receipt().of_file(given.path)
        others = entry.others()
        fresh = again or not receipt.releases
        if not fresh and (
            receipt.question != allocation or receipt.latest.chosen != given.content.choices
        ):
            raise ParameterError(
                f"these answers were randomised with --allocation {receipt.question}, and now "
                "epsilon is divided in another way; that is a second release, so say --again if it "
                "is what you want"
            )
        if fresh and others and not again:
            raise refused(repr(str(table)), given, others)
        if fresh:
            check_output(out, table, schema, force=force)
            people: list[int] = []
            batches = partial(_batches, divided, source, people)
            receipt = released(
                batches,
                lambda: Made(sum(people), sum(people)),
                given,
                entry,
                receipt,
                out,
                progress,
            )
            promised = about.guarantee.times(total_of(receipt, others))
            receipt = replace(receipt, question=allocation, guarantee=promised.as_dict())
            entry.write(receipt)  # before anyone can see the reports
        receipt = give(
            cast("Any", about), entry, receipt, out, force=force or fresh, progress=progress
        )
        elsewhere = entry.elsewhere()
    releases = total_of(receipt, others)
    guarantee = about.guarantee.times(releases)
    notes = notes_of(receipt, others, elsewhere, fresh, "Columns of this table were")
    notes += ledger.notes
    if as_json:
        print_json(
            {
                "title": title,
                "people": receipt.rows,
                "reports": receipt.latest.reports,
                "out": str(out),
                "allocation": allocation,
                "fresh": fresh,
                "releases": releases,
                "receipt": str(entry.path),
                "guarantee": guarantee.as_dict(),
                "notes": notes,
            }
        )
        return
    screen = console()
    screen.print(heading(f"{title}: {plural(receipt.latest.reports, 'record')} in {out}"))
    for note in notes:
        screen.print(f"\n{note}", style="yellow")
    screen.print()
    show_guarantee(screen, guarantee, "What is promised to someone who reports every attribute")
    screen.print(
        f"\nNext: sottovoce records joint {out} --records {schema} --attribute NAME",
        style="dim",
        soft_wrap=True,
    )


def _batches(
    divided: Divided, source: Table, people: list[int], done: Callable[[int], None]
) -> Iterator[Reports]:
    """Reports of as many people as fit into memory at once; `people` counts them."""
    each = sum(column.nbytes for column in divided.layout)
    for first, chunk in source.columns.chunks(max(1, _MOST_BYTES // each), done):
        try:
            batch = divided.randomise(chunk, first + 1)
        except SottovoceError as error:
            source.explain(chunk, first)
            raise type(error)(f"{str(source.path)!r} (header not counted): {error}") from error
        people.append(len(batch))
        yield batch
