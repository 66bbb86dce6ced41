"""``sottovoce send``: reports to a collection service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..checks import printable
from .support.command import Output, plural, progress
from .support.options import PATH, json_output, server_options

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
@server_options
@json_output
def send(
    reports: Path,
    to: str,
    code: str | None,
    study_path: Path | None,
    output: Output,
    **server: Any,
) -> None:
    """Send reports that were made here to a collection service.

    REPORTS is a file that `sottovoce randomise` wrote. A receipt beside it remembers the ids under
    which they were sent: the same command again sends the same bytes, which count once.

    \b
    Example:
      sottovoce send reports.svr --to https://collector.example

    Next: keep the receipt file to yourself, because its ids could link you to your reports. The
    study's owner can look up the receipt number that is printed, with sottovoce collection verify
    --receipt.
    """  # noqa: D301
    from ..service.client import Server, path_of, send_file, split_file
    from ..study import Study

    study = None if study_path is None else Study.load(study_path)
    total = len(split_file(reports, study)[1])
    with progress("sending", total) as done:
        receipt = send_file(reports, Server(to, **server), code=code, study=study, done=done)
    accepted = sum(answer["accepted"] for answer in receipt.answers)
    refused = [one for answer in receipt.answers for one in answer["refused"]]
    about = {
        "to": to,
        "accepted": accepted,
        "refused": refused,
        "receipts": [answer["receipt"] for answer in receipt.answers],
        "out": str(path_of(reports)),
    }
    first, *others = about["receipts"]
    more_receipts = f", and {len(others)} more, which --json lists" * bool(others)
    rows = [("receipt", printable(first) + more_receipts), ("kept in", str(path_of(reports)))]
    rows += [
        ("refused", f"report {one['position']}: {printable(one['reason'])}")
        for one in refused[:_MOST_REFUSED]
    ]
    more = len(refused) - _MOST_REFUSED
    notes = [f"… and {more} more; --json lists all."] * (more > 0)
    output.show(about, f"{plural(accepted, 'report')} accepted by {to}", rows, notes=notes)
