"""Counting a data set on an engine: the same aggregate, bit for bit, wherever it is counted."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..collect import counting
from ..collect.counting import Count, Job, Part, Partial, count_files, count_part
from ..collect.progress import Progress, silent
from ..errors import ParameterError, SkippedWarning
from ..files import files_of, is_address
from .clusters import runner_of

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate
    from ..contract.collection import Collection

_PARTS = 4  # of a full size in a task
_FILES = 256  # in a task, however small: opening one takes longer than counting it
_TABLES = 1 << 25  # bytes of the counts of a task
Dataset = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def aggregate(
    collection: Collection,
    dataset: Dataset,
    *,
    engine: Any = None,
    values: Any = None,
    allow_equal: bool = False,
    skip_bad: bool = False,
    progress: Progress = silent,
) -> Aggregate:
    """The counts of a data set of reports.

    Parameters
    ----------
    collection : Collection
        What the reports belong to: a mechanism, a question of a study, levels, records.
    dataset : path, str or several
        Files of reports (.svr, .parquet) and counts (.sva), folders of them, patterns such as
        ``reports/*.parquet``, and addresses such as ``s3://bucket/reports``.
    engine : distributed.Client or pyspark.sql.SparkSession, optional
        Where the parts are counted; by default in threads of this process. A worker needs this
        package, and must see the files under the same names.
    values : array-like, optional
        Count these values of the domain only, in this order, as in `Collection.aggregate`.
    allow_equal : bool
        Whether files of equal content are counted; small ones may be equal by chance.
    skip_bad : bool
        Whether files that cannot be read are left out, with a warning that lists them.
    progress : Progress
        Shows how much was counted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sottovoce as sv
    >>> m = sv.GRR(["car", "bike", "train"], epsilon=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in range(3):
    ...         m.randomise(["car", "bike"] * 500).to_parquet(Path(folder) / f"{day}.parquet")
    ...     sv.scale.aggregate(m, f"{folder}/*.parquet").reports
    3000
    """
    count = count_dataset(
        collection,
        dataset,
        engine=engine,
        values=values,
        allow_equal=allow_equal,
        skip_bad=skip_bad,
        progress=progress,
    )
    if count.skipped:
        n = len(count.skipped)
        files = f"{n:,} files were skipped because they" if n > 1 else "1 file was skipped; it"
        warnings.warn(
            f"{files} cannot be read: " + "; ".join(count.skipped.values()),
            SkippedWarning,
            stacklevel=2,
        )
    return count.aggregate


def count_dataset(
    collection: Collection, dataset: Dataset, *, engine: Any = None, **options: Any
) -> Count:
    """The same, with the files that were skipped; for the command line."""
    return count_on(engine, files_of(dataset), collection, **options)


def count_on(engine: Any, files: Sequence[str], collection: Collection, **options: Any) -> Count:
    """The same for the files of a data set, which are not looked up again."""
    from ..contract.collection import Collection

    if not isinstance(collection, Collection):
        raise ParameterError(
            f"the collection is {collection!r:.80}; give a mechanism, levels or records, such as "
            "`study.collection(name)`"
        )
    if engine is None:
        return count_files(files, collection, **options)
    run = runner_of(engine, "for the cores of this machine")
    # A worker may run in another folder.
    files = [file if is_address(file) else str(Path(file).absolute()) for file in files]

    def on_workers(job: Job, parts: Sequence[Part]) -> Iterator[Partial]:
        tasks = tasks_of(job, parts)
        size = max(map(len, tasks)) * counting.table_bytes(job)
        return run(count_task, job, tasks, size)

    return count_files(files, collection, engine=on_workers, **options)


def tasks_of(job: Job, parts: Sequence[Part]) -> list[list[Part]]:
    """Parts that one task counts together, since a task costs milliseconds itself.

    Where tables are large, a task has few parts, because their counts come back together.
    """
    enough = _PARTS * counting.part_rows(job) * job.collection.report_bytes
    most = max(1, min(_FILES, _TABLES // max(1, counting.table_bytes(job))))
    tasks: list[list[Part]] = []
    size = enough
    for part in parts:
        if size >= enough or len(tasks[-1]) >= most:
            tasks.append([])
            size = 0
        tasks[-1].append(part)
        size += part.size
    return tasks


def count_task(job: Job, parts: Sequence[Part]) -> list[Partial]:
    """The results of one task."""
    return [count_part(job, part) for part in parts]
