"""``sottovoce pull``: counts, or reports that are still to be counted, from a service."""

from __future__ import annotations

from pathlib import Path

import click

from .support.options import (
    COUNTS,
    PATH,
    certificate_option,
    check_output,
    force_option,
    json_option,
    patience_option,
    question_option,
)
from .support.show import console, heading, plural, print_json, show_next


@click.command()
@click.argument("url", metavar="URL")
@click.option(
    "--token",
    required=True,
    envvar="SOTTOVOCE_TOKEN",
    help="The analyst's; also from the environment variable SOTTOVOCE_TOKEN.",
)
@question_option
@click.option(
    "--out",
    type=PATH,
    required=True,
    metavar="FILE",
    help="Where the counts go: .sva. Of a question with too many values to count: .svr, reports.",
)
@patience_option
@certificate_option
@force_option
@json_option
def pull(
    url: str,
    token: str,
    question: str | None,
    out: Path,
    patience: float,
    certificate: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Fetch the counts of a collection service.

    The analyst's link ends in the token: …/results?key=TOKEN. Where a question has too many values
    to count them all, fetch its reports instead, and count those that you choose.

    \b
    Examples:
      sottovoce pull https://collector.example --token … --out counts.sva
      sottovoce pull https://collector.example --token … --out reports.svr

    Next: sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301
    from ..contract.codec import AGGREGATE_MAGIC, REPORTS_MAGIC
    from ..errors import WireError
    from ..files import whole_file
    from ..service.client import Server

    check_output(out, force=force, ends=(*COUNTS, ".svr"))
    query = {} if question is None else {"question": question}
    counted = out.suffix.lower() in COUNTS
    route, magic = ("aggregate", AGGREGATE_MAGIC) if counted else ("export", REPORTS_MAGIC)
    data = Server(url, patience, certificate).get(f"/api/v1/{route}", token, **query)
    if data[:4] != magic:
        what = "counts" if counted else "reports"
        raise WireError(f"{url} did not send {what}; is it a collection's address?")
    # Counts state people and reports; a file of reports has one for each person.
    people, reports = (int.from_bytes(data[k : k + 8], "little") for k in (8, 16 if counted else 8))
    with whole_file(out, replace=force) as stream:
        stream.write(data)
    if as_json:
        print_json({"url": url, "people": people, "reports": reports, "out": str(out)})
        return
    screen = console()
    screen.print(heading(f"{plural(reports, 'report')} {'counted ' * counted}in {out}"))
    chosen = "" if counted else " --candidates candidates.txt"
    show_next(screen, f"estimate {out} --study study.toml{chosen}")
