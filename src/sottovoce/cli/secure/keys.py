"""``sottovoce secure keygen`` and ``check``: keys of a party, and the study that names all."""

from __future__ import annotations

from pathlib import Path

import click

from ...files import check_output
from ..support.command import console, facts, heading, print_json, show_table
from ..support.guarantees import show_guarantee
from ..support.options import PATH, force_option, json_option

_ROLES = ("user", "helper", "aggregator", "s1", "s2")


@click.command()
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
    """Make a party's keys.

    NAME.key is private, NAME.party.toml goes into the study.

    A study is the question and the protocol, followed by the entries of all parties. Before the
    run everyone compares its digest (`secure check`) over another channel.

    \b
    Example:
      sottovoce secure keygen north --role user --users 50

    Next: cat question.toml *.party.toml > secure.toml; sottovoce secure check secure.toml
    """  # noqa: D301
    from ...files import whole_file
    from ...transport import Role
    from ...transport.keys import KeyPair, Party

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


@click.command()
@click.argument("path", type=PATH)
@json_option
def check(path: Path, as_json: bool) -> None:
    """Show who takes part, what is promised, and the digest.

    \b
    Example:
      sottovoce secure check secure.toml

    Next: sottovoce secure aggregator --study secure.toml --key curator.key
    """  # noqa: D301
    from ...study.secure import SecureStudy

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
