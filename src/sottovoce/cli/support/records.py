"""What the commands of `sottovoce records` share: the file of attributes, and tables of answers.

::

    title = "Health and habits"
    epsilon_average = 2.0
    public = false                  # the default: nobody's division of the budget is sent
    floor = 0.0                     # the least budget of an attribute

    [[attribute]]
    name = "smokes"
    values = ["yes", "no"]          # or edges = [0, 18, 65, inf]
    missing = "refuse"              # the default; or "value", or "public"
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import AnswerError, FileError, MissingExtraError, SottovoceError, StudyError
from ...files import read_file
from .receipts import Drawer, Receipt, Release, sha256, with_release
from .release import Input, form
from .screen import progress

if TYPE_CHECKING:
    from ...personal.records import Records

_KEYS = {"title", "epsilon_average", "public", "floor", "attribute"}
_ATTRIBUTE_KEYS = {"name", "values", "edges", "missing"}
BUDGET = "epsilon_"
_ROWS = 1 << 18


def load_records(path: Path) -> tuple[str, Records]:
    """The title, and the records bound to it."""
    from ...domain import Attribute
    from ...mechanism import canonical_digest
    from ...personal.records import Records

    try:
        given = tomllib.loads(read_file(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{str(path)!r} is no TOML file: {error}") from error
    _only(given, _KEYS, str(path))
    for key in ("title", "epsilon_average", "attribute"):
        if key not in given:
            raise StudyError(f"{str(path)!r} has no {key!r}; it needs one")
    if not isinstance(given["title"], str) or not given["title"].strip():
        raise StudyError(f"{str(path)!r}: title is {given['title']!r}; it must be a text")
    if not isinstance(given["attribute"], list):
        raise StudyError(f"{str(path)!r}: every attribute begins with [[attribute]]")
    try:
        attributes = []
        for one in given["attribute"]:
            _only(one, _ATTRIBUTE_KEYS, f"{path}, attribute {one.get('name')!r}")
            attributes.append(Attribute(one.get("name", ""), **_without(one, "name")))
        records = Records(attributes, **_without(given, "title", "attribute"))
    except SottovoceError as error:
        raise StudyError(f"{str(path)!r}: {error}") from error
    about = {"title": given["title"], "records": records.digest.hex()}
    return given["title"], records.bind(canonical_digest("records study", about))


def _only(given: Mapping[str, Any], allowed: set[str], where: str) -> None:
    unknown = sorted(set(given) - allowed)
    if unknown:
        raise StudyError(f"{where}: {unknown[0]!r} means nothing here; allowed: {sorted(allowed)}")


def _without(given: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in keys}


@dataclass(frozen=True)
class Table:
    """A CSV or Parquet file with a column per attribute."""

    path: Path
    records: Records
    budgets: bool
    column = "records"

    def chunks(self, rows: int, done: Callable[[int], None]) -> Iterator[tuple[int, Any]]:
        """(first row, part of the table), reporting how much of the file is read."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtraError.of("pyarrow", "files", "reading tables") from error
        whole = self._read(pa)
        size = self.path.stat().st_size
        for first in range(0, len(whole), rows):
            part = whole.slice(first, rows)
            yield first, part
            done(size * (first + len(part)) // max(len(whole), 1))

    def _read(self, pa: Any) -> Any:
        names = self.records.names + [BUDGET + n for n in self.records.names if self.budgets]
        types = {a.name: self._type(pa, a) for a in self.records.schema}
        types |= {BUDGET + n: pa.float64() for n in self.records.names if self.budgets}
        try:
            if self.path.suffix.lower() == ".parquet":
                from pyarrow import parquet

                return parquet.read_table(self.path, columns=names)
            from pyarrow import csv

            convert = csv.ConvertOptions(
                include_columns=names,
                column_types=types,
                null_values=["", "NA", "NaN", "nan", "null"],
                strings_can_be_null=True,
            )
            return csv.read_csv(self.path, convert_options=convert)
        except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
            budgets = f", and budgets in {BUDGET}NAME" if self.budgets else ""
            raise FileError(
                f"{str(self.path)!r} cannot be read: {error}; it needs the columns "
                f"{self.records.names}{budgets}"
            ) from error

    @staticmethod
    def _type(pa: Any, attribute: Any) -> Any:
        if attribute.edges is not None:
            return pa.float64()
        plain = all(isinstance(value, int) for value in attribute.values)
        return pa.int64() if plain else pa.string()


def draw_records(
    records: Records,
    source: Table,
    allocation: str,
    given: Input,
    drawer: Drawer,
    receipt: Receipt,
    out: Path,
) -> Receipt:
    """Randomise into the drawer; the receipt with this release is not written yet."""
    from ...report import ReportWriter

    kept = drawer.kept(len(receipt.releases) + 1, form(out))
    people = 0
    with progress("randomising", given.size) as done, ReportWriter(kept, form(out)) as writer:
        for first, part in source.chunks(_ROWS, done):
            shares: Any = allocation
            if source.budgets:
                columns = {n: part[BUDGET + n] for n in records.names}
                shares = {n: c.to_numpy(zero_copy_only=False) for n, c in columns.items()}
            try:
                batch = records.randomise(part, allocation=shares)
            except SottovoceError as error:
                where = f"{str(source.path)!r}" + (f", rows from {first}" if first else "")
                raise type(error)(f"{where}: {error}") from error
            people += len(part)
            writer.append(batch)
        if not people:
            raise AnswerError(f"there is nobody in {str(source.path)!r}, so nothing to report")
        given.check_unchanged()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    release = Release(now, people, kept.name, {form(out): sha256(kept)})
    return replace(with_release(receipt, release), rows=people)
