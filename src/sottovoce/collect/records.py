"""Tables of whole records, and how everyone divides the budget over the attributes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from .answers import Answers, kind_of
from .columns import Columns, Wanted
from .progress import Done

if TYPE_CHECKING:
    from ..contract.reports import Reports
    from ..records.records import Records
    from .fingerprint import Fingerprint

BUDGET = "epsilon_"
_MOST_BYTES = 1 << 23  # of tags read at once
_NO_BUDGET = ("NA", "null")  # beside an empty cell and NaN; among answers they may be values


@dataclass(frozen=True)
class Divided:
    """Records together with how everyone divides the budget; randomises a part of a table."""

    records: Records
    allocation: str

    @property
    def layout(self) -> Any:
        """The columns of a report."""
        return self.records.layout

    def randomise(self, table: Any, first: int) -> Reports:
        """The reports of some people, the first of them in row `first` of the file."""
        allocation: Any = self.allocation
        if allocation == "columns":
            allocation = {
                name: table[BUDGET + name].to_numpy(zero_copy_only=False)
                for name in self.records.names
            }
        return self.records.randomise(table, allocation=allocation, first_row=first)


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
                empty_is_text=attribute.has(""),
            )
            for attribute in self.records.schema
        }
        if self.budgets:
            remedy = f"with --allocation columns every attribute needs its epsilons in {BUDGET}NAME"
            budget = Wanted("numbers", "epsilons are", remedy, absent=_NO_BUDGET)
            taken = [name for name in self.records.names if BUDGET + name in wanted]
            if taken:
                raise ParameterError(
                    f"the column {BUDGET + taken[0]!r} would hold answers as well as the epsilons "
                    f"of {taken[0]!r}; rename that attribute"
                )
            wanted |= {BUDGET + name: budget for name in self.records.names}
        return Columns(self.path, wanted)

    @property
    def names(self) -> list[str]:
        """The columns of answers."""
        return self.records.names

    def read_into(self, fingerprint: Fingerprint, done: Done) -> None:
        """Read everyone's answers and budgets, refusing what is not allowed."""
        rows = max(1, _MOST_BYTES // (8 * len(self.columns.wanted)))
        for first, chunk in self.columns.chunks(rows, done):
            self.explain(chunk, first)
            tags = [
                fingerprint.tags(attribute, chunk[attribute.name])
                for attribute in self.records.schema
            ]
            budgets = [chunk[BUDGET + name].to_numpy() for name in self.names if self.budgets]
            fingerprint.add(tags, budgets)

    def explain(self, chunk: Any, first: int) -> None:
        """Raise for an answer of a chunk that is not allowed, naming its row in the file."""
        if self.budgets:
            return  # what is not reported may be anything
        for attribute in self.records.schema:
            Answers(self.path, attribute.name, attribute).coded(chunk[attribute.name], first)
