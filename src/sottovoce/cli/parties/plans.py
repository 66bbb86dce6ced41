"""``sottovoce parties plan`` and ``check``: before anything is spent."""

from __future__ import annotations

import math
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...checks import printable
from ..support.command import facts, plural, show_next, show_rows, show_table
from ..support.options import PATH, guarantee_option, json_output, table_options
from .member import Member, key_option, ledger_options, party_option, study_argument
from .results import show_promises

if TYPE_CHECKING:
    from rich.console import Console

    from ...collect.dialect import Dialect
    from ...parties.run import Plan
    from ...study.parties import PartyStudy
    from ..support.command import Output

_SKEW = 120.0  # seconds by which two clocks may differ without a word


@click.command()
@study_argument
@click.option(
    "--rows",
    metavar="N | A=N,B=N",
    help="Numbers of rows to expect: one for every party, or one each. They are public anyway "
    "unless neighbours = add-remove.",
)
@guarantee_option
@json_output
def plan(study_path: Path, rows: str | None, output: Output) -> None:
    """Show what a study releases, how precisely, and at what cost.

    No data is read. Everyone compares the digest over another channel, such as the telephone,
    before the run: whoever distributed the file could have put other keys into it.

    \b
    Examples:
      sottovoce parties plan study.toml
      sottovoce parties plan study.toml --rows A=12000,B=8000,C=30000

    Next: sottovoce parties check study.toml --party B --data b.csv
    """  # noqa: D301
    from ...study.parties import PartyStudy

    study = PartyStudy.load(study_path)
    planned = study.protocol.plan(_rows(study, rows))
    digest = study.digest.hex() if study.entries else None
    screen = output.begin(_plan_json(study, planned, digest), study.title)
    if screen is None:
        return
    show_table(screen, facts(_facts(study, digest)))
    screen.print()
    _show_plan(screen, study, planned, full=output.full)
    check = shlex.join(["parties", "check", str(study_path), "--party", study.parties[0]])
    show_next(screen, f"{check} --data FILE")


@click.command()
@study_argument
@party_option
@click.option("--data", "data_path", type=PATH, required=True, metavar="FILE", help="Your rows.")
@table_options
@key_option
@ledger_options
@json_output
def check(
    study_path: Path,
    name: str,
    data_path: Path,
    dialect: Dialect,
    key_path: Path | None,
    ledger_path: Path | None,
    dataset: str | None,
    output: Output,
) -> None:
    """Check that you can take part; it spends nothing.

    Schema, rows, key, budget and clock are checked. FILE is a CSV (also gzipped) or Parquet file or
    a workbook with one row per person. Nothing is sent, and messages name rows and columns without
    repeating what is there.

    \b
    Example:
      sottovoce parties check study.toml --party B --data b.csv

    Next: sottovoce parties join study.toml --party B --data b.csv --curator HOST:PORT
    """  # noqa: D301
    from ...parties.budget import Ledger, default_path, shown
    from .data import content_of, read_table

    member = Member.of(study_path, name, key_path)
    study, budget = member.study, member.study.budget_of(name)
    _check_clock(study_path, member.key)
    rows = study.protocol.check(name, read_table(data_path, study, name, dialect))
    cost, delta = study.cost_of(name), study.delta_of(name)
    ledger = Ledger(ledger_path or default_path())
    content = content_of(data_path)
    account = ledger.check(dataset or name, cost, budget=budget, content=content, delta=delta)
    attributes = [attribute.name for attribute in study.attributes_of(name)]
    about = {
        "study": study.digest.hex(),
        "party": name,
        "rows": rows,
        "attributes": attributes,
        "data_set": account.data,
        "cost": float(cost),
        "left": float(account.left),
        "delta": float(delta),
        "delta_left": account.as_dict()["delta_left"],
    }
    lines = [
        ("digest", study.digest.hex()),
        ("rows", f"{rows:,}"),
        ("attributes", ", ".join(attributes)),
        ("key", f"{member.key} is the one in the roster"),
        (
            "budget",
            f"ε = {shown(cost)} of {shown(account.left, down=True)} left for {account.data}"
            + f"; δ = {shown(delta)} of {shown(account.delta_left, down=True)}" * bool(delta),
        ),
        ("clock", _utc(time.time())),
    ]
    join = ["parties", "join", str(study_path), "--party", name, "--data", str(data_path)]
    then = f"{shlex.join(join)} --curator …"
    output.show(about, f"{study.title}: {name} can take part", lines, then=then)


def _plan_json(study: PartyStudy, planned: Plan, digest: str | None) -> dict[str, Any]:
    errors = [None if error != error else error for error in planned.standard_errors]
    return {
        "title": study.title,
        "digest": digest,
        "split": study.options["split"],
        "budgets": {party: float(budget) for party, budget in study.budgets.items()},
        "marginals": [list(marginal.attributes) for marginal in study.marginals],
        "spent": dict(planned.spent),
        "standard_errors": errors,
        "releases": list(planned.releases),
        "bytes": planned.bytes,
        "rounds": planned.rounds,
        "guarantee": study.protocol.guarantee.as_dict(),
    }


def _show_plan(screen: Console, study: PartyStudy, planned: Plan, *, full: bool) -> None:
    rows = []
    for marginal, error in zip(study.marginals, planned.standard_errors, strict=True):
        cells = math.prod(study.schema[name].size for name in marginal.attributes)
        precise = "depends on --rows" if error != error else f"{100 * error:.2g} points"
        rows.append((printable(" × ".join(marginal.attributes)), f"{cells:,}", precise))
    show_rows(screen, ("table", "cells", "standard error"), rows)
    screen.print()
    sums = plural(len(planned.releases), "sum is", "sums are")
    screen.print(f"{sums} opened in {planned.rounds} rounds, about {planned.bytes:,} bytes in all:")
    for release in planned.releases:
        screen.print(f"  {printable(release)}", soft_wrap=True)
    screen.print()
    show_promises(screen, study.protocol.guarantee, full=full)


def _check_clock(*paths: Path) -> None:
    """Refuse a clock that is behind existing files: the ledger's dates would be wrong."""
    from ...errors import ParameterError

    now = time.time()
    for path in paths:
        written = path.stat().st_mtime
        if written > now + _SKEW:
            raise ParameterError(
                f"this machine's clock says {_utc(now)}, and {str(path)!r} was written at "
                f"{_utc(written)}; set the clock"
            )


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def _rows(study: PartyStudy, given: str | None) -> dict[str, int] | None:
    from ...errors import ParameterError

    if given is None:
        return None
    try:
        if "=" not in given:
            rows = dict.fromkeys(study.parties, int(given))
        else:
            pairs = (entry.split("=", 1) for entry in given.split(","))
            rows = {name.strip(): int(number) for name, number in pairs}
    except ValueError as error:
        raise ParameterError(f"--rows is {given!r}; give 10000, or A=10000,B=5000") from error
    if set(rows) != set(study.parties) or min(rows.values()) < 1:
        raise ParameterError(
            f"--rows is {given!r}; it must give a number above 0 for every one of "
            f"{', '.join(study.parties)}"
        )
    return {party: rows[party] for party in study.parties}


def _facts(study: PartyStudy, digest: str | None) -> list[tuple[str, str]]:
    lines = [("digest", digest or "none yet: the study has no entries [[party]]")]
    for party in study.parties:
        names = ", ".join(attribute.name for attribute in study.attributes_of(party))
        held = "" if study.rows_split else f", holds {names}"
        lines.append((party, f"ε = {float(study.budgets[party]):g}{held}"))
    return lines
