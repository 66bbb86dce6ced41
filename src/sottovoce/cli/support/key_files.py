"""The files of new keys: NAME.key, which is private, and NAME.party.toml, for everyone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...files import check_output, whole_file
from .command import Output
from .options import PATH, file_output, together

if TYPE_CHECKING:
    from ...transport.keys import KeyPair, Party

#: --out DIR, --force and --json.
key_output = together(
    click.option(
        "--out",
        type=PATH,
        default=Path(),
        metavar="DIR",
        help="Where the files go; here by default.",
    ),
    file_output,
)


def save_keys(
    keys: KeyPair, party: Party, output: Output, title: str, *, use: str = "", then: str = ""
) -> None:
    """Write both files and say where they are; `use` says what the entry is for."""
    private, public = output.out / f"{party.id}.key", output.out / f"{party.id}.party.toml"
    for path in (private, public):
        check_output(path, force=output.force)
    keys.save(private, replace=output.force)
    with whole_file(public, replace=output.force) as stream:
        stream.write(party.to_toml().encode())
    about = {"private": str(private), "public": str(public), **party.as_dict()}
    rows = [("private key", f"{private} (never leaves this machine)"), ("entry", f"{public}{use}")]
    output.show(about, title, rows, then=then)
