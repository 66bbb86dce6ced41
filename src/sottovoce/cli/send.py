"""``sottovoce send``: reports to a collection service."""

from __future__ import annotations

from pathlib import Path

import click

from .support.options import PATH, certificate_option, json_option, patience_option
from .support.show import (
    console,
    facts,
    heading,
    plural,
    print_json,
    printable,
    progress,
    show_table,
)

_MOST_REFUSED = 10


@click.command()
@click.argument("reports", type=PATH)
@click.option("--to", required=True, metavar="URL", help="The participants' address.")
@click.option("--code", metavar="CODE", help="An invitation code, where the study needs one.")
@click.option(
    "--study",
    "study_path",
    type=PATH,
    metavar="FILE",
    help="Needed for more than 10,000 reports, and for Parquet.",
)
@patience_option
@certificate_option
@json_option
def send(
    reports: Path,
    to: str,
    code: str | None,
    study_path: Path | None,
    patience: float,
    certificate: Path | None,
    as_json: bool,
) -> None:
    """Send reports that were made here to a collection service.

    REPORTS is a file that `sottovoce randomise` wrote. A receipt beside it remembers the ids under
    which they were sent: the same command again sends the same bytes, which count once.

    \b
    Example:
      sottovoce send reports.svr --to https://collector.example

    Next: keep the receipt; the study's owner can confirm it with sottovoce collection verify.
    """  # noqa: D301
    from ..service.client import Server, path_of, send_file, split_file
    from ..study import Study

    study = None if study_path is None else Study.load(study_path)
    server = Server(to, patience, certificate)
    total = len(split_file(reports, study)[1])
    with progress("sending", total) as done:
        receipt = send_file(reports, server, code=code, study=study, done=done)
    accepted = sum(answer["accepted"] for answer in receipt.answers)
    refused = [one for answer in receipt.answers for one in answer["refused"]]
    if as_json:
        print_json(
            {
                "to": to,
                "accepted": accepted,
                "refused": refused,
                "receipts": [answer["receipt"] for answer in receipt.answers],
                "out": str(path_of(reports)),
            }
        )
        return
    screen = console()
    screen.print(heading(f"{plural(accepted, 'report')} accepted by {to}"))
    rows = [("receipt", str(path_of(reports)))]
    rows += [
        ("refused", f"report {one['position']}: {printable(one['reason'])}")
        for one in refused[:_MOST_REFUSED]
    ]
    show_table(screen, facts(rows))
    if len(refused) > _MOST_REFUSED:
        screen.print(f"… and {len(refused) - _MOST_REFUSED} more; --json lists all.")
