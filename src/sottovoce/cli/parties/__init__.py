"""``sottovoce parties``: marginals between organisations with different budgets."""

from __future__ import annotations

import click

from .budget import budget
from .keys import keygen
from .plans import check, plan
from .roles import curator, dealer, join


@click.group()
def parties() -> None:
    """Compute tables over data that several organisations hold.

    Every party runs `join` on its own machine with its own data; the curator receives sums with
    noise and computes tables with intervals. Nobody sees a row of another party, and no party
    spends more than its own budget. Every command takes --json.

    \b
    Examples:
      sottovoce parties keygen B
      sottovoce parties plan study.toml
      sottovoce parties check study.toml --party B --data b.csv
      sottovoce parties curator study.toml
      sottovoce parties join study.toml --party B --data b.csv --curator institute.example:8765
      sottovoce parties budget

    Next: sottovoce parties keygen, by everyone who takes part.
    """  # noqa: D301


for command in (keygen, plan, check, curator, join, dealer, budget):
    parties.add_command(command)
