"""What is read from a file of answers: a column per attribute, and people's choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..domain.columns import as_column
from ..domain.values import code_dtype
from ..errors import ParameterError, SottovoceError
from ..kernels.compiling import expect
from ..parallel import ahead, in_order
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
    from ..domain.columns import Coded

EPSILON = "epsilon_"
OWN_COLUMNS = "columns"  # the allocation that a file's columns hold
_NO_EPSILON = ("NA", "null")  # beside an empty cell and NaN; among answers they may be values
_MOST_ROWS = 1 << 18  # at once
_MOST_BYTES = 1 << 23
_USUAL_ROW = 16  # bytes
_MOST_CHECKED = 1 << 27  # bytes of checked answers that are kept, rather than read again


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

    def read_into(self, fingerprint: Fingerprint, done: Done) -> list[Checked] | None:
        """Read everyone's answers and choices, refusing what is not allowed.

        Returns them where they are of one attribute and fit into little memory.
        """
        columns = self.columns
        checked: list[Checked] | None = None if self.allocation else []
        left = _MOST_CHECKED
        for first, chunk in ahead(columns.chunks(self._rows, done)):
            cells = [as_column(chunk[name]) for name in self.names]
            coded, chosen = self._check(chunk, cells, first, columns)
            tags = [
                fingerprint.tags(one.domain, column)
                for one, column in zip(self.answers, cells, strict=True)
            ]
            fingerprint.add(tags, chosen)
            if checked is not None:
                checked.append(Checked.of(chunk.num_rows, coded[0], self.choices, chosen))
                left -= checked[-1].nbytes
                checked = checked if left >= 0 else None
        return checked

    @property
    def _rows(self) -> int:
        """How many people's cells, and their reports, are in memory at once."""
        each = max(8 * len(self.columns.wanted), self.collection.report_bytes)
        return min(_MOST_ROWS, max(1, _MOST_BYTES // each))

    def _check(
        self, chunk: Any, cells: list[Any], first: int, columns: Columns
    ) -> tuple[list[Coded], list[NDArray[Any]]]:
        """Answers and what people chose; raises for what is not allowed."""
        if self.allocation == OWN_COLUMNS:  # what is not reported may be anything
            own = [chunk[EPSILON + name].to_numpy() for name in self.names]
            own += [choice.codes(chunk, first, None, columns) for choice in self.choices]
            return [], own
        coded = [one.coded(column, first) for one, column in zip(self.answers, cells, strict=True)]
        present = None if self.allocation else coded[0].present
        return coded, [choice.codes(chunk, first, present, columns) for choice in self.choices]

    def batches(
        self, done: Done, checked: list[Checked] | None, size: int
    ) -> Iterator[tuple[int, Reports]]:
        """How many people, and their reports, as many as fit into memory at once.

        Without the answers that `read_into` returned, the file is read again. It has `size` bytes.
        """
        expect(size // _USUAL_ROW)
        if checked is None:
            columns = self.columns
            chunks = ahead(columns.chunks(self._rows, done))
            yield from in_order(lambda part: self._randomise(part[1], part[0], columns), chunks)
            return
        parts = len(checked)
        for k, batch in enumerate(in_order(self._randomise_checked, _pop_each(checked))):
            yield batch
            done(size * (k + 1) // parts)

    def _randomise_checked(self, part: Checked) -> tuple[int, Reports]:
        pairs = zip(self.choices, part.chosen, strict=True)
        arguments = {choice.what: choice.argument(codes) for choice, codes in pairs}
        return part.people, self.collection.randomise(part.coded, **arguments)

    def _randomise(self, chunk: Any, first: int, columns: Columns) -> tuple[int, Reports]:
        cells = [as_column(chunk[name]) for name in self.names]
        if not self.allocation:
            coded, chosen = self._check(chunk, cells, first, columns)
            part = Checked.of(chunk.num_rows, coded[0], self.choices, chosen)
            return self._randomise_checked(part)
        arguments: dict[str, Any] = {"allocation": self.allocation, "first_row": first + 1}
        for choice in self.choices:
            codes = choice.codes(chunk, first, None, columns)
            arguments[choice.what] = choice.argument(codes)
        if self.allocation == OWN_COLUMNS:
            arguments["allocation"] = {
                name: chunk[EPSILON + name].to_numpy(zero_copy_only=False) for name in self.names
            }
        try:
            return chunk.num_rows, self.collection.randomise(chunk, **arguments)
        except SottovoceError as error:
            self._check(chunk, cells, first, columns)
            raise type(error)(f"{str(self.path)!r} (header not counted): {error}") from error


@dataclass(frozen=True)
class Checked:
    """Some people's answers and choices, as they are randomised."""

    people: int
    coded: Coded
    chosen: tuple[NDArray[Any], ...]

    @classmethod
    def of(
        cls, people: int, coded: Coded, choices: Sequence[Choice], chosen: Sequence[NDArray[Any]]
    ) -> Checked:
        """With the smallest codes of choices."""
        pairs = zip(choices, chosen, strict=True)
        short = (codes.astype(code_dtype(len(choice.allowed))) for choice, codes in pairs)
        return cls(people, coded, tuple(short))

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        present = 0 if self.coded.present is None else self.coded.present.nbytes
        return self.coded.codes.nbytes + present + sum(codes.nbytes for codes in self.chosen)


def _pop_each(parts: list[Checked]) -> Iterator[Checked]:
    """The parts in turn, none of which is kept."""
    parts.reverse()
    while parts:
        yield parts.pop()


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
