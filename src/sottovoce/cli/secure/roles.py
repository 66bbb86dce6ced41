"""``sottovoce secure aggregator``, ``helper`` and ``send``: the roles as separate processes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..support.command import Output
from ..support.numbers import SECONDS
from ..support.options import PATH, json_output, relay_place_options, table_options
from .shared import Place, party_options, read_answers, relay_options, result_options

if TYPE_CHECKING:
    from ...collect.dialect import Dialect


@click.command()
@party_options
@relay_place_options
@click.option("--certificate", type=PATH, metavar="FILE", help="For TLS; needed beyond localhost.")
@click.option("--certificate-key", type=PATH, metavar="FILE", help="Its private key.")
@click.option(
    "--gather", type=SECONDS, default=600.0, show_default=True, help="Seconds to wait for parties."
)
@click.option(
    "--wait", type=SECONDS, default=600.0, show_default=True, help="Seconds to wait in a round."
)
@result_options
def aggregator(
    study_path: Path,
    key_path: Path,
    host: str,
    port: int,
    certificate: Path | None,
    certificate_key: Path | None,
    gather: float,
    wait: float,
    output: Output,
) -> None:
    """Run the relay and the aggregator (or S1).

    It listens until all parties have joined and all rounds are done. Those who are late are left
    out and named; if their shares are needed, there is no result.

    \b
    Example:
      sottovoce secure aggregator --study secure.toml --key curator.key --port 8765

    Next: sottovoce secure helper and sottovoce secure send, by the others.
    """  # noqa: D301
    from ...transport.network import Address, Patience, serve

    output.check(study_path, key_path)
    place = Place.load(study_path, key_path)
    run = partial(
        serve,
        address=Address(host, port, certificate, certificate_key),
        patience=Patience(gather, wait),
        listening=lambda where: click.echo(f"listening on {where}", err=True),
    )
    place.play(place.server_part(), run, output)


@click.command()
@party_options
@relay_options
@result_options
def helper(
    study_path: Path,
    key_path: Path,
    relay: str,
    certificate: Path | None,
    timeout: float,
    output: Output,
) -> None:
    """Run a server that is not the relay: a helper, or S2.

    \b
    Example:
      sottovoce secure helper --study secure.toml --key helper-1.key \\
          --relay https://curator.example:8765 --certificate curator.pem

    Next: the aggregator, or S2, shows the result.
    """  # noqa: D301
    from ...transport.network import take_part

    output.check(study_path, key_path)
    place = Place.load(study_path, key_path)
    run = partial(take_part, relay=relay, certificate=certificate, timeout=timeout)
    place.play(place.server_part(), run, output)


@click.command()
@click.argument("answers", type=PATH)
@party_options
@relay_options
@click.option("--column", metavar="NAME", help="Column of the answers; the question's by default.")
@click.option(
    "--again", is_flag=True, help="Take part once more: new coins, and it counts as a round."
)
@table_options
@json_output
def send(
    answers: Path,
    study_path: Path,
    key_path: Path,
    relay: str,
    certificate: Path | None,
    timeout: float,
    column: str | None,
    again: bool,
    dialect: Dialect,
    output: Output,
) -> None:
    """Take part as a host of users, with their answers in a file.

    Answers stay here. What leaves are sealed shares, and, in some protocols, sums of the shares
    that others sent to these users; so the command runs until the protocol ends.

    \b
    Example:
      sottovoce secure send answers.csv --study secure.toml --key north.key \\
          --relay https://curator.example:8765 --certificate curator.pem

    Next: the aggregator, or S2, shows the result.
    """  # noqa: D301
    from ...errors import ParameterError
    from ...secure.parts import host_part
    from ...transport.network import take_part

    place = Place.load(study_path, key_path)

    def check(noted: int) -> None:
        if place.sessions.count() > noted and not again:
            raise ParameterError(
                "these people have taken part in this study before; with --again they draw new "
                "coins, and the promise is that of several rounds together"
            )

    check(0)
    study = place.study
    coded = read_answers(answers, column or study.question.name, study.question, dialect)
    name, drawn = place.seat.party.id, place.sessions.count
    part = host_part(study.protocol, study.roster, name, coded.codes, drawn=drawn)
    run = partial(
        take_part,
        relay=relay,
        certificate=certificate,
        timeout=timeout,
        # Another one may have begun while this one waited for the relay; its own session is noted.
        joined=lambda _: check(1),
    )
    place.play(part, run, output)
