"""``sottovoce aggregate``: reports in, counts out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..checks import printable
from ..collect.counting import Count, count_files
from ..errors import ParameterError
from ..files import files_of
from .support.command import Asked, Output, plural, progress
from .support.options import (
    COUNTS,
    allow_equal_option,
    asked_options,
    candidates_option,
    file_output,
    out_option,
)

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate
    from ..contract.collection import Collection

_MOST_LEVELS = 12


@click.command()
@click.argument("reports", type=click.Path(), nargs=-1, required=True)
@asked_options
@out_option("Where the counts go: .sva.")
@click.option(
    "--engine",
    type=click.Choice(["cpu", "cuda", "auto", "dask", "spark"]),
    default="cpu",
    show_default=True,
    help="What counts: the cores, a GPU, a GPU where it is faster, or a cluster.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Address of a Dask scheduler, a Spark master or a Spark Connect server; by default "
    "workers are started on this machine, or Spark runs as it is configured.",
)
@click.option(
    "--skip-bad", is_flag=True, help="Leave out files that cannot be read, and list them."
)
@candidates_option
@allow_equal_option
@file_output
def aggregate(
    reports: tuple[str, ...],
    asked: Asked,
    engine: str,
    cluster: str | None,
    candidates: Path | None,
    output: Output,
    **counting: bool,
) -> None:
    """Count reports, and merge counts from many places.

    REPORTS are files of reports (.svr, .parquet) and of counts (.sva) in any order and number, of
    one question or of records. Counts are integers, so the order never matters. Folders, quoted
    patterns and addresses of an object store (s3://bucket/folder) stand for the files in them.
    Where there are too many possible values to count them all, --candidates says which to count.

    \b
    Examples:
      sottovoce aggregate north.svr south.parquet earlier.sva \\
          --study study.toml --out counts.sva
      sottovoce aggregate 'reports/*.parquet' --study study.toml --out counts.sva \\
          --engine dask --cluster tcp://scheduler:8786

    Next: sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301
    collection = asked.collection
    files = files_of(reports)
    inputs = files if candidates is None else [*files, str(candidates)]
    output.check(asked.study_path, *map(Path, inputs), ends=COUNTS)
    with _counting(engine, cluster) as count:
        counted = count(files, collection, candidates=candidates, progress=progress, **counting)
    counts = counted.aggregate
    counts.save(output.out, replace=output.force)
    about = {
        **asked.as_dict(),
        "files": counted.files,
        "parts": counted.parts,
        "skipped": counted.skipped,
        "people": counts.people,
        "reports": counts.reports,
        **counts.content(),
    }
    rows = [*asked.rows(), ("files", f"{counted.files:,}")]
    if counts.candidates is not None:
        (values,) = collection.attributes
        about["candidates"] = values.decode(counts.candidates)
        rows.append(("values", f"{counts.candidates.size:,} chosen of {values.size:,}"))
    rows += [*_people(collection, counts), *(("skipped", why) for why in counted.skipped.values())]
    output.show(
        {**about, "out": str(output.out)},
        f"{asked.study.title}: {plural(counts.reports, 'report')} counted in {output.out}",
        rows,
        then=asked.next_estimate(output.out),
    )


@contextmanager
def _counting(engine: str, cluster: str | None) -> Iterator[Callable[..., Count]]:
    """What counts files; the cores need no choice."""
    if cluster is not None and engine not in ("dask", "spark"):
        raise ParameterError(f"--cluster is for --engine dask or spark, and the engine is {engine}")
    if engine == "cpu":
        yield count_files
        return
    from .. import scale

    if engine not in scale.CLUSTERS:
        with scale.counting(engine):
            yield count_files
        return
    with scale.connected(engine, cluster) as client:
        yield partial(scale.count_on, client)


def _people(collection: Collection, counts: Aggregate) -> list[tuple[str, str]]:
    """Who is in the counts: people of each level, and how many were asked."""
    asked, _ = collection.turnout(counts)
    if len(asked) == 1 and counts.people == counts.reports:
        return []
    levels = dict.fromkeys(collection.level_names, 0)
    for way, people in zip(collection.ways(), asked.tolist(), strict=True):
        if way.level is not None:
            levels[way.level] += people
    rows = []
    if levels:
        shown = [f"{printable(name)} {n:,}" for name, n in list(levels.items())[:_MOST_LEVELS]]
        rows.append(("levels", ", ".join(shown) + (", …" if len(levels) > _MOST_LEVELS else "")))
    if collection.sampled:
        rows.append(("asked", plural(counts.people, "person", "people")))
    return rows
