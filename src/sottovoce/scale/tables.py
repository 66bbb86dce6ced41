"""Many joint tables at once, each on another worker.

A table is fitted in steps that take milliseconds, as long as a cluster needs to share one out; so
whole tables are shared out, with their errors, and never the steps (docs/cluster-benchmarks.md).
This pays for records of many attributes. Where a table of all attributes is small, one fit of it
answers for all tables, and is better done once, here.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..collect.counting import Partial
from ..errors import ParameterError, SottovoceError, TransportError
from .clusters import runner_of

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate
    from ..estimate.table import Table
    from ..records import Records

#: What a worker says about a table beside its numbers; the rest follows from the records.
_ABOUT = ("n", "reports", "method", "biased", "error_from", "converged", "assuming", "steps")


def joint_tables(
    records: Records,
    aggregate: Aggregate,
    tables: Iterable[Sequence[str]],
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
    tables : iterable of sequences of str
        The attributes of each table.
    engine : distributed.Client or pyspark.sql.SparkSession, optional
        Where the tables are estimated; by default here, one after the other. Workers send numbers
        and text back, from which the tables are put together here.
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
    if isinstance(tables, str) or not isinstance(tables, Iterable):
        raise ParameterError(
            f"tables is {tables!r:.80}; give the attributes of each table, such as "
            '[("age", "smokes"), ("age", "sport")]'
        )
    tables = list(tables)  # of an iterator, too, which would be used up by checking them
    for table in tables:
        records.check_joint(list(table), options.get("method", "model-average"))
    if engine is None:
        return [_estimate(records, aggregate, table, options) for table in tables]
    run = runner_of(engine, "to estimate here")
    shared = (records, aggregate, options)
    results = {result.part: result for result in run(_task, shared, list(enumerate(tables)))}
    if len(results) < len(tables):
        raise TransportError(f"{len(tables) - len(results):,} tables did not come back; try again")
    return [_table_of(*shared, table, results[k]) for k, table in enumerate(tables)]


def _estimate(
    records: Records, aggregate: Aggregate, attributes: Sequence[str], options: dict[str, Any]
) -> Table:
    table = records.joint(aggregate, list(attributes), **options)
    _ = table.std_error  # the larger part of the work, done here and kept in the table
    return table


def _task(shared: tuple[Any, ...], item: tuple[int, Sequence[str]]) -> list[Partial]:
    """A table as its worker sends it: no pickle, only arrays and JSON."""
    import numpy as np

    records, aggregate, options = shared
    number, attributes = item
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = _estimate(records, aggregate, attributes, options)
    except SottovoceError as error:
        return [Partial(number, kind=type(error).__name__, reason=str(error))]
    again = table.again
    about = {
        **{name: getattr(table, name) for name in _ABOUT},
        "weights": None if table.weights is None else dict(table.weights),
        "wider": None if again is None else again.wider,
        "notes": table.notes is not None,
        "warnings": [(one.category.__name__, str(one.message)) for one in caught],
    }
    packed = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    tables = np.zeros(0) if again is None else again()
    np.savez(packed, about=text, values=table.values, again=tables)
    return [Partial(number, table.n, counts=packed.getvalue())]


def _table_of(
    records: Records,
    aggregate: Aggregate,
    options: dict[str, Any],
    names: Sequence[str],
    result: Partial,
) -> Table:
    """The table that a worker sent, with its warnings and its errors."""
    import numpy as np

    from ..estimate.cells import Repetitions, product_labels, spread_of
    from ..estimate.table import Table
    from ..records.joint.evidence import FewTogetherWarning, UnlikeWarning, evidence_of
    from ..records.records import PATTERNS

    if result.kind:
        raise result.error
    with np.load(io.BytesIO(result.counts), allow_pickle=False) as packed:
        values, tables = packed["values"], packed["again"]
        about = json.loads(packed["about"].tobytes())
    kinds = {kind.__name__: kind for kind in (FewTogetherWarning, UnlikeWarning)}
    for kind, message in about.pop("warnings"):
        warnings.warn(message, kinds.get(kind, UserWarning), stacklevel=4)
    wider = about.pop("wider")
    again = None if wider is None else Repetitions(partial(np.asarray, tables), wider)
    if about.pop("notes"):
        evidence = evidence_of(records, aggregate.sparse(PATTERNS))
        stratified = options.get("margins") == "stratified"
        about["notes"] = replace(evidence, stratified=stratified).about
    attributes = tuple(records.schema.attributes[records.names.index(name)] for name in names)
    return Table(
        values=values,
        spread=spread_of(values, again),
        labels=product_labels(attributes),
        name=" × ".join(names),
        attributes=attributes,
        again=again,
        **records.behind(aggregate, names),
        **about,
    )
