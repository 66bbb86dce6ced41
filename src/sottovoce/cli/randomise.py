"""``sottovoce randomise``: true answers in, reports out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..files import check_output
from .support.command import Asked, Output, plural, progress
from .support.options import PATH, REPORTS, asked_options, full_output, out_option, table_options

_MOST_RATES = 8


@click.command()
@click.argument("answers", type=PATH)
@asked_options
@click.option(
    "--column",
    metavar="NAME",
    help="Column of the answers; by default the question's name. Records have a column per "
    "attribute.",
)
@click.option(
    "--levels",
    metavar="COLUMN|NAME",
    help="Everyone's level: a column of ANSWERS, or one level's name for everyone.",
)
@click.option(
    "--rate",
    metavar="COLUMN|NUMBER",
    help="Everyone's rate: a column of ANSWERS, or one of the study's rates.",
)
@click.option(
    "--allocation",
    type=click.Choice(["equal", "random", "columns"]),
    help="For records, how everyone's epsilon is divided over the attributes: equally (the "
    "default), at random, or as the columns epsilon_NAME say, empty where unreported.",
)
@out_option("Where the reports go: .svr or .parquet.")
@click.option("--again", is_flag=True, help="Draw fresh noise: this counts as one more release.")
@click.option(
    "--receipts",
    type=PATH,
    metavar="DIR",
    help="Where receipts are kept; by default $SOTTOVOCE_RECEIPTS, or the user's state folder.",
)
@table_options
@full_output
def randomise(
    answers: Path,
    asked: Asked,
    again: bool,
    receipts: Path | None,
    output: Output,
    **columns: Any,
) -> None:
    """Turn true answers into reports.

    Reports may leave the machine, answers may not. ANSWERS is a CSV (also gzipped) or Parquet file
    or a workbook (.xlsx) with one row per person. Only the columns that are needed are read, and
    only reports are written: one column for a question, one per attribute for records.

    A study may let everyone choose a level of privacy, or sample people at a public rate; then
    another column says who has which.

    \b
    Examples:
      sottovoce randomise answers.csv --study study.toml --out reports.svr
      sottovoce randomise answers.csv --study menu.toml --levels privacy --out reports.svr
      sottovoce randomise people.csv --study health.toml --allocation random --out reports.svr
      sottovoce randomise export.csv --study study.toml --separator ';' --encoding latin-1 \\
          --out reports.svr

    The same command again gives the same reports: a receipt remembers them, because fresh noise
    would be a second release of the same answers. If that is what you want, add --again; the
    guarantee of both together is then stated.

    Next: sottovoce aggregate, or sottovoce estimate directly.
    """  # noqa: D301
    from ..collect.ledger import Ledger
    from ..collect.receipt_folder import folder_of
    from ..collect.release import check_plain, form, release
    from ..collect.source import Source

    out = output.out
    check_output(out, answers, asked.study_path, force=True, ends=REPORTS)
    check_plain(answers)
    source = Source.of(answers, asked.collection, **columns)
    released = release(
        asked.study.title,
        source,
        Ledger(folder_of(receipts)),
        out,
        inputs=[asked.study_path],
        again=again,
        force=output.force,
        progress=progress,
    )
    receipt, latest, total = released.receipt, released.receipt.latest, released.releases
    about = {
        **asked.as_dict(),
        "people": receipt.rows,
        "reports": latest.reports,
        **_counts(latest.counts),
        **({"allocation": source.allocation} if source.allocation else {}),
        "out": str(out),
        "sha256": latest.sha256[form(out)],
        "fresh": released.fresh,
        "releases": total,
        "receipt": str(released.receipt_path),
        "guarantee": released.guarantee.as_dict(),
        "notes": released.notes,
    }
    where = f"{answers}, " + ("" if source.allocation else f"column {source.column!r}, ")
    rows = [
        *asked.rows(),
        ("answers", where + plural(receipt.rows, "person", "people")),
        *latest.choices.items(),
        *_turnout(latest.counts),
        ("release", f"{total}" + ("" if released.fresh else f", drawn on {latest.day}")),
        ("receipt", str(released.receipt_path)),
    ]
    output.show(
        about,
        f"{asked.study.title}: {plural(latest.reports, 'report')} in {out}",
        rows,
        warnings=released.notes,
        promise={
            "guarantee": released.guarantee,
            "title": "What is promised to everyone who answered",
            "full": output.full,
            "after": f" after {total} releases together" if total > 1 else "",
            "counts": latest.counts.get("levels"),
        },
        then=asked.next_estimate(out),
    )


def _counts(counts: dict[str, dict[str, list[int]]]) -> dict[str, list[dict[str, object]]]:
    """People and reports of each level and rate, for JSON."""
    one = {"levels": "level", "rates": "rate"}
    return {
        key: [
            {one[key]: name if key == "levels" else float(name), "people": n, "reports": s}
            for name, (n, s) in rows.items()
        ]
        for key, rows in counts.items()
    }


def _turnout(counts: dict[str, dict[str, list[int]]]) -> list[tuple[str, str]]:
    """How many of those asked at each rate report; of many rates the first."""
    rates = counts.get("rates", {})
    rows = [(f"rate {float(r):g}", f"{s:,} of {n:,} report") for r, (n, s) in rates.items()]
    if len(rows) > _MOST_RATES:
        rest = sum(n for n, _ in list(rates.values())[_MOST_RATES:])
        rows[_MOST_RATES:] = [("…", f"{rest:,} people at {len(rates) - _MOST_RATES} more rates")]
    return rows
