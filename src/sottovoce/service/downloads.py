"""What an analyst can take home: counts, tables and pictures."""

from __future__ import annotations

import csv
import io
from typing import Any

from ..contract.collection import Collection
from .estimating import Estimates, Values

KINDS = {
    "counts.sva": "application/octet-stream",
    "estimate.csv": "text/csv; charset=utf-8",
    "estimate.parquet": "application/vnd.apache.parquet",
    "estimate.svg": "image/svg+xml",
    "estimate.png": "image/png",
}


def download(
    kind: str, estimates: Estimates, collection: Collection, attribute: str, values: Values
) -> bytes:
    """The content of one file; ImportError where an optional package is missing."""
    if kind == "counts.sva":
        return estimates.counts(collection, values).to_bytes()
    result = estimates.marginal(collection, attribute, values)
    if kind == "estimate.csv":
        return _csv(result.rows())
    stream = io.BytesIO()
    if kind == "estimate.parquet":
        from ..contract.parquet import require_pyarrow

        require_pyarrow()
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [{**row, "value": str(row["value"])} for row in result.rows()]
        pq.write_table(pa.Table.from_pylist(rows), stream)
        return stream.getvalue()
    from ..plot import paint

    paint.need_matplotlib()
    from matplotlib.figure import Figure

    # Not pyplot, which keeps figures and is not for threads.
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    result.plot(ax=figure.add_subplot())
    figure.savefig(stream, format=kind.rpartition(".")[2], dpi=160)
    return stream.getvalue()


def _csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["value", "estimate", "std_error", "low", "high"])
    for row in rows:
        writer.writerow([_cell(row["value"]), *(f"{row[k]:.10g}" for k in list(row)[1:])])
    return text.getvalue().encode()


def _cell(value: object) -> object:
    """A label that no spreadsheet takes for a formula."""
    text = str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") and not isinstance(value, float) else text
