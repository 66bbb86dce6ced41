"""``sottovoce joint``: the distribution of attributes of records together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..collect.counting import count_files
from ..errors import ParameterError
from .support.estimates import estimate_json, show_estimate
from .support.options import (
    PATH,
    allow_equal_option,
    confidence_option,
    force_option,
    guarantee_option,
    json_option,
    plot_option,
    question_option,
    study_option,
)
from .support.pictures import check_picture, save_figure
from .support.show import (
    console,
    heading,
    noted,
    plural,
    print_json,
    progress,
    show_guarantee,
    show_picture,
)


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="COUNTS_OR_REPORTS...")
@study_option
@question_option
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
@guarantee_option
@force_option
@json_option
def joint(
    files: tuple[Path, ...],
    study_path: Path,
    question: str | None,
    names: tuple[str, ...],
    method: str,
    stop: int | None,
    confidence: float,
    picture: Path | None,
    allow_equal: bool,
    full: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate attributes of records together.

    Gives a fraction with an interval for every combination of values. For two attributes it also
    gives their mutual information, and --plot draws a heat map.

    \b
    Example:
      sottovoce joint counts.sva --study health.toml \\
          --attribute smokes --attribute age --plot heat.png

    Next: sottovoce estimate counts.sva --study health.toml --attribute smokes
    """  # noqa: D301
    from ..estimate.intervals import normal_quantile
    from ..study import Study

    study = Study.load(study_path)
    collection = study.collection(question)
    check_picture(picture, study_path, *files, force=force)
    options: dict[str, Any] = {} if stop is None else {"stop": stop}
    collection.check_joint(names, method, **options)
    normal_quantile(confidence)
    if method == "kronecker" and len(names) > 2:
        raise ParameterError(
            f"'kronecker' is for two attributes, {len(names)} were asked for: its error would be "
            "larger than the table; use --method model-average"
        )
    counts = count_files(files, collection, allow_equal=allow_equal, progress=progress)
    bars: list[Callable[[int], None]] = []
    if method in ("model-average", "em-ll2", "em-full", "pgm"):
        options["progress"] = lambda step, of: bars[-1](100 * step // max(of, 1))
    with noted() as warned:
        with progress("fitting", 100) as done:
            bars.append(done)
            table = collection.joint(counts, names, method=method, **options)
        with progress("errors", 100) as done:
            bars.append(done)
            table.interval(confidence)
    if picture is not None:
        save_figure(lambda: _draw(table, confidence), picture)
    information: dict[str, float] | None = None
    if len(names) == 2:
        (row,) = table.mutual_information(*table.names).rows(confidence)
        information = {key: value for key, value in row.items() if key != "value"}
    reports = counts.reports if table.reports is None else table.reports
    if as_json:
        about = {"study": study.title, "question": collection.name}
        more = {} if information is None else {"mutual_information": information}
        shown = estimate_json(table, confidence, reports, picture)
        print_json({**about, **shown, "steps": table.steps, **more, "warnings": warned})
        return
    screen = console()
    screen.print(heading(f"{study.title}: {table.name}"))
    steps = "" if table.steps is None else f", {plural(table.steps, 'step')}"
    people = "" if reports == table.n else f" of {table.n:,} people"
    screen.print(f"{plural(reports, 'report')}{people}, {table.method}{steps}")
    if table.steps == 0 and stop is None and len(names) > 1:
        screen.print(
            "No dependence was found: this is the product of the attributes' own fractions."
        )
    if table.assuming:
        screen.print(f"Assuming: {table.assuming}.")
    screen.print()
    show_estimate(screen, table, confidence)
    if information is not None:
        screen.print(
            f"\nMutual information: {information['estimate']:.3f} nats "
            f"({information['low']:.3f} to {information['high']:.3f}); 0 would be independence."
        )
    show_picture(screen, picture)
    screen.print()
    title = "What is promised to someone who reports every attribute"
    show_guarantee(screen, table.guarantee, title, full=full)


def _draw(table: Any, confidence: float) -> Any:
    from ..plot import heatmap

    return heatmap(table) if len(table.names) == 2 else table.plot(confidence=confidence)
