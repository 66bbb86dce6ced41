"""What a file is, by its first bytes, so that the wrong one is named and not only refused."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

from ..files import opened
from .csv_rows import GZIP
from .workbooks import STARTS

Foreign = Literal["an SPSS file", "a Stata file", "a SAS file", "JSON", "HTML"]
What = Literal["reports", "counts", "a study", "a table", "unknown"] | Foreign

_MAGIC: dict[bytes, What] = {b"SVRP": "reports", b"SVAG": "counts"}
PARQUET = b"PAR1"
_STUDY = re.compile(rb"^\s*(format\s*=\s*\d|\[\[(question|records)\]\])", re.MULTILINE)
_TOML = re.compile(rb"\s*(#|\[|[\w.-]+\s*=)")  # perhaps a study with an error in it
_SIZE = 1 << 12
#: Other programs' files, by how they begin; a CSV file begins with the name of a column.
_FOREIGN: dict[Foreign, re.Pattern[bytes]] = {
    "an SPSS file": re.compile(rb"\$FL[23]"),
    "a Stata file": re.compile(rb"<stata_dta>|[\x6e-\x73][\x01\x02]\x01\x00"),
    "a SAS file": re.compile(rb"\0{12}\xc2\xea\x81\x60"),
    "JSON": re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*(?:\"|\})"),
    "HTML": re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|table|head)\b", re.IGNORECASE),
}


def recognise(path: Path | str) -> What:
    """What a file seems to be; nothing of a table but its beginning is read."""
    with opened(path) as stream:
        start = stream.read(_SIZE)
    if start[:4] in _MAGIC:
        return _MAGIC[start[:4]]
    if start[:4] == PARQUET:
        return _parquet(path)
    if start[:4] in STARTS or start[:2] == GZIP:
        return "a table"
    for what, beginning in _FOREIGN.items():
        if beginning.match(start):
            return what
    if not start or _is_binary(start):
        return "unknown"
    if _STUDY.search(start):
        return "a study"
    return "unknown" if _TOML.match(start) else "a table"


def _parquet(path: Path | str) -> What:
    """Reports say so in the file's metadata."""
    schema = _schema(path)
    if schema is None:
        return "unknown"
    return "reports" if b"sottovoce" in (schema.metadata or {}) else "a table"


def _schema(path: Path | str) -> Any:
    """The columns of a Parquet file; None where they cannot be read."""
    from .table_files import require_pyarrow

    pa = require_pyarrow()
    from pyarrow import parquet

    try:
        with opened(path) as stream:
            return parquet.read_schema(stream)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return None


def _is_binary(start: bytes) -> bool:
    return b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))  # text in UTF-16


def not_reports(path: Path | str, what: What, columns: Collection[str] = ()) -> str:
    """What to do with a file that is not reports or counts; empty where it may be.

    `columns` are those of the reports that were expected.
    """
    name = repr(str(path))
    if what == "a table" and columns and _has_columns(path, columns):
        return (
            f"{name} has the columns of reports ({', '.join(columns)}), but not the description "
            "that says which study they belong to; pandas, Polars and Spark drop it when they "
            "write: give the files that `randomise` wrote, or others written with pyarrow"
        )
    if what == "a table":
        return (
            f"{name} is a table of answers, not reports: run `sottovoce randomise "
            f"{shlex.quote(str(path))} --study STUDY --out reports.svr` first"
        )
    if what == "a study":
        return f"{name} is a study, not reports; give it with --study, and name files of reports"
    return ""


def _has_columns(path: Path | str, columns: Collection[str]) -> bool:
    with opened(path) as stream:
        if stream.read(len(PARQUET)) != PARQUET:
            return False
    from ..contract.parquet import folder_values

    schema = _schema(path)
    return schema is not None and set(columns) <= {*schema.names, *folder_values(path)}


def not_answers(path: Path, what: What) -> str:
    """What to do with a file that is not a table of answers; empty where it may be."""
    name, quoted = repr(str(path)), shlex.quote(str(path))
    if what in _FOREIGN:
        return f"{name} is {what}; save the table as CSV, Parquet or .xlsx, and give that file"
    return {
        "reports": f"{name} holds reports: these answers are randomised already; run `sottovoce "
        f"estimate {quoted} --study STUDY`",
        "counts": f"{name} holds counts of reports, not answers; run `sottovoce estimate {quoted} "
        "--study STUDY`",
        "a study": f"{name} is a study, not a table of answers; give it with --study",
    }.get(what, "")
