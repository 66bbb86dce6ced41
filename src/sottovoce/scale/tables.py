"""Many joint tables at once, each on another worker.

A table is fitted in steps that take milliseconds, as long as a cluster needs to share one out; so
whole tables are shared out, with their errors, and never the steps (docs/cluster-benchmarks.md).
This pays for records of many attributes. Where a table of all attributes is small, one fit of it
answers for all tables, and is better done once, here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate
    from ..estimate.table import Table
    from ..records import Records


def joint_tables(
    records: Records,
    aggregate: Aggregate,
    tables: Sequence[Sequence[str]],
    *,
    engine: Any = None,
    **options: Any,
) -> list[Table]:
    """The joint distributions of several sets of attributes, with their standard errors.

    Parameters
    ----------
    records : Records
        What the counts belong to.
    aggregate : Aggregate
        The counts.
    tables : sequence of sequences of str
        The attributes of each table.
    engine : distributed.Client, optional
        Where the tables are estimated; by default here, one after the other. Spark is not offered:
        a table is no row of plain columns, and nothing else is accepted from executors.
    **options
        As in `Records.joint`: ``method``, ``margins`` and so on.

    Examples
    --------
    >>> import sottovoce as sv
    >>> records = sv.Records([sv.Attribute(name, 2) for name in "abc"], epsilon_average=6.0)
    >>> answers = {name: [0, 1] * 500 for name in "abc"}
    >>> counts = records.aggregate(records.randomise(answers))
    >>> pairs = sv.scale.joint_tables(records, counts, ["ab", "ac"], method="em-full")
    >>> [table.values.shape for table in pairs]
    [(4,), (4,)]
    """
    for table in tables:
        records.check_joint(list(table), options.get("method", "model-average"))
    if engine is None:
        return [_table((records, aggregate), table, options) for table in tables]
    if "distributed" not in {kind.__module__.split(".")[0] for kind in type(engine).__mro__}:
        raise ParameterError(
            f"engine is {engine!r:.80}; give a dask.distributed.Client, or None to estimate here"
        )
    import dask

    from .dask import on_every_worker

    # Large counts are no mistake here; Dask would warn about them.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        shared = on_every_worker(engine, (records, aggregate))
        many = len(tables)
        futures = engine.map(_table, [shared] * many, tables, [options] * many, pure=False)
        results: list[Table] = engine.gather(futures)
    return results


def _table(
    pair: tuple[Records, Aggregate], attributes: Sequence[str], options: dict[str, Any]
) -> Table:
    records, aggregate = pair
    table = records.joint(aggregate, list(attributes), **options)
    _ = table.std_error  # the larger part of the work, done here and kept in the table
    return table
