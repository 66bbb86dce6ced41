"""``sottovoce parties curator``, ``join`` and ``dealer``: the roles as separate processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..support.numbers import SECONDS, IntRange
from ..support.options import (
    PATH,
    confidence_option,
    csv_option,
    force_option,
    guarantee_option,
    json_option,
    json_output,
    relay_place_options,
    table_options,
)
from .member import (
    Member,
    curator_options,
    ledger_options,
    party_option,
    playing_options,
    study_argument,
    url_of,
)

if TYPE_CHECKING:
    from ...collect.dialect import Dialect
    from ...transport.network import Played
    from ..support.command import Output


@click.command()
@study_argument
@playing_options
@relay_place_options
@click.option("--tls", is_flag=True, help="Mutual TLS also on this machine; elsewhere always.")
@click.option(
    "--gather", type=SECONDS, default=3600.0, show_default=True, help="Seconds to wait for parties."
)
@click.option(
    "--wait", type=SECONDS, default=600.0, show_default=True, help="Seconds to wait in a round."
)
@click.option("--report", type=PATH, metavar="FILE", help="Write a report: .html.")
@click.option("--out", type=PATH, metavar="FILE", help="Write the aggregate: .sva.")
@csv_option
@confidence_option
@guarantee_option
@force_option
@json_option
def curator(
    study_path: Path,
    key_path: Path | None,
    journal_path: Path | None,
    dry_run: bool,
    host: str,
    port: int,
    tls: bool,
    gather: float,
    wait: float,
    report: Path | None,
    out: Path | None,
    csv_path: Path | None,
    confidence: float,
    full: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Wait for the parties, add up what they send, and show the tables.

    The curator sees sums with noise and nothing else. Either everything is released or, if
    somebody is missing, nothing: the message names them. If the command is stopped or crashes, run
    it again: it continues where it was.

    \b
    Examples:
      sottovoce parties curator study.toml --report report.html
      sottovoce parties curator study.toml --host 0.0.0.0 --port 8765 --out tables.sva

    Next: sottovoce parties join study.toml --party B --data b.csv --curator HOST:PORT, by everyone.
    """  # noqa: D301
    from ...transport import Role
    from ...transport.network import Address, serve
    from ...transport.relay import Patience
    from .results import Release

    member = Member.of(study_path, Role.CURATOR, key_path, journal_path, dry_run=dry_run)
    study = member.study
    release = Release(study, report, out, confidence=confidence, force=force, csv=csv_path)
    release.check_files(study_path, member.key)

    def finish(played: Played) -> None:
        release.finish(played)
        if release.run is not None:  # printed before the journal ends: what is not can be again
            release.show(release.run, played, full=full, as_json=as_json)

    played = member.play(
        serve,
        study.protocol.curator_machine(member.seat.keys, study.verify_keys),
        address=Address(host, port, tls=True if tls else None),
        patience=Patience(gather, wait),
        listening=lambda where: click.echo(f"listening on {where}", err=True),
        finished=finish,
    )
    release.require_result(played)


@click.command()
@study_argument
@party_option
@click.option("--data", "data_path", type=PATH, metavar="FILE", help="Your rows.")
@table_options
@curator_options
@playing_options
@click.option(
    "--rows",
    type=IntRange(1, 10_000_000),
    default=1000,
    show_default=True,
    help="With --dry-run: how many synthetic rows.",
)
@ledger_options
@json_output
def join(
    study_path: Path,
    name: str,
    data_path: Path | None,
    dialect: Dialect,
    address: str,
    timeout: float,
    key_path: Path | None,
    journal_path: Path | None,
    dry_run: bool,
    rows: int,
    ledger_path: Path | None,
    dataset: str | None,
    output: Output,
) -> None:
    """Take part in a study with your own data.

    FILE is a CSV (also gzipped) or Parquet file or a workbook with one row per person. Rows stay
    here: what leaves are counts with noise under masks, of which only the sum over all parties can
    be opened. The budget ledger is charged before they leave, however the run ends. If the
    command is stopped or crashes, run it again: it continues where it was and is charged once.

    \b
    Examples:
      sottovoce parties join study.toml --party B --data b.csv --curator institute.example:8765
      sottovoce parties join study.toml --party B --curator 127.0.0.1:8765 --dry-run

    Next: sottovoce parties budget
    """  # noqa: D301
    from ...errors import FileError, GuaranteeError, ShareError
    from ...transport.network import take_part
    from .data import content_of, read_table, synthetic_table
    from .spending import Spending

    if (data_path is None) != dry_run:
        raise click.UsageError("give --data FILE, or --dry-run for synthetic rows")
    member = Member.of(study_path, name, key_path, journal_path, dry_run=dry_run)
    study, keys = member.study, member.seat.keys
    content = b"" if data_path is None else content_of(data_path)
    resumed = member.is_resumed
    spending = Spending(study, name, dataset or name, ledger_path, resumed=resumed, content=content)
    spending.check_before()
    if data_path is None:
        table: Any = synthetic_table(study, name, rows)
    else:
        table = read_table(data_path, study, name, dialect)
        if content_of(data_path) != content:
            raise FileError(f"{str(data_path)!r} was changed while it was read; nothing was sent")
    n_rows = study.protocol.check(name, table)
    machine = study.protocol.party_machine(name, table, keys, study.verify_keys)
    try:
        played = member.play(
            take_part,
            spending.charged(machine),
            url_of(address),
            timeout=timeout,
            # The same bytes read in another way are other data.
            data=keys.fingerprint(content + dialect.mark) if content else "",
            joined=spending.join,
            finished=spending.finish,
        )
    except (GuaranteeError, ShareError) as error:
        raise spending.refusal or error from None
    if spending.failure:
        raise ShareError(spending.failure)
    lines = [("session", played.session.hex()), ("rows", f"{n_rows:,}"), *spending.facts()]
    end = {"rehearsal": dry_run, "rows": n_rows, **spending.as_dict()}
    end["refused"] = list(played.refused)
    member.show_end(output, lines, end, then="parties budget")


@click.command()
@study_argument
@curator_options
@playing_options
@json_output
def dealer(
    study_path: Path,
    address: str,
    timeout: float,
    key_path: Path | None,
    journal_path: Path | None,
    dry_run: bool,
    output: Output,
) -> None:
    """Deal correlated randomness to the parties.

    Only for engine = "dealer".

    The dealer has no data and learns nothing. Whoever runs it must not work with the curator or
    with a party: together they could undo what it dealt.

    \b
    Example:
      sottovoce parties dealer study.toml --curator institute.example:8765

    Next: the curator shows the result.
    """  # noqa: D301
    from ...transport import Role
    from ...transport.network import take_part

    member = Member.of(study_path, Role.DEALER, key_path, journal_path, dry_run=dry_run)
    machine = member.study.protocol.dealer_machine(member.seat.keys, member.study.verify_keys)
    played = member.play(take_part, machine, url_of(address), timeout=timeout)
    session, digest = played.session.hex(), member.study.digest.hex()
    lines = [("party", member.name), ("study", digest), ("session", session)]
    member.show_end(output, lines, {"session": session, "refused": list(played.refused)})
