"""Code books: the values of questions, and what they mean, from a public file.

A table with the columns value and label, and variable where it is about several questions; or JSON
or TOML, a list of values or a mapping from values to labels, by variable where there are several::

    variable,value,label        {"smokes": {"1": "yes", "2": "no"},
    smokes,1,yes                 "region": ["north", "south"]}
    smokes,2,no

A code book describes the questionnaire. It must not be made from the answers: which ones occur is
itself information about the people who gave them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..domain.columns import first_few
from ..domain.labels import Label, plain_values
from ..errors import ParameterError
from ..files import read_file
from ..study.reading import load_toml
from .dialect import Dialect
from .table_files import not_text, table_form
from .workbooks import cell_text, read_sheet

_MOST_BYTES = 1 << 26
_ALONE = ""  # the variable of a book that names none


@dataclass(frozen=True)
class Coding:
    """The values of one question, and their labels if there are any."""

    values: tuple[Label, ...]
    labels: tuple[str, ...] | None


@dataclass(frozen=True)
class Codebook:
    """What a file says about each variable."""

    path: Path
    codings: Mapping[str, Coding]

    @classmethod
    def read(cls, path: Path, dialect: Dialect) -> Codebook:
        """The code book in a file; its name says whether it is JSON, TOML or a table."""
        kind = path.suffix.lower()
        if kind in (".json", ".toml"):
            dialect.refuse_unused(f"{str(path)!r}, a {kind} file")
            entries = _json(path) if kind == ".json" else load_toml(path)
            codings = _from_entries(entries, path)
        else:
            codings = _from_rows(*_table(path, dialect), path)
        if not codings:
            raise ParameterError(f"{str(path)!r} has no values; a code book lists them")
        return cls(path, codings)

    @property
    def variables(self) -> list[str]:
        """Its variables by name; empty where it is about one question and does not name it."""
        return [name for name in self.codings if name != _ALONE]

    def of(self, variable: str) -> Coding:
        """What it says about one variable."""
        coding = self.codings.get(variable, self.codings.get(_ALONE))
        if coding is None:
            raise ParameterError(
                f"{str(self.path)!r} has no variable {variable!r}; it has "
                f"{first_few(self.variables, 20)}"
            )
        return coding


def _coding(pairs: Iterable[tuple[str, str]]) -> Coding:
    texts, words = zip(*pairs, strict=True)
    labels = tuple(word or text for text, word in zip(texts, words, strict=True))
    return Coding(tuple(plain_values(texts)), None if labels == texts else labels)


def _json(path: Path) -> Any:
    try:
        return json.loads(read_file(path, most=_MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{str(path)!r} is not valid JSON: {error}") from error


def _from_entries(entries: Any, path: Path) -> dict[str, Coding]:
    several = isinstance(entries, Mapping) and any(
        isinstance(entry, (list, Mapping)) for entry in entries.values()
    )
    books = entries if several else {_ALONE: entries}
    codings = {}
    for variable, book in books.items():
        pairs = list(book.items()) if isinstance(book, Mapping) else []
        if isinstance(book, list):
            pairs = [(value, "") for value in book]
        if not pairs or not all(type(part) in (str, int) for pair in pairs for part in pair):
            raise ParameterError(
                f"{str(path)!r}: a code book has a list of values, or a mapping from values to "
                "labels, for each variable"
            )
        codings[variable] = _coding((str(value), str(label)) for value, label in pairs)
    return codings


def _table(path: Path, dialect: Dialect) -> tuple[list[str], list[list[str]]]:
    if table_form(path, dialect) == "workbook":
        sheet = read_sheet(path, dialect)
        return sheet.names, [[cell_text(cell) for cell in row] for row in sheet.rows]
    encoding = "utf-8-sig" if dialect.is_utf8 else dialect.encoding
    try:
        text = read_file(path, most=_MOST_BYTES).decode(encoding)
        names, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.separator)
    except UnicodeDecodeError as error:
        raise ParameterError(f"{str(path)!r} is {not_text(path, dialect)}") from error
    except (csv.Error, ValueError) as error:
        raise ParameterError(f"{str(path)!r} is not a CSV file") from error
    return names, rows


def _from_rows(names: list[str], rows: list[list[str]], path: Path) -> dict[str, Coding]:
    places = {name.strip().lower(): k for k, name in enumerate(names)}
    if "value" not in places:
        raise ParameterError(
            f"{str(path)!r} has the columns {first_few(names)}; a code book needs value, and may "
            "have label, and variable where it is about several questions (other separators: "
            "--separator)"
        )
    pairs: dict[str, list[tuple[str, str]]] = {}
    variable = _ALONE
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(names):
            raise ParameterError(
                f"{str(path)!r}, row {number} (header not counted): the number of cells is "
                f"{len(row)}, and the header names {len(names)} columns"
            )
        cells = {name: row[k].strip() for name, k in places.items()}
        # In many books a variable is named beside its first value only.
        variable = cells.get("variable") or variable
        pairs.setdefault(variable, []).append((cells["value"], cells.get("label", "")))
    return {variable: _coding(entries) for variable, entries in pairs.items()}
