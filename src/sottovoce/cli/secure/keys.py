"""``sottovoce secure keygen`` and ``check``: keys of a party, and the study that names all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..support.key_files import key_output, save_keys
from ..support.numbers import INT
from ..support.options import PATH, json_output

if TYPE_CHECKING:
    from pathlib import Path

    from ..support.command import Output

_ROLES = ("user", "helper", "aggregator", "s1", "s2")


@click.command()
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), required=True, help="What the party does.")
@click.option("--users", type=INT, default=1, show_default=True, help="How many users it hosts.")
@click.option("--relay", is_flag=True, help="It carries the messages: the aggregator, or S1.")
@key_output
def keygen(name: str, role: str, users: int, relay: bool, output: Output) -> None:
    """Make a party's keys.

    NAME.key is private, NAME.party.toml goes into the study.

    A study is the question and the protocol, followed by the entries of all parties. Before the
    run everyone compares its digest (`secure check`) over another channel.

    \b
    Example:
      sottovoce secure keygen north --role user --users 50

    Next: cat question.toml *.party.toml > secure.toml; sottovoce secure check secure.toml
    """  # noqa: D301
    from ...transport import Role
    from ...transport.keys import KeyPair, Party

    keys = KeyPair.generate()
    party = Party(name, Role(role), keys.public, users, relay)
    save_keys(keys, party, output, f"{name}: keys of a party ({role})")


@click.command()
@click.argument("path", type=PATH)
@json_output
def check(path: Path, output: Output) -> None:
    """Show who takes part, what is promised, and the digest.

    \b
    Example:
      sottovoce secure check secure.toml

    Next: sottovoce secure aggregator --study secure.toml --key curator.key
    """  # noqa: D301
    from ...secure.parts import largest_host
    from ...secure.promises import with_hosts
    from ...study.secure import SecureStudy

    study = SecureStudy.load(path)
    protocol, digest, most = study.protocol, study.digest.hex(), largest_host(study.roster)
    guarantee = with_hosts(protocol.guarantee, most)
    parties = [
        {"party": party.id, "role": party.role.value, "users": party.users, "relay": party.relay}
        for party in study.roster
    ]
    about = {
        "protocol": protocol.name,
        "digest": digest,
        "parties": parties,
        "guarantee": guarantee.as_dict(),
    }
    rows = [("digest", digest)]
    for party in study.roster:
        hosts = f", {party.users:,} users" if party.role.value == "user" else ""
        rows.append((party.id, f"{party.role.value}{hosts}" + ", relay" * party.relay))
    exposed = (
        f"A host knows what its users draw. The largest has {most:,} users, and collusion is "
        f"{protocol.collusion:,}: nothing is promised against a host that sees the result, or "
        f"works together with anyone who does, unless collusion is {most:,} or more."
    )
    output.show(
        about,
        f"{study.question.name}: {protocol.name}",
        rows,
        warnings=[exposed] if most > max(1, protocol.collusion) else [],
        promise={"guarantee": guarantee},
    )
