"""The data sets of the papers: read from a folder, with their shapes and checksums."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, WireError

#: Names the folder with the data sets.
VARIABLE = "SOTTOVOCE_DATA"
_WIDE = 256  # characters


class MissingDataError(FileError):
    """A data set is not there; the message says which, and where it was looked for."""


@dataclass(frozen=True)
class DataSet:
    """A file that we know: its name, shape and SHA-256."""

    file: str
    rows: int
    columns: int
    sha256: str


KNOWN = {
    "adult": DataSet(
        "adult.csv.gz", 48_842, 15,
        "594d87a65fc0cb4e20b7145cdd4e134d1c8ab82a555c74b8febfc48e496b8ad8",
    ),
    "abalone": DataSet(
        "abalone.csv.gz", 4_177, 9,
        "f7f6ff353ba20043f78ea4b652877cdf22d76d3aec07aea9a227c198b27f9ad0",
    ),
    "car": DataSet(
        "car.csv.gz", 1_728, 7,
        "54719b85493fd8da21ac3232fce7b137d42c4901ccaea6c968a6818965c1e0cb",
    ),
    "nltcs": DataSet(
        "nltcs.csv.gz", 21_574, 16,
        "b4bf4ccfed9573c8da7d8424a19bbd1f0b3ef407167212c2d58faa326a7fe94f",
    ),
    "kosarak": DataSet(
        "kosarak.csv.gz", 100_000, 1,
        "e60d7e341fd3997329461dad9f7a9ca967e8375a8463a7dbc51efd83344f8ef8",
    ),
    "gowalla": DataSet(
        "gowalla.csv.gz", 378_968, 5,
        "a6e3a26076767ce1af3d8e943b62d8abde522dff19f66c09a806e529c5551750",
    ),
    "gowalla_last": DataSet(
        "gowalla_last.csv.gz", 10_000, 5,
        "ee923b701499d2bec50b372f7c20aa943834e305d4dcb2fc150b1a9ecfe80130",
    ),
    "gowalla_18737": DataSet(
        "gowalla_18737_last30.csv.gz", 255_140, 5,
        "49ae178903f449c245d61a951c8102700f803ddd574d89ebc410a545b101c9ed",
    ),
    "census_income": DataSet(
        "census_income.csv.gz", 299_285, 42,
        "8201165bbe8e20015b437e2e2a6d7b574b96dc497a84c45d094f92c23f1f7bb7",
    ),
}  # fmt: skip


def folder_from(given: str | os.PathLike[str] | None) -> Path | None:
    """The folder that was named, or the one that SOTTOVOCE_DATA names; it must exist."""
    name = given if given is not None else os.environ.get(VARIABLE) or None
    if name is None:
        return None
    folder = Path(name)
    if not folder.is_dir():
        source = "--data" if given is not None else VARIABLE
        raise FileError(f"{source} names {str(folder)!r}, which is not a folder")
    return folder


class Data:
    """The data sets in one folder, read on first use; without one every data set is missing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._tables: dict[tuple[str, ...], dict[str, NDArray[Any]]] = {}

    def lacks(self, names: tuple[str, ...]) -> str:
        """Why a job that needs these data sets cannot run, or nothing."""
        for name in names:
            known = KNOWN[name]
            if self.folder is None:
                return f"needs {known.file}; name its folder with --data or {VARIABLE}"
            if not (self.folder / known.file).is_file():
                return f"needs {known.file}, which is not in {self.folder}"
        return ""

    def __call__(self, name: str, *columns: str) -> dict[str, NDArray[Any]]:
        """The columns of a data set, as text; the file must have the known shape and checksum.

        Naming the columns that are needed saves most of the time for wide tables.
        """
        key = (name, *columns)
        if key not in self._tables:
            self._tables[key] = self._read(name, columns)
        return self._tables[key]

    def _read(self, name: str, columns: tuple[str, ...]) -> dict[str, NDArray[Any]]:
        reason = self.lacks((name,))
        if reason or self.folder is None:
            raise MissingDataError(f"this {reason}")
        known = KNOWN[name]
        path = self.folder / known.file
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != known.sha256:
            raise WireError(
                f"{path} is not the data set that the results were computed from: its SHA-256 is "
                f"{digest}, and should be {known.sha256}"
            )
        with gzip.open(io.BytesIO(content), "rt", encoding="utf-8", newline="") as lines:
            reader = csv.reader(lines)
            names = next(reader)
            places = [names.index(column) for column in columns or names]
            rows = [[row[k] for k in places] for row in reader]
        if (len(rows), len(names)) != (known.rows, known.columns):
            raise WireError(
                f"{path} has {len(rows)} rows and {len(names)} columns; expected were "
                f"{known.rows} and {known.columns}"
            )
        return {
            column: _text(cells)
            for column, cells in zip(columns or names, zip(*rows, strict=True), strict=True)
        }


def _text(column: Sequence[str]) -> NDArray[Any]:
    """An array of text; one long entry must not make every other as wide."""
    wide = max(map(len, column)) > _WIDE
    return np.array(column, dtype=object if wide else None)
