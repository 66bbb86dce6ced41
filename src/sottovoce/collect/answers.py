"""True answers in a CSV or Parquet file: what their column must hold, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..domain.near_miss import near_miss
from ..domain.options import Options
from ..domain.text import Text
from ..errors import AnswerError
from .columns import EMPTY, Columns, Kind, Wanted, shown

if TYPE_CHECKING:
    from ..domain.columns import Coded
    from ..domain.values import Domain


@dataclass(frozen=True)
class Answers:
    """One column of a file; without `quoted`, no message repeats what is in a cell."""

    path: Path
    column: str
    domain: Domain
    quoted: bool = True

    @property
    def wanted(self) -> Wanted:
        """What the column must hold."""
        # The empty text may be a value of its own, not a missing answer.
        empty = self.domain.has("")
        return Wanted(kind_of(self.domain), empty_is_text=empty, quoted=self.quoted)

    def coded(self, cells: Any, first: int) -> Coded:
        """The answers of a chunk, checked; an error names the row."""
        try:
            rows = range(first + 1, first + 1 + len(cells))
            return self.domain.coded(cells, rows=rows)
        except AnswerError as error:
            if isinstance(self.domain, Options | Text):
                raise AnswerError(f"{str(self.path)!r}, {self.column!r}: {error}") from error
            raise self._refusal(cells, first) or error from error

    def _refusal(self, cells: Any, first: int) -> AnswerError | None:
        """Which answer of a chunk is not allowed, in which row, and what to do."""
        import numpy as np

        from ..domain.columns import as_column, first_few

        column, domain, place = as_column(cells), self.domain, Columns(self.path, {}).place
        remedy = "declares the answer"
        if domain.edges is not None:
            numbers = column.numbers()
            absent = np.isnan(numbers)
            outside = (numbers < domain.edges[0]) | (numbers > domain.edges[-1])
            outside &= not getattr(domain, "clip", False)
            is_range = len(domain.edges) == 2
            what = "numbers" if is_range else "bins, which go"
            remedy = "gives wider bounds, or moves numbers to them (--clip)" if is_range else remedy
            allowed = f"the {what} from {domain.edges[0]:g} to {domain.edges[-1]:g}"
        else:
            codes, _ = column.positions(domain.values)
            absent, outside = codes == -1, codes == -2
            allowed = f"the {len(domain.values):,} values {first_few(domain.values)}"
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            entry = column.at(row)
            answer = f"the answer {shown(entry)}" if self.quoted else "the answer"
            if self.quoted and domain.edges is None:
                allowed += near_miss(entry, domain.values, EMPTY)
            return AnswerError(
                f"{place(self.column, first + row)}: {answer} is not among {allowed}; correct the "
                f"file, or begin a study that {remedy}"
            )
        if absent.any() and domain.missing == "refuse":
            row = int(np.flatnonzero(absent)[0])
            also = '--missing value ("no answer" is then a value like the others), or '
            also *= len(domain.values) > 1  # a number has no such value
            return AnswerError(
                f"{place(self.column, first + row)}: there is no answer, and leaving people out "
                f"because of it would reveal that; begin a study with {also}--missing public if "
                "who did not answer is publicly known"
            )
        return None


def kind_of(domain: Domain) -> Kind:
    """What a column of answers holds."""
    if domain.edges is not None:
        return "numbers"
    values = domain.values
    if isinstance(values, range) or all(isinstance(value, int) for value in values):
        return "whole numbers"
    if all(isinstance(value, str) for value in values):
        return "text"
    raise AnswerError(
        f"the values of {domain.name!r} mix text and whole numbers, which a file's column cannot; "
        'write all of them as text in the TOML file, such as "1"'
    )
