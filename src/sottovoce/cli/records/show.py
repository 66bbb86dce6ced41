"""``sottovoce records show``: what a file of attributes asks, and what it promises."""

from __future__ import annotations

from pathlib import Path

import click

from ..support.attributes import load_records
from ..support.options import PATH, json_option
from ..support.screen import console, facts, heading, print_json, show_guarantee, show_table

_MOST_SHOWN = 12


@click.command()
@click.argument("path", type=PATH)
@json_option
def show(path: Path, as_json: bool) -> None:
    """Show attributes, epsilon and guarantee.

    Nothing is randomised: this is what people can read before they answer.

    \b
    Example:
      sottovoce records show health.toml

    Next: sottovoce records randomise people.csv --records health.toml --out reports.svr
    """  # noqa: D301
    title, about = load_records(path)
    if as_json:
        print_json(
            {
                "path": str(path),
                "title": title,
                "digest": about.digest.hex(),
                "epsilon_average": about.epsilon_average,
                "public": about.public,
                "floor": about.floor,
                "attributes": [
                    {"name": one.name, "values": list(one.labels), "missing": one.missing}
                    for one in about.schema
                ],
                "guarantee": about.guarantee.as_dict(),
            }
        )
        return
    screen = console()
    screen.print(heading(title))
    sent = "sent along with the reports" if about.public else "nobody's is sent"
    least = f", at least {about.floor:g} for each" if about.floor else ""
    rows = [
        ("digest", about.digest.hex()),
        ("epsilon", f"{about.epsilon_average:g} on average for each reported attribute{least}"),
        ("division", sent),
    ]
    show_table(screen, facts(rows))
    for one in about.schema:
        values = ", ".join(map(str, one.labels[:_MOST_SHOWN]))
        more = one.size - _MOST_SHOWN
        screen.print()
        rows = [
            ("attribute", one.name),
            ("values", f"{one.size:,}: {values}" + (f", … and {more:,} more" if more > 0 else "")),
            ("missing", one.missing),
        ]
        show_table(screen, facts(rows))
    screen.print()
    show_guarantee(
        screen, about.guarantee, "What is promised to someone who reports every attribute"
    )
