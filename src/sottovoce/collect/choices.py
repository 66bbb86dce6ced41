"""Everyone's level and rate: from a column beside the answers, or one for everyone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import AnswerError, ParameterError
from .columns import Columns, Wanted, shown
from .dialect import PLAIN, Dialect
from .table_files import names_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..contract.collection import Collection

_FEW = 8


@dataclass(frozen=True)
class Choice:
    """Where people's levels or rates are: in a column, or everyone has the same.

    `what` ("level" or "rate") is the keyword of `randomise` that it becomes, and `allowed` are the
    study's levels or rates.
    """

    what: str
    allowed: Sequence[Any]
    column: str = ""
    everyone: Any = None

    @property
    def words(self) -> str:
        """For receipts and tables."""
        if self.column:
            return f"column {self.column!r}"
        one = repr(self.everyone) if self.what == "level" else f"{self.everyone:g}"
        return f"{one} for everyone"

    @property
    def wanted(self) -> Wanted:
        """What the column must hold."""
        if self.what == "level":
            return Wanted("text", "levels are", "choose one with --levels")
        return Wanted("numbers", "rates are", "choose one with --rate")

    def codes(
        self, chunk: Any, first: int, present: NDArray[Any] | None, source: Columns
    ) -> NDArray[Any]:
        """Each person's choice as a position in `allowed`; an error names the row.

        People who are publicly known not to have answered need none.
        """
        import numpy as np

        if not self.column:
            return np.full(chunk.num_rows, self.allowed.index(self.everyone))
        column = chunk[self.column]
        codes = self._positions(column)
        bad = codes < 0 if present is None else (codes < 0) & present
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            entry = column[row].as_py()
            absent = entry is None or entry != entry or (entry == "" and self.what == "level")
            problem = (
                f"there is no {self.what}, and everyone needs one of {self._few}"
                if absent
                else f"there is no {self.what} {shown(entry)}; the study has {self._few}"
            )
            raise AnswerError(
                f"{source.place(self.column, first + row)}: {problem}; correct the file"
            )
        codes[codes < 0] = 0
        return codes

    def _positions(self, column: Any) -> NDArray[Any]:
        import numpy as np

        from ..domain.columns import as_column

        if self.what == "level":
            return as_column(column).positions(list(self.allowed))[0]
        numbers = as_column(column).numbers()
        exact = np.array(self.allowed)
        rates = np.concatenate((exact, exact.astype(np.float32)))  # as a column of 32 bits has them
        order = np.argsort(rates, kind="stable")  # where both are equal, the exact one
        near = order[np.minimum(np.searchsorted(rates[order], numbers), rates.size - 1)]
        return np.where(rates[near] == numbers, near % exact.size, -1)

    def argument(self, codes: NDArray[Any]) -> Any:
        """What `randomise` is given."""
        import numpy as np
        import pyarrow as pa

        if not self.column:
            return self.everyone
        if self.what == "rate":
            return np.array(self.allowed)[codes]
        names = pa.DictionaryArray.from_arrays(pa.array(codes), list(self.allowed))
        return pa.chunked_array([names])

    @property
    def _few(self) -> str:
        shown = [repr(one) if self.what == "level" else f"{one:g}" for one in self.allowed[:_FEW]]
        return ", ".join(shown) + (", …" if len(self.allowed) > _FEW else "")


def choices_of(
    collection: Collection,
    answers: Path,
    column: str,
    levels: str | None,
    rate: str | None,
    dialect: Dialect = PLAIN,
) -> list[Choice]:
    """What the options say, checked against the study and the file."""
    question, names = collection.name, list(collection.level_names)
    rates = list(collection.rates) if collection.sampled else []
    grids = Counter(way.level for way in collection.ways())
    if levels is None and len(names) > 1:
        raise ParameterError(
            f"the question {question!r} lets everyone choose a level; give --levels with the "
            f"column of people's levels, or with one of {', '.join(map(repr, names[:_FEW]))} for "
            "everyone"
        )
    if rate is None and max(grids.values()) > 1:
        raise ParameterError(
            f"the question {question!r} has several rates; give --rate with the column of people's "
            "rates, or with one number for everyone"
        )
    options: list[tuple[str, str, str, Any, list[Any]]] = []
    if levels is not None:
        options.append(("level", "--levels", levels, levels, names))
    if rate is not None:
        options.append(("rate", "--rate", rate, _number(rate), rates))
    for what, option, text, _, allowed in options:
        if not allowed:
            absent = "levels" if what == "level" else "rates: everyone reports"
            raise ParameterError(
                f"the question {question!r} has no {absent}, so {option} {text} has no meaning; "
                f"leave it out, or begin a study with {option} (sottovoce study new --help)"
            )
    columns = names_in(answers, dialect) if options else []
    choices = [_resolve(*option, answers, columns) for option in options]
    if levels is None and names:
        choices.insert(0, Choice("level", names, everyone=names[0]))
    named = [choice.column for choice in choices if choice.column]
    for choice in choices:
        if choice.column == column:
            raise ParameterError(
                f"the column {column!r} holds the answers; a {choice.what} taken from it would "
                "reveal them, because it is public"
            )
    if len(named) == 2 and named[0] == named[1]:
        raise ParameterError(
            f"the column {named[0]!r} cannot hold both levels and rates; name two columns"
        )
    return choices


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _resolve(
    what: str,
    option: str,
    text: str,
    value: Any,
    allowed: list[Any],
    answers: Path,
    columns: Sequence[str],
) -> Choice:
    """A column's name, or one of what is allowed."""
    from ..domain.columns import first_few

    if text in columns and value in allowed:
        raise ParameterError(
            f"{option} {text}: this is a column of {str(answers)!r} and also a {what} of the "
            "study; rename the column"
        )
    if text in columns:
        return Choice(what, allowed, column=text)
    if value in allowed:
        return Choice(what, allowed, everyone=value)
    few = Choice(what, allowed)._few
    raise ParameterError(
        f"{option} {text}: there is no such column in {str(answers)!r}, which has "
        f"{first_few(columns, 20)}, and no such {what} in the study, which has {few}"
    )
