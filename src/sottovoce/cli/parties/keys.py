"""``sottovoce parties keygen``: the keys of a party, the curator or the dealer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..support.key_files import key_output, save_keys

if TYPE_CHECKING:
    from ..support.command import Output

_ROLES = ("party", "curator", "dealer")


@click.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(_ROLES),
    default="party",
    show_default=True,
    help="A party has data, the curator receives the sums, a dealer deals randomness.",
)
@key_output
def keygen(name: str, role: str, output: Output) -> None:
    """Make the keys of a party.

    NAME.key is private, NAME.party.toml goes into the study.

    The private key never leaves the machine it was made on. The entry has the public key and a
    certificate of it; everyone else knows NAME by these two alone.

    \b
    Examples:
      sottovoce parties keygen A
      sottovoce parties keygen institute --role curator
      cat tables.toml *.party.toml > study.toml

    Next: sottovoce parties plan study.toml
    """  # noqa: D301
    from ...transport import Role
    from ...transport.keys import KeyPair, Party

    keys = KeyPair.generate()
    party = Party(
        name,
        Role(role),
        keys.public,
        relay=role == "curator",
        certificate=keys.certificate(name),
    )
    save_keys(
        keys,
        party,
        output,
        f"{name}: keys ({role})",
        use=" (goes into the study)",
        then="parties plan study.toml, once the entries of all are in the study",
    )
