"""``sottovoce records joint``: the distribution of attributes together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
from ..support.screen import progress
from ..support.tables import save_figure


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="COUNTS_OR_REPORTS...")
@records_option
@click.option(
    "--attribute", "names", required=True, multiple=True, metavar="NAME", help="Once for each axis."
)
@click.option(
    "--method", default="model-average", show_default=True, help="How; see the page on records."
)
@click.option("--stop", type=int, metavar="STEPS", help="EM steps; by default cross-validated.")
@confidence_option
@plot_option
@allow_equal_option
@force_option
@json_option
def joint(
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
    from ...estimate.estimate import normal_quantile
    from ...records.joint import checked

    title, about = load_records(schema)
    check_picture_of(picture, schema, *files, force=force)
    options: dict[str, Any] = {} if stop is None else {"stop": stop}
    checked(about, list(names), method, **options)
    normal_quantile(confidence)
    if method == "kronecker" and len(names) > 2:
        raise ParameterError(
            f"'kronecker' is for two attributes, {len(names)} were asked for: its error would be "
            "larger than the table; use --method model-average"
        )
    aggregate = counted_records(files, about, allow_equal=allow_equal)
    bars: list[Callable[[int], None]] = []
    if method in ("model-average", "em-ll2", "em-full", "pgm"):
        options["progress"] = lambda step, of: bars[-1](100 * step // max(of, 1))
    with noted() as warned:
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
    show_found(title, found, confidence, picture, as_json, warnings=warned, stop=stop, **more)


def _drawn(found: Any, confidence: float) -> Any:
    from ...plot import heatmap

    return heatmap(found) if len(found.attributes) == 2 else found.plot(confidence=confidence)
