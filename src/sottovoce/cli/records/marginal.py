"""``sottovoce records marginal``: the distribution of one attribute."""

from __future__ import annotations

from pathlib import Path

import click

from ...collect.counting import counted_records
from ...errors import ParameterError
from ..support.attributes import load_records
from ..support.found import check_picture_of, noted, show_found
from ..support.options import (
    PATH,
    allow_equal_option,
    confidence_option,
    force_option,
    json_option,
    plot_option,
    records_option,
)
from ..support.tables import save_figure


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="COUNTS_OR_REPORTS...")
@records_option
@click.option(
    "--attribute", "names", required=True, multiple=True, metavar="NAME", help="Which attribute."
)
@click.option(
    "--method", help="self-calibrated, published or, if public, weighted-epsilons, known-epsilons."
)
@confidence_option
@plot_option
@allow_equal_option
@force_option
@json_option
def marginal(
    files: tuple[Path, ...],
    schema: Path,
    names: tuple[str, ...],
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
    if len(names) > 1:
        raise ParameterError(
            f"--attribute is given {len(names)} times, {', '.join(map(repr, names))}; give one, or "
            "use sottovoce records joint for attributes together"
        )
    title, about = load_records(schema)
    check_picture_of(picture, schema, *files, force=force)
    aggregate = counted_records(files, about, allow_equal=allow_equal)
    with noted() as warned:
        found = about.marginal(aggregate, list(names), method=method)
        found.interval(confidence)
    if picture is not None:
        save_figure(lambda: found.plot(confidence=confidence), picture)
    show_found(title, found, confidence, picture, as_json, warnings=warned)
