"""``sottovoce pull``: counts from a collection service."""

from __future__ import annotations

from typing import Any

import click

from .support.options import COUNTS, out_option, question_option, server_options
from .support.output import Output, file_output
from .support.show import plural


@click.command()
@click.argument("url", metavar="URL")
@click.option(
    "--token",
    required=True,
    envvar="SOTTOVOCE_TOKEN",
    help="The analyst's; also from the environment variable SOTTOVOCE_TOKEN.",
)
@question_option
@out_option("Where the counts go: .sva.")
@server_options
@file_output
def pull(url: str, token: str, question: str | None, output: Output, **server: Any) -> None:
    """Fetch the counts of a collection service.

    The analyst's link ends in the token: …/results?key=TOKEN.

    \b
    Example:
      sottovoce pull https://collector.example --token … --out counts.sva

    Next: sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301
    from ..contract.codec import AGGREGATE_MAGIC
    from ..errors import WireError
    from ..files import whole_file
    from ..service.client import Server

    output.check(ends=COUNTS)
    query = {} if question is None else {"question": question}
    data = Server(url, **server).get("/api/v1/aggregate", token, **query)
    if data[:4] != AGGREGATE_MAGIC:
        raise WireError(f"{url} did not send counts; is it a collection's address?")
    people, reports = (int.from_bytes(data[k : k + 8], "little") for k in (8, 16))
    with whole_file(output.out, replace=output.force) as stream:
        stream.write(data)
    output.show(
        {"url": url, "people": people, "reports": reports, "out": str(output.out)},
        f"{plural(reports, 'report')} counted in {output.out}",
        then=f"estimate {output.out} --study study.toml",
    )
