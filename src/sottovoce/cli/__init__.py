"""The command line: one file per command, what they share in `support`.

Nothing but click is imported until a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import click

from .. import __version__
from .account import account
from .aggregate import aggregate
from .audit import audit
from .demo import demo
from .estimate import estimate
from .guarantee import guarantee
from .joint import joint
from .lip import lip
from .plan import plan
from .randomise import randomise
from .study import study
from .support.group import Commands

__all__ = ["main"]


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done; 1 something that you can put right (the message says how); "
    "2 wrong usage; 130 interrupted.",
)
@click.version_option(
    __version__, "--version", prog_name="sottovoce", message="%(prog)s %(version)s"
)
def main() -> None:
    """Learn statistics of many people although nobody hands over raw data.

    Everyone's answer is randomised on their own side; only the crowd can be heard.

    \b
    See it work:
      sottovoce demo

    \b
    A collection, step by step:
      sottovoce study new study.toml --title "How we get to work" \\
          --question commute --values car,bicycle,train --epsilon 1
      sottovoce randomise answers.csv --study study.toml --out reports.svr
      sottovoce aggregate reports.svr --study study.toml --out counts.sva
      sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301


for command in (
    demo,
    plan,
    lip,
    study,
    randomise,
    aggregate,
    estimate,
    joint,
    guarantee,
    account,
    audit,
):
    main.add_command(command)
