"""Sheets of Excel and OpenDocument workbooks, cell by cell as the text that a CSV file would have.

A workbook knows no whole numbers, so that 31.0 is read as 31; text such as "007" stays text, and a
cell with an error (#N/A) is empty.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from ..errors import AnswerError, MissingExtraError
from ..files import opened
from .dialect import Dialect

STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # of .xlsx and .ods, and of .xls
_MOST_BYTES = 1 << 30  # unpacked
_EXACT = 1 << 53


@dataclass(frozen=True)
class Sheet:
    """The names in the first row that is not empty, the rows below, and what to try instead."""

    names: list[str]
    rows: list[list[Any]]
    hint: str


def read_sheet(path: Path, dialect: Dialect) -> Sheet:
    """A sheet of a workbook."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise MissingExtraError.of("python-calamine", "xlsx", "a workbook") from error
    with opened(path) as stream:
        _refuse_bomb(path, stream)
        stream.seek(0)
        try:
            book = CalamineWorkbook.from_filelike(stream)
            sheets = book.sheet_names
            name = dialect.sheet or next(iter(sheets), "")
            if name not in sheets:
                raise AnswerError(
                    f"{str(path)!r} has no sheet {name!r}; it has {', '.join(map(repr, sheets))}"
                )
            cells = book.get_sheet_by_name(name).to_python()
        except (CalamineError, OSError) as error:
            # Not in the reader's words, which may quote a cell.
            raise AnswerError(
                f"{str(path)!r} cannot be read as a workbook; open it in a spreadsheet program "
                "and save the table as .xlsx or CSV"
            ) from error
    others = ", ".join(repr(sheet) for sheet in sheets if sheet != name)
    hint = f"; this is the sheet {name!r}, another can be chosen with --sheet: {others}"
    hint *= bool(others)
    if not cells:
        raise AnswerError(f"{str(path)!r}: the sheet {name!r} is empty{hint}")
    return Sheet([cell_text(cell) for cell in cells[0]], cells[1:], hint)


def _refuse_bomb(path: Path, stream: Any) -> None:
    if stream.read(4) != STARTS[0]:
        return
    try:
        with zipfile.ZipFile(stream) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise AnswerError(f"{str(path)!r} is a damaged workbook; fetch it again") from error
    if size > _MOST_BYTES:
        raise AnswerError(
            f"{str(path)!r} unpacks to {size:,} bytes; at most {_MOST_BYTES:,} are read; save the "
            "table as CSV or Parquet"
        )


def cell_text(cell: Any) -> str:
    """A cell as it would be in a CSV file; empty where nothing is in it."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"  # as spreadsheets show it
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < _EXACT else repr(cell)
    if isinstance(cell, (datetime, date, time)):
        return cell.isoformat()
    return str(cell)
