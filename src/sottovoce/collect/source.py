"""What is read from a file of answers: a column per attribute, and people's choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError, SottovoceError
from .answers import Answers, kind_of
from .choices import Choice, choices_of
from .columns import Columns, Wanted
from .dialect import PLAIN, Dialect
from .fingerprint import Fingerprint
from .progress import Done
from .receipts import RECORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..contract.collection import Collection
    from ..contract.reports import Reports

EPSILON = "epsilon_"
OWN_COLUMNS = "columns"  # the allocation that a file's columns hold
_NO_EPSILON = ("NA", "null")  # beside an empty cell and NaN; among answers they may be values
_MOST_ROWS = 1 << 18  # at once
_MOST_BYTES = 1 << 23


@dataclass(frozen=True)
class Source:
    """A file, and which of its columns are needed.

    Attributes
    ----------
    answers : tuple of Answers
        The columns of answers, one per attribute.
    choices : tuple of Choice
        Where everyone's level and rate are.
    allocation : str
        How epsilon is divided over several attributes: by name, or "columns"; empty where there
        is one.
    dialect : Dialect
        How the file was saved.
    """

    path: Path
    collection: Collection
    answers: tuple[Answers, ...]
    choices: tuple[Choice, ...] = ()
    allocation: str = ""
    dialect: Dialect = PLAIN

    @classmethod
    def of(
        cls,
        path: Path,
        collection: Collection,
        *,
        column: str | None = None,
        levels: str | None = None,
        rate: str | None = None,
        allocation: str | None = None,
        dialect: Dialect = PLAIN,
    ) -> Source:
        """What the options say, checked against the study and the file."""
        several = bool(collection.allocations)
        if several and column is not None:
            raise ParameterError(
                f"{collection.name!r} are records, read from the columns that have the names of "
                "their attributes; leave --column out"
            )
        if allocation is not None and not several:
            raise ParameterError(
                f"the question {collection.name!r} has one attribute, so there is nothing to "
                "divide epsilon among; leave --allocation out"
            )
        answers = tuple(
            Answers(path, column or attribute.name, attribute)
            for attribute in collection.attributes
        )
        choices = choices_of(collection, path, answers[0].column, levels, rate, dialect)
        divided = (allocation or collection.allocations[0]) if several else ""
        source = cls(path, collection, answers, tuple(choices), divided, dialect)
        source.columns  # noqa: B018, refuses columns that would hold two things
        return source

    @property
    def names(self) -> list[str]:
        """The columns of answers."""
        return [one.column for one in self.answers]

    @property
    def column(self) -> str:
        """The column of answers, or what stands for all of them."""
        return RECORDS if self.allocation else self.names[0]

    @property
    def label(self) -> str:
        """The file and what is read of it, for messages."""
        where = repr(str(self.path))
        return where if self.allocation else f"{where}, column {self.names[0]!r},"

    @property
    def words(self) -> dict[str, str]:
        """Where choices come from, for receipts."""
        divided = {"allocation": self.allocation} if self.allocation else {}
        return {**{choice.what: choice.words for choice in self.choices}, **divided}

    @property
    def columns(self) -> Columns:
        """The file's columns that are needed."""
        if not self.allocation:
            (answers,) = self.answers
            chosen = {choice.column: choice.wanted for choice in self.choices if choice.column}
            return self._read({answers.column: answers.wanted, **chosen})
        wanted = {
            one.column: Wanted(
                kind_of(one.domain),
                "its values are",
                "every attribute needs a column of its name",
                empty_is_text=one.domain.has(""),
            )
            for one in self.answers
        }
        wanted |= {choice.column: choice.wanted for choice in self.choices if choice.column}
        if self.allocation != OWN_COLUMNS:
            return self._read(wanted)
        double = [name for name in self.names if EPSILON + name in wanted]
        if double:
            raise ParameterError(
                f"the column {EPSILON + double[0]!r} would hold answers as well as the epsilons "
                f"of {double[0]!r}; rename that attribute"
            )
        remedy = f"with --allocation columns every attribute needs its epsilons in {EPSILON}NAME"
        own = Wanted("numbers", "epsilons are", remedy, absent=_NO_EPSILON)
        return self._read({**wanted, **{EPSILON + name: own for name in self.names}})

    def _read(self, wanted: Mapping[str, Wanted]) -> Columns:
        return Columns(self.path, wanted, dialect=self.dialect)

    def read_into(self, fingerprint: Fingerprint, done: Done) -> None:
        """Read everyone's answers and choices, refusing what is not allowed."""
        columns = self.columns
        rows = min(_MOST_ROWS, max(1, _MOST_BYTES // (8 * len(columns.wanted))))
        for first, chunk in columns.chunks(rows, done):
            chosen = self._check(chunk, first, columns)
            tags = [fingerprint.tags(one.domain, chunk[one.column]) for one in self.answers]
            fingerprint.add(tags, chosen)

    def _check(self, chunk: Any, first: int, columns: Columns) -> list[NDArray[Any]]:
        """What people chose; raises for an answer or choice that is not allowed."""
        if self.allocation == OWN_COLUMNS:  # what is not reported may be anything
            own = [chunk[EPSILON + name].to_numpy() for name in self.names]
            return own + [choice.codes(chunk, first, None, columns) for choice in self.choices]
        coded = [one.coded(chunk[one.column], first) for one in self.answers]
        present = None if self.allocation else coded[0].present
        return [choice.codes(chunk, first, present, columns) for choice in self.choices]

    def batches(self, done: Done) -> Iterator[tuple[int, Reports]]:
        """How many people, and their reports, as many as fit into memory at once."""
        rows = min(_MOST_ROWS, max(1, _MOST_BYTES // self.collection.report_bytes))
        columns = self.columns
        for first, chunk in columns.chunks(rows, done):
            yield chunk.num_rows, self._randomise(chunk, first, columns)

    def _randomise(self, chunk: Any, first: int, columns: Columns) -> Reports:
        arguments: dict[str, Any] = {}
        if not self.allocation:
            (answers,) = self.answers
            coded = answers.coded(chunk[answers.column], first)
            for choice in self.choices:
                codes = choice.codes(chunk, first, coded.present, columns)
                arguments[choice.what] = choice.argument(codes)
            return self.collection.randomise(coded, **arguments)
        arguments = {"allocation": self.allocation, "first_row": first + 1}
        for choice in self.choices:
            codes = choice.codes(chunk, first, None, columns)
            arguments[choice.what] = choice.argument(codes)
        if self.allocation == OWN_COLUMNS:
            arguments["allocation"] = {
                name: chunk[EPSILON + name].to_numpy(zero_copy_only=False) for name in self.names
            }
        try:
            return self.collection.randomise(chunk, **arguments)
        except SottovoceError as error:
            self._check(chunk, first, columns)
            raise type(error)(f"{str(self.path)!r} (header not counted): {error}") from error


@dataclass
class Tally:
    """How many people there are, and how many of them were asked and reported in each way."""

    collection: Collection
    people: int = 0
    asked: list[int] = field(default_factory=list)
    reported: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.asked, self.reported = ([0] * len(self.collection.ways()) for _ in range(2))

    def add(self, people: int, reports: Reports) -> None:
        """Some more people."""
        self.people += people
        asked, reported = self.collection.headcount(reports)
        self.asked = [n + more for n, more in zip(self.asked, asked.tolist(), strict=True)]
        self.reported = [n + more for n, more in zip(self.reported, reported.tolist(), strict=True)]

    @property
    def counts(self) -> dict[str, dict[str, list[int]]]:
        """[people, reports] of each level and each rate, for receipts."""
        levels: dict[str, list[int]] = {}
        rates: dict[str, list[int]] = {}
        for way, n, s in zip(self.collection.ways(), self.asked, self.reported, strict=True):
            for rows, key in ((levels, way.level), (rates, repr(way.rate))):
                if key is not None:
                    before = rows.get(key, [0, 0])
                    rows[key] = [before[0] + n, before[1] + s]
        tables = {"levels": levels, "rates": rates if self.collection.sampled else {}}
        return {name: rows for name, rows in tables.items() if rows}
