"""``sottovoce parties keygen``: the keys of a party, the curator or the dealer."""

from __future__ import annotations

from pathlib import Path

import click

from ...files import check_output
from ..support.command import console, facts, heading, print_json, show_next, show_table
from ..support.options import PATH, force_option, json_option

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
@click.option(
    "--out", type=PATH, default=Path(), metavar="DIR", help="Where the files go; here by default."
)
@force_option
@json_option
def keygen(name: str, role: str, out: Path, force: bool, as_json: bool) -> None:
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
    from ...files import whole_file
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
    screen.print(heading(f"{name}: keys ({role})"))
    rows = [
        ("private key", f"{private} (never leaves this machine)"),
        ("entry", f"{public} (goes into the study)"),
    ]
    show_table(screen, facts(rows))
    show_next(screen, "parties plan study.toml, once the entries of all are in the study")
