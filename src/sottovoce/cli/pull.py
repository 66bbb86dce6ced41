"""``sottovoce pull``: counts from a collection service."""

from __future__ import annotations

import shlex
from typing import Any

import click

from .support.command import Output, plural
from .support.options import COUNTS, file_output, out_option, question_option, server_options


@click.command()
@click.argument("url", metavar="URL")
@click.option(
    "--token",
    envvar="SOTTOVOCE_TOKEN",
    help="The analyst's token; by default that in the environment variable SOTTOVOCE_TOKEN.",
)
@question_option
@out_option(
    "Where the counts go: .sva. For a question with too many values to count, its reports: .svr."
)
@server_options
@file_output
def pull(url: str, token: str | None, question: str | None, output: Output, **server: Any) -> None:
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

    if not token:
        raise click.UsageError(
            "Missing option '--token': what follows key= in the link that `sottovoce serve` printed"
        )
    output.check(ends=(*COUNTS, ".svr"))
    counted = output.out.suffix.lower() in COUNTS
    route, magic = ("aggregate", AGGREGATE_MAGIC) if counted else ("export", REPORTS_MAGIC)
    query = {} if question is None else {"question": question}
    data = Server(url, **server).get(f"/api/v1/{route}", token, **query)
    if data[:4] != magic:
        what = "counts" if counted else "reports"
        raise WireError(f"{url} did not send {what}; is it a collection's address?")
    # Counts state people and reports; a file of reports has one for each person.
    people, reports = (int.from_bytes(data[k : k + 8], "little") for k in (8, 16 if counted else 8))
    with whole_file(output.out, replace=output.force) as stream:
        stream.write(data)
    which = "" if question is None else f" --question {shlex.quote(question)}"
    chosen = "" if counted else " --candidates candidates.txt"
    output.show(
        {"url": url, "people": people, "reports": reports, "out": str(output.out)},
        f"{plural(reports, 'report')} {'counted ' * counted}in {output.out}",
        then=f"estimate {shlex.quote(str(output.out))} --study study.toml{which}{chosen}",
    )
