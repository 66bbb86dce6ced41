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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import SottovoceError, StudyError
from ...files import read_file
from .answers import kind_of
from .columns import Columns, Wanted

if TYPE_CHECKING:
    from ...personal.records import Records
    from ...report import Reports

_KEYS = {"title", "epsilon_average", "public", "floor", "attribute"}
_ATTRIBUTE_KEYS = {"name", "values", "edges", "missing"}
BUDGET = "epsilon_"
_NO_BUDGET = ("NA", "null")  # beside an empty cell and NaN; among answers they may be values


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
class Divided:
    """Records together with how everyone divides the budget; randomises a part of a table."""

    records: Records
    allocation: str

    @property
    def layout(self) -> Any:
        """The columns of a report."""
        return self.records.layout

    def randomise(self, table: Any) -> Reports:
        """The reports of some people."""
        if self.allocation != "columns":
            return self.records.randomise(table, allocation=self.allocation)
        budgets = {n: table[BUDGET + n].to_numpy(zero_copy_only=False) for n in self.records.names}
        return self.records.randomise(table, allocation=budgets)


@dataclass(frozen=True)
class Table:
    """A CSV or Parquet file with a column per attribute."""

    path: Path
    records: Records
    budgets: bool

    @property
    def columns(self) -> Columns:
        """The file's columns that are needed: answers, and budgets where they are read."""
        wanted = {
            attribute.name: Wanted(
                kind_of(attribute),
                "its values are",
                "every attribute needs a column of its name",
                empty_is_text="" in attribute.values,
            )
            for attribute in self.records.schema
        }
        if self.budgets:
            remedy = f"with --allocation columns every attribute needs its budgets in {BUDGET}NAME"
            budget = Wanted("numbers", "budgets are", remedy, absent=_NO_BUDGET)
            wanted |= {BUDGET + name: budget for name in self.records.names}
        return Columns(self.path, wanted)
