"""``sottovoce secure``: frequencies without a trusted server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .secure_roles import aggregator, helper, send
from .support.options import (
    PATH,
    check_output,
    confidence_option,
    force_option,
    guarantee_option,
    json_option,
)
from .support.parse import edges_from, values_from
from .support.secure import NAMES, protocol_options, read_answers, show_result, working
from .support.show import console, facts, heading, print_json, show_guarantee, show_table

_ROLES = ("user", "helper", "aggregator", "s1", "s2")


@click.group()
def secure() -> None:
    """Count answers without a trusted server, by secret sharing.

    Everyone divides their answer into shares that mean nothing one by one; only sums are opened,
    with noise or of a secret sample. `run` simulates all roles on answers in a file; between
    machines each party runs its own process.

    \b
    Examples:
      sottovoce secure run answers.csv --column commute --values car,bicycle,train --epsilon 1
      sottovoce secure keygen north --role user --users 50
      sottovoce secure aggregator --study secure.toml --key curator.key
      sottovoce secure helper --study secure.toml --key helper-1.key --relay http://127.0.0.1:8765
      sottovoce secure send answers.csv --study secure.toml --key north.key \\
          --relay http://127.0.0.1:8765
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
@click.option("--helpers", type=int, metavar="S", help="Helper servers; 0: users share with users.")
@confidence_option
@guarantee_option
@json_option
def run(
    answers: Path,
    protocol: str,
    column: str,
    values: str | None,
    edges: str | None,
    missing: Any,
    helpers: int | None,
    confidence: float,
    full: bool,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Simulate a protocol: every role in this process, on answers in a file.

    ANSWERS is a CSV (also gzipped) or Parquet file with one row per person.

    \b
    Examples:
      sottovoce secure run answers.csv --column commute --values car,bicycle,train --epsilon 1
      sottovoce secure run answers.csv --column commute --values car,bicycle,train \\
          --protocol tss --rate 0.4 --report 0.4 --collusion 3 --count 100

    Next: sottovoce secure keygen, to run it between machines.
    """  # noqa: D301
    from ..domain.values import Attribute
    from ..study.secure import protocol_of

    if (values is None) == (edges is None):
        raise click.UsageError("give one of --values and --edges")
    question = (
        Attribute(column, values_from(values), missing=missing)
        if values is not None
        else Attribute(column, edges=edges_from(edges or ""), missing=missing)
    )
    given = {name: value for name, value in parameters.items() if value is not None}
    coded = read_answers(answers, column, question)
    chosen = protocol_of(protocol, question, given, users=len(coded), helpers=helpers)
    with working("Running every role"):
        done = chosen.simulate(coded)
    show_result(
        chosen,
        done.aggregate,
        {"refused": list(done.refused)},
        confidence=confidence,
        full=full,
        as_json=as_json,
        costs=done.costs,
    )


@secure.command()
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), required=True, help="What the party does.")
@click.option("--users", type=int, default=1, show_default=True, help="How many users it hosts.")
@click.option("--relay", is_flag=True, help="It carries the messages: the aggregator, or S1.")
@click.option(
    "--out", type=PATH, default=Path(), metavar="DIR", help="Where the files go; here by default."
)
@force_option
@json_option
def keygen(
    name: str, role: str, users: int, relay: bool, out: Path, force: bool, as_json: bool
) -> None:
    """Make a party's keys: NAME.key is private, NAME.party.toml goes into the study.

    A study is the question and the protocol, followed by the entries of all parties. Before the
    run everyone compares its digest (`secure check`) over another channel.

    \b
    Example:
      sottovoce secure keygen north --role user --users 50

    Next: cat question.toml *.party.toml > secure.toml; sottovoce secure check secure.toml
    """  # noqa: D301
    from ..files import whole_file
    from ..transport import Role
    from ..transport.keys import KeyPair, Party

    keys = KeyPair.generate()
    party = Party(name, Role(role), keys.public, users, relay)
    private, public = out / f"{name}.key", out / f"{name}.party.toml"
    for path in (private, public):
        check_output(path, force=force)
    keys.save(private, replace=force)
    with whole_file(public, replace=force) as stream:
        stream.write(party.to_toml().encode())
    if as_json:
        print_json({"private": str(private), "public": str(public), **party.as_dict()})
        return
    screen = console()
    screen.print(heading(f"{name}: keys of a party ({role})"))
    rows = [("private key", f"{private} (never leaves this machine)"), ("entry", str(public))]
    show_table(screen, facts(rows))


@secure.command()
@click.argument("path", type=PATH)
@json_option
def check(path: Path, as_json: bool) -> None:
    """Show who takes part in a study, what is promised, and the digest to compare.

    \b
    Example:
      sottovoce secure check secure.toml

    Next: sottovoce secure aggregator --study secure.toml --key curator.key
    """  # noqa: D301
    from ..study.secure import SecureStudy

    study = SecureStudy.load(path)
    guarantee = study.protocol.guarantee
    parties = [
        {"party": party.id, "role": party.role.value, "users": party.users, "relay": party.relay}
        for party in study.roster
    ]
    if as_json:
        digest = study.digest.hex()
        about = {"protocol": study.protocol.name, "digest": digest, "parties": parties}
        print_json({**about, "guarantee": guarantee.as_dict()})
        return
    screen = console()
    screen.print(heading(f"{study.question.name}: {study.protocol.name}"))
    rows = [("digest", study.digest.hex())]
    for party in study.roster:
        hosts = f", {party.users:,} users" if party.role.value == "user" else ""
        rows.append((party.id, f"{party.role.value}{hosts}" + ", relay" * party.relay))
    show_table(screen, facts(rows))
    screen.print()
    show_guarantee(screen, guarantee)


for role in (aggregator, helper, send):
    secure.add_command(role)
