"""``sottovoce secure aggregator``, ``helper`` and ``send``: the roles as separate processes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..support.options import (
    PATH,
    confidence_option,
    force_option,
    guarantee_option,
    json_option,
    table_options,
)
from ..support.tables import check_csv, csv_option
from .shared import (
    party_options,
    play_rounds,
    read_answers,
    relay_options,
    seat_of,
    show_end,
)

if TYPE_CHECKING:
    from ...collect.dialect import Dialect


@click.command()
@party_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=int, default=8765, show_default=True, help="0: any that is free.")
@click.option("--certificate", type=PATH, metavar="FILE", help="For TLS; needed beyond localhost.")
@click.option("--certificate-key", type=PATH, metavar="FILE", help="Its private key.")
@click.option(
    "--gather", type=float, default=600.0, show_default=True, help="Seconds to wait for parties."
)
@click.option(
    "--wait", type=float, default=600.0, show_default=True, help="Seconds to wait in a round."
)
@confidence_option
@csv_option
@guarantee_option
@force_option
@json_option
def aggregator(
    study_path: Path,
    key_path: Path,
    host: str,
    port: int,
    certificate: Path | None,
    certificate_key: Path | None,
    gather: float,
    wait: float,
    confidence: float,
    csv_path: Path | None,
    full: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Be the relay of a run, and play its server (aggregator, or S1).

    It listens until all parties have come and all rounds are done. Those who are late are left
    out and named; where their shares are missing there is no number.

    \b
    Example:
      sottovoce secure aggregator --study secure.toml --key curator.key --port 8765

    Next: sottovoce secure helper and sottovoce secure send, by the others.
    """  # noqa: D301
    from ...secure.parts import server_part
    from ...transport.network import Address, serve
    from ...transport.relay import Patience

    check_csv(csv_path, study_path, key_path, force=force)
    study, seat, sessions = seat_of(study_path, key_path)
    part = server_part(study.protocol, study.roster, seat.party.id)
    start = partial(
        serve,
        part.machine,
        part.rounds,
        seat,
        address=Address(host, port, certificate, certificate_key),
        patience=Patience(gather, wait),
        sessions=sessions,
        listening=lambda where: click.echo(f"listening on {where}", err=True),
    )
    played = play_rounds(lambda report: start(progress=report), part)
    shown: dict[str, Any] = {"full": full, "as_json": as_json, "csv_path": csv_path}
    show_end(study, seat, part, played, confidence=confidence, **shown)


@click.command()
@party_options
@relay_options
@confidence_option
@csv_option
@guarantee_option
@force_option
@json_option
def helper(
    study_path: Path,
    key_path: Path,
    relay: str,
    certificate: Path | None,
    timeout: float,
    confidence: float,
    csv_path: Path | None,
    full: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Play a server that is not the relay: a helper, or S2.

    \b
    Example:
      sottovoce secure helper --study secure.toml --key helper-1.key \\
          --relay https://curator.example:8765 --certificate curator.pem

    Next: the aggregator, or S2, shows the result.
    """  # noqa: D301
    from ...secure.parts import server_part
    from ...transport.network import take_part

    check_csv(csv_path, study_path, key_path, force=force)
    study, seat, sessions = seat_of(study_path, key_path)
    part = server_part(study.protocol, study.roster, seat.party.id)
    options: dict[str, Any] = {"certificate": certificate, "timeout": timeout}
    start = partial(take_part, part.machine, part.rounds, seat, relay, sessions=sessions, **options)
    played = play_rounds(lambda report: start(progress=report), part)
    shown: dict[str, Any] = {"full": full, "as_json": as_json, "csv_path": csv_path}
    show_end(study, seat, part, played, confidence=confidence, **shown)


@click.command()
@click.argument("answers", type=PATH)
@party_options
@relay_options
@click.option("--column", metavar="NAME", help="Column of the answers; the question's by default.")
@click.option(
    "--again", is_flag=True, help="Take part once more: new coins, and it counts as a round."
)
@table_options
@json_option
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
    as_json: bool,
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

    study, seat, sessions = seat_of(study_path, key_path)
    if sessions.count() and not again:
        raise ParameterError(
            "these people have taken part in this study before; with --again they draw new coins, "
            "and the promise is that of several rounds together"
        )
    coded = read_answers(answers, column or study.question.name, study.question, dialect)
    part = host_part(study.protocol, study.roster, seat.party.id, coded.codes)
    options: dict[str, Any] = {"certificate": certificate, "timeout": timeout}
    start = partial(take_part, part.machine, part.rounds, seat, relay, sessions=sessions, **options)
    played = play_rounds(lambda report: start(progress=report), part)
    show_end(study, seat, part, played, confidence=0.95, full=False, as_json=as_json)
