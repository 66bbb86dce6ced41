"""``sottovoce records``: whole records, everyone dividing epsilon over the attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..errors import ParameterError, SottovoceError
from .support.counting import counted
from .support.found import show_found
from .support.notes import changed, notes_of, total_of
from .support.options import (
    PATH,
    allow_equal_option,
    check_output,
    force_option,
    json_option,
)
from .support.receipts import RECORDS, Drawer, Receipt, folder_of
from .support.records import Divided, Table, load_records
from .support.release import Input, Made, give, released
from .support.screen import (
    console,
    heading,
    plural,
    print_json,
    progress,
    show_guarantee,
)
from .support.tables import check_picture, save_figure

if TYPE_CHECKING:
    from ..report import Reports

_MOST_BYTES = 1 << 23

records_option = click.option(
    "--records", "schema", type=PATH, required=True, metavar="FILE", help="The file of attributes."
)
plot_option = click.option(
    "--plot", "picture", type=PATH, metavar="FILE", help="Save a picture: .png, .svg, .pdf."
)


@click.group()
def records() -> None:
    """Whole records, epsilon divided over attributes.

    Everyone divides epsilon over the attributes as they like, without looking at the answers;
    nobody's division is sent. The attributes stand in a TOML file with a title, epsilon_average,
    and an [[attribute]] for each, with name and values (or edges).

    \b
    Example:
      sottovoce records randomise people.csv --records health.toml \\
          --allocation random --out reports.svr
      sottovoce records joint reports.svr --records health.toml \\
          --attribute smokes --attribute age --plot heat.png

    Next: sottovoce records randomise --help
    """  # noqa: D301


@records.command("randomise")
@click.argument("table", type=PATH)
@records_option
@click.option(
    "--allocation",
    type=click.Choice(["equal", "random", "columns"]),
    default="equal",
    show_default=True,
    help="How epsilon is divided; 'columns' reads epsilon_NAME for each attribute, empty where "
    "unreported.",
)
@click.option("--out", type=PATH, required=True, metavar="FILE", help=".svr or .parquet.")
@click.option("--again", is_flag=True, help="Draw fresh noise: one more release.")
@click.option("--receipts", type=PATH, metavar="DIR", help="Where receipts are kept.")
@force_option
@json_option
def randomise_records(
    table: Path,
    schema: Path,
    allocation: str,
    out: Path,
    again: bool,
    receipts: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Turn a table of true answers into reports.

    TABLE is a CSV or Parquet file with a row per person and a column per attribute. The same
    command again gives the same reports; --again draws fresh ones, a second release.

    \b
    Example:
      sottovoce records randomise people.csv --records health.toml --out reports.svr

    Next: sottovoce records marginal, or sottovoce records joint.
    """  # noqa: D301
    title, about = load_records(schema)
    source = Table(table, about, allocation == "columns")
    divided = Divided(about, allocation)
    check_output(out, table, schema, force=True)
    given = Input.of(table)
    drawer = Drawer(folder_of(receipts), about.digest.hex(), given.digest, RECORDS)
    with drawer.open():
        receipt = drawer.receipt() or Receipt(
            study=title,
            question=allocation,
            mechanism=about.id,
            mechanism_digest=about.digest.hex(),
            input_digest=given.digest,
            column=RECORDS,
            inputs=(),
            rows=0,
        )
        paths = tuple(dict.fromkeys((*receipt.inputs, given.path)))
        receipt = replace(receipt, inputs=paths, columns=tuple(about.names))
        others = drawer.others(receipt.inputs)
        fresh = again or not receipt.releases
        if not fresh and receipt.question != allocation:
            raise ParameterError(
                f"these answers were randomised with --allocation {receipt.question}; another "
                "division is a second release, so say --again if that is what you want"
            )
        if fresh and others and not again:
            raise changed(repr(str(table)), others)
        if fresh:
            check_output(out, table, schema, force=force)
            people: list[int] = []
            batches = partial(_batches, divided, source, people)
            receipt = released(
                batches, lambda: Made(sum(people), sum(people)), given, drawer, receipt, out
            )
            promised = about.guarantee.times(total_of(receipt, others))
            receipt = replace(receipt, question=allocation, guarantee=promised.as_dict())
            drawer.write(receipt)  # before anyone can see the reports
        receipt = give(cast("Any", about), drawer, receipt, out, force=force or fresh)
        elsewhere = drawer.elsewhere(about.names)
    releases = total_of(receipt, others)
    guarantee = about.guarantee.times(releases)
    notes = notes_of(receipt, others, elsewhere, fresh, "Columns of this table were")
    if as_json:
        print_json(
            {
                "title": title,
                "people": receipt.rows,
                "reports": receipt.latest.reports,
                "out": str(out),
                "allocation": allocation,
                "fresh": fresh,
                "releases": releases,
                "receipt": str(drawer.receipt_path),
                "guarantee": guarantee.as_dict(),
                "notes": notes,
            }
        )
        return
    screen = console()
    screen.print(heading(f"{title}: {plural(receipt.latest.reports, 'record')} in {out}"))
    for note in notes:
        screen.print(f"\n{note}", style="yellow")
    screen.print()
    show_guarantee(screen, guarantee, "What is promised to someone who reports every attribute")
    screen.print(
        f"\nNext: sottovoce records joint {out} --records {schema} --attribute NAME",
        style="dim",
        soft_wrap=True,
    )


