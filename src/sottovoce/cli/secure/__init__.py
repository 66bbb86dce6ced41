"""``sottovoce secure``: frequencies without a trusted server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..support.command import Output
from ..support.numbers import INT
from ..support.options import PATH, table_options
from ..support.parse import edges_from, values_from
from .keys import check, keygen
from .roles import aggregator, helper, send
from .shared import NAMES, protocol_options, read_answers, result_options, show_result, working

if TYPE_CHECKING:
    from ...collect.dialect import Dialect


@click.group()
def secure() -> None:
    """Count answers without a trusted server, by secret sharing.

    Everyone divides their answer into shares that mean nothing one by one; only sums are opened,
    with noise or of a secret sample. `run` simulates all roles on answers in a file; between
    machines each party runs its own process. Every command takes --json.

    \b
    Examples:
      sottovoce secure run answers.csv --column commute --values car,bicycle,train --epsilon 1
      sottovoce secure keygen north --role user --users 50
      sottovoce secure aggregator --study secure.toml --key curator.key
      sottovoce secure helper --study secure.toml --key helper-1.key --relay http://127.0.0.1:8765
      sottovoce secure send answers.csv --study secure.toml --key north.key \\
          --relay http://127.0.0.1:8765

    Next: sottovoce account sampled-counts says what a secret sample hides.
    """  # noqa: D301


@secure.command()
@click.argument("answers", type=PATH)
@click.option(
    "--protocol",
    type=click.Choice(NAMES),
    default="binomial",
    show_default=True,
    help="binomial, dpdg, dummies and suppressed promise the same whatever people answer; dpds, "
    "tss and dpcs need a --count.",
)
@click.option("--column", required=True, metavar="NAME", help="Column of the answers.")
@click.option("--values", metavar="A,B,…", help="Possible answers, or a number d for 0 to d-1.")
@click.option("--edges", metavar="X,Y,…", help="Instead of values: edges of bins of a number.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "value"]),
    default="refuse",
    show_default=True,
    help="Whether no answer is an error, or a value like the others.",
)
@protocol_options
@click.option("--helpers", type=INT, metavar="S", help="Helper servers; 0: users share with users.")
@table_options
@result_options
def run(
    answers: Path,
    protocol: str,
    column: str,
    values: str | None,
    edges: str | None,
    missing: Any,
    helpers: int | None,
    dialect: Dialect,
    output: Output,
    **parameters: Any,
) -> None:
    """Simulate a protocol: all roles here, on answers in a file.

    ANSWERS is a CSV (also gzipped) or Parquet file or a workbook with one row per person.

    \b
    Examples:
      sottovoce secure run answers.csv --column commute --values car,bicycle,train --epsilon 1
      sottovoce secure run answers.csv --column commute --values car,bicycle,train \\
          --protocol tss --rate 0.4 --report 0.4 --collusion 3 --count 100

    Next: sottovoce secure keygen, to run it between machines.
    """  # noqa: D301
    from ...domain.values import Attribute
    from ...study.secure import protocol_of

    output.check(answers)
    if (values is None) == (edges is None):
        raise click.UsageError("give one of --values and --edges")
    question = (
        Attribute(column, values_from(values), missing=missing)
        if values is not None
        else Attribute(column, edges=edges_from(edges or ""), missing=missing)
    )
    set_parameters = {name: value for name, value in parameters.items() if value is not None}
    coded = read_answers(answers, column, question, dialect)
    chosen = protocol_of(protocol, question, set_parameters, users=len(coded), helpers=helpers)
    with working("Running every role"):
        done = chosen.simulate(coded)
    about = {"refused": list(done.refused)}
    show_result(chosen, done.aggregate, about, output, costs=done.costs)


for command in (keygen, check, aggregator, helper, send):
    secure.add_command(command)
