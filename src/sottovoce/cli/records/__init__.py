"""``sottovoce records``: whole records, everyone dividing epsilon over the attributes."""

from __future__ import annotations

import click

from .aggregate import aggregate
from .joint import joint
from .marginal import marginal
from .randomise import randomise
from .show import show


@click.group()
def records() -> None:
    """Whole records, epsilon divided over attributes.

    Everyone divides epsilon over the attributes as they like, without looking at the answers;
    nobody's division is sent. The attributes stand in a TOML file with a title, epsilon_average,
    and an [[attribute]] for each, with name and values (or edges).

    \b
    Example:
      sottovoce records randomise people.csv --records health.toml \\
          --allocation random --out reports.svr
      sottovoce records joint reports.svr --records health.toml \\
          --attribute smokes --attribute age --plot heat.png

    Next: sottovoce records randomise --help
    """  # noqa: D301


for command in (show, randomise, aggregate, marginal, joint):
    records.add_command(command)