def _batches(
    divided: Divided, source: Table, people: list[int], done: Callable[[int], None]
) -> Iterator[Reports]:
    """Reports of as many people as fit into memory at once; `people` counts them."""
    each = sum(column.nbytes for column in divided.layout)
    for first, chunk in source.columns.chunks(max(1, _MOST_BYTES // each), done):
        try:
            batch = divided.randomise(chunk)
        except SottovoceError as error:
            where = f"{str(source.path)!r}" + (f", rows from {first}" if first else "")
            raise type(error)(f"{where}: {error}") from error
        people.append(len(batch))
        yield batch


@records.command("marginal")
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="REPORTS...")
@records_option
@click.option("--attribute", required=True, metavar="NAME", help="Which attribute.")
@click.option("--method", help="self-calibrated, known-epsilons (if public) or published.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals.")
@plot_option
@allow_equal_option
@force_option
@json_option
def marginal_records(
    files: tuple[Path, ...],
    schema: Path,
    attribute: str,
    method: str | None,
    confidence: float,
    picture: Path | None,
    allow_equal: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate how many people gave each answer to one attribute.

    \b
    Example:
      sottovoce records marginal reports.svr --records health.toml --attribute smokes

    Next: sottovoce records joint, for attributes together.
    """  # noqa: D301
    title, about = load_records(schema)
    _check_picture(picture, schema, files, force)
    aggregate = cast("Any", counted(files, cast("Any", about), allow_equal=allow_equal))
    found = about.marginal(aggregate, [attribute], method=method)
    found.interval(confidence)
    if picture is not None:
        save_figure(lambda: found.plot(confidence=confidence), picture)
    show_found(title, found, confidence, picture, as_json)


@records.command("joint")
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="REPORTS...")
@records_option
@click.option(
    "--attribute", "names", required=True, multiple=True, metavar="NAME", help="Once for each axis."
)
@click.option("--method", default="em-ll2", show_default=True, help="How; see the page on records.")
@click.option("--stop", type=int, metavar="STEPS", help="EM steps; by default cross-validated.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals.")
@plot_option
@allow_equal_option
@force_option
@json_option
def joint_records(
    files: tuple[Path, ...],
    schema: Path,
    names: tuple[str, ...],
    method: str,
    stop: int | None,
    confidence: float,
    picture: Path | None,
    allow_equal: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate the joint distribution of attributes; for two, --plot draws a heat map.

    \b
    Example:
      sottovoce records joint reports.svr --records health.toml \\
          --attribute smokes --attribute age --plot heat.png

    Next: sottovoce records marginal, for one attribute on its own.
    """  # noqa: D301
    title, about = load_records(schema)
    _check_picture(picture, schema, files, force)
    aggregate = cast("Any", counted(files, cast("Any", about), allow_equal=allow_equal))
    options: dict[str, Any] = {} if stop is None else {"stop": stop}
    bars: list[Callable[[int], None]] = []
    if method in ("em-ll2", "em-full", "pgm"):
        options["progress"] = lambda step, of: bars[-1](100 * step // max(of, 1))
    with progress("fitting", 100) as done:
        bars.append(done)
        found = about.joint(aggregate, list(names), method=method, **options)
    with progress("errors", 100) as done:
        bars.append(done)
        found.interval(confidence)
    if picture is not None:
        save_figure(lambda: _drawn(found, confidence), picture)
    more: dict[str, Any] = {"steps": found.steps}
    if len(found.attributes) == 2:
        information = found.mutual_information(*found.names)
        more["mutual_information"] = {
            key: value for key, value in information.rows(confidence)[0].items() if key != "value"
        }
    show_found(title, found, confidence, picture, as_json, **more)


def _drawn(found: Any, confidence: float) -> Any:
    from ..plot import heatmap

    return heatmap(found) if len(found.attributes) == 2 else found.plot(confidence=confidence)


def _check_picture(
    picture: Path | None, schema: Path, files: tuple[Path, ...], force: bool
) -> None:
    if picture is not None:
        check_picture(picture)
        check_output(picture, schema, *files, force=force)
