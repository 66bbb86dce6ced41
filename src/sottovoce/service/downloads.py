"""What an analyst can take home: counts, tables and pictures."""

from __future__ import annotations

import io

from ..contract.collection import Collection
from ..domain.labels import Label
from ..estimate.display import to_csv
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
        columns = result.columns()
        return to_csv({**columns, "value": [_cell(label) for label in columns["value"]]})
    stream = io.BytesIO()
    if kind == "estimate.parquet":
        from ..contract.parquet import require_pyarrow

        require_pyarrow()
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = result.columns()
        table = pa.table({**columns, "value": list(map(str, columns["value"]))})
        pq.write_table(table, stream)
        return stream.getvalue()
    from ..plot import paint

    paint.need_matplotlib()
    from matplotlib.figure import Figure

    # Not pyplot, which keeps figures and is not for threads.
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    result.plot(ax=figure.add_subplot())
    figure.savefig(stream, format=kind.rpartition(".")[2], dpi=160)
    return stream.getvalue()


def _cell(label: Label) -> Label:
    """A label that no spreadsheet takes for a formula."""
    risky = isinstance(label, str) and label.startswith(("=", "+", "-", "@"))
    return f"'{label}" if risky else label
