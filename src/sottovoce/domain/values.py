"""What may be answered: public values, declared before anyone answers.

A `Domain` is an ordered set of values; an `Attribute` is a domain with a name. Nothing here is ever
learned from private answers: inferring the values from data needs an explicit
``public_data=True``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_name
from ..errors import AnswerError, ParameterError
from ..kernels.compiling import expect
from ..parallel import buffer_factor
from .columns import Coded, Column, Rows, as_column, first_few, first_row
from .construction import call, few, numbers, unusual
from .encoding import encode_column, in_parts, narrow, plain_integers
from .labels import NO_ANSWER as NO_ANSWER
from .labels import Label as Label
from .labels import NumbersAndNoAnswer, checked_labels

Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]
Blocks: TypeAlias = Callable[[slice], Iterator[tuple[slice, NDArray[Any]]]]
Missing: TypeAlias = Literal["refuse", "value", "public"]

_MOST_VALUES = 1 << 31
_BLOCK = 1 << 16


@dataclass(frozen=True, init=False, repr=False)
class Domain:
    """An ordered set of public values.

    Parameters
    ----------
    values : int or sequence of str or int
        The values in order; an integer d means 0..d-1.
    edges : sequence of float, optional
        Public bin edges instead of values; see `Attribute.bins`.
    missing : {"refuse", "value", "public"}
        What a missing answer (None, NaN, null) is. ``"refuse"`` raises; ``"value"`` adds the value
        "no answer", randomised like any other; ``"public"`` drops the person and declares that
        *who did not answer* is public knowledge.
    wording : sequence of str, optional
        The labels: what tables and pictures call the values, where answers are codes.

    Examples
    --------
    >>> Domain(["car", "bike"], missing="value").labels
    ('car', 'bike', 'no answer')
    >>> Domain([1, 2, 9], wording=["car", "bike", "other"]).labels
    ('car', 'bike', 'other')
    """

    values: Sequence[Label]
    edges: tuple[float, ...] | None
    missing: Missing
    wording: tuple[str, ...] | None

    name = ""  # an Attribute has one
    exclusive = True  # an answer is one of the values; Options are sets of them
    listed = True  # the values are declared; those of a Text are not
    _instead = "declare missing='value' to make \"no answer\" a value, or "

    def __init__(
        self,
        values: int | Sequence[Label] = (),
        *,
        edges: Sequence[float] | None = None,
        missing: Missing = "refuse",
        wording: Sequence[str] | None = None,
    ) -> None:
        if missing not in get_args(Missing):
            raise ParameterError(
                f"missing={missing!r}; allowed are 'refuse', 'value' (adds {NO_ANSWER!r}) and "
                "'public' (drops the person, and declares public who did not answer)"
            )
        checked = None if edges is None else _checked_edges(edges)
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "edges", checked)
        object.__setattr__(
            self, "values", _checked_values(values) if checked is None else _bins(checked, values)
        )
        if wording is not None:
            wording = checked_labels(wording, len(self.values), missing == "value")
        object.__setattr__(self, "wording", wording)
        if missing == "value" and self.has(NO_ANSWER):
            raise ParameterError(
                f"{NO_ANSWER!r} is among the values and missing='value' would add it again; "
                "leave one of them out"
            )
        if not 2 <= self.size <= _MOST_VALUES:
            raise ParameterError(
                f"a question of {self.size} value{'s' * (self.size != 1)} was given; between 2 "
                "and 2^31 are allowed"
            )

    def __repr__(self) -> str:
        kind, named = type(self).__name__, [repr(self.name)] if self.name else []
        missing = unusual(self.missing, "refuse")
        if self.edges is not None:
            return call(kind, *named, edges=numbers(self.edges), missing=missing)
        values = few(self.values) or ""
        return call(kind, *named, values, missing=missing, wording=few(self.wording))

    @classmethod
    def of(cls, values: Domain | int | Sequence[Label]) -> Domain:
        """A domain from a Domain, a size, or a list of values, of which an answer is one."""
        if isinstance(values, Domain) and not values.exclusive:
            raise ParameterError(
                f"{values.name!r} allows several options, which this would read as one value; "
                "ChooseAll is for them"
            )
        if isinstance(values, Domain):
            values.refuse_unlisted()
        return values if isinstance(values, Domain) else cls(values)

    @classmethod
    def infer(cls, answers: Any, *, public_data: bool = False) -> Domain:
        """The sorted distinct values of `answers`, which must be declared public.

        Which values occur is itself information about the people who answered.
        """
        if public_data is not True:
            raise ParameterError(
                "no values were given, and inferring them from the answers would reveal which "
                "answers occur; list the possible values, or pass public_data=True if the data are "
                "public"
            )
        distinct = as_column(answers).distinct()
        if not all(isinstance(value, (str, int)) for value in distinct):
            raise ParameterError(
                f"the data hold values such as {first_few(distinct)}; only text and whole "
                "numbers can be values; use Attribute.bins for measurements"
            )
        return cls(sorted(distinct, key=lambda v: (isinstance(v, str), v)))

    def has(self, label: Label) -> bool:
        """Whether this is one of the values; takes constant time even for 2^31 numbers."""
        if isinstance(self.values, range) and not isinstance(label, int):
            return False  # Python would compare it with every number
        return label in self.values

    @property
    def labels(self) -> Sequence[Label]:
        """Every value in order, followed by "no answer" where that is a value."""
        if self.wording is not None:
            return (*self.wording, NO_ANSWER) if self.missing == "value" else self.wording
        if self.missing != "value":
            return self.values
        if isinstance(self.values, range):
            return NumbersAndNoAnswer(self.values)
        return (*self.values, NO_ANSWER)

    @property
    def size(self) -> int:
        """How many values there are (d)."""
        return len(self.values) + (self.missing == "value")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer that holds a code."""
        return code_dtype(self.size)

    def encode(self, answers: Any) -> Codes:
        """Positions of the answers in the domain. The one place where answers are checked.

        Parameters
        ----------
        answers : array-like
            A list, or a numpy, pandas, polars or pyarrow column.

        Raises
        ------
        AnswerError
            For an answer outside the domain, or a missing one where missing is not a value.
        """
        codes: Codes = self.coded(answers).codes
        return codes

    def coded(self, answers: Any, *, rows: Rows | None = None) -> Coded:
        """The same, for callers that need to know who did not answer, or pass answers on.

        Where the answers are part of a table, `rows` are their rows in it, for messages.
        """
        if isinstance(answers, Coded):
            return answers
        plain = plain_integers(self, answers)
        if plain is None:
            return in_parts(self._encode, as_column(answers), rows)
        out = np.empty(plain.size, self.dtype)
        narrow(self, plain, out, range(plain.size) if rows is None else rows)
        return Coded(out)

    def _encode(self, column: Column, rows: Rows | None) -> Coded:
        return encode_column(self, column, rows)

    def blocks(self, answers: Any, *, most: int | None = None) -> tuple[int, Blocks]:
        """The same codes, at most `most` at a time; by default so many that they stay in the cache.

        Returns how many there are in all, and a function from a slice of the people to an
        iterator of (where, codes); different threads may walk over different slices. The codes
        are only valid until the next step.
        """
        plain = None if isinstance(answers, Coded) else plain_integers(self, answers)
        if plain is None:
            codes = self.encode(answers)
            size = codes.size
        else:
            size = plain.size
        expect(size)

        def walk(people: slice) -> Iterator[tuple[slice, Codes]]:
            length = buffer_factor(people, size) * (most or _BLOCK)
            length = min(people.stop - people.start, length)
            buffer = None if plain is None else np.empty(length, self.dtype)
            for part in parts_of(people, length or 1):
                if plain is None or buffer is None:
                    yield part, codes[part]
                    continue
                block = buffer[: part.stop - part.start]
                narrow(self, plain[part], block, range(part.start, part.stop))
                yield part, block

        return size, walk

    def decode(self, codes: NDArray[Any]) -> list[Label]:
        """Values at the given positions."""
        labels = self.labels
        return [labels[int(code)] for code in codes]

    def refuse_unlisted(self) -> None:
        """Raise where the possible answers are not declared."""
        if not self.listed:
            raise ParameterError(
                f"{self.name!r} is a text whose possible values are not listed; HeavyHitters finds "
                "the frequent ones"
            )

    def canonical(self) -> dict[str, Any]:
        """What goes into a digest: plain data, the same for equal domains."""
        plain = isinstance(self.values, range)
        return {
            "values": len(self.values) if plain else list(self.values),
            "edges": None if self.edges is None else [repr(edge) for edge in self.edges],
            "missing": self.missing,
            **({} if self.wording is None else {"labels": list(self.wording)}),
        }

    def who_answered(
        self, absent: NDArray[np.bool_], rows: Rows | None
    ) -> NDArray[np.bool_] | None:
        """Who answered, where some did not and that is public; refused where it is not declared."""
        if not absent.any():
            return None
        if self.missing == "refuse":
            raise AnswerError(
                f"{int(absent.sum())} of {absent.size} answers are missing (the first at row "
                f"{first_row(absent, rows)}), and dropping people by their answer would leak "
                f"it; {self._instead}missing='public' if who did not answer is public knowledge"
            )
        return ~absent

    def bin_codes(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The bin of each number: -1 missing, -2 outside."""
        edges = np.asarray(self.edges, float)
        codes = np.searchsorted(edges, numbers, side="right").astype(np.int64) - 1
        codes[numbers == edges[-1]] = len(self.values) - 1  # the last bin includes its upper edge
        codes[(codes < 0) | (codes >= len(self.values))] = -2
        codes[np.isnan(numbers)] = -1
        return codes


@dataclass(frozen=True, init=False, repr=False)
class Attribute(Domain):
    """One question: a name and its public values.

    Examples
    --------
    >>> Attribute("commute", ["car", "bike", "train", "foot"]).size
    4
    >>> Attribute.bins("age", [0, 18, 65, float("inf")]).labels
    ('[0, 18)', '[18, 65)', '[65, inf]')
    """

    name: str

    def __init__(
        self,
        name: str,
        values: int | Sequence[Label] = (),
        *,
        edges: Sequence[float] | None = None,
        missing: Missing = "refuse",
        wording: Sequence[str] | None = None,
    ) -> None:
        object.__setattr__(self, "name", checked_name(name))
        super().__init__(values, edges=edges, missing=missing, wording=wording)

    @classmethod
    def bins(cls, name: str, edges: Sequence[float], *, missing: Missing = "refuse") -> Attribute:
        """Numbers in public bins [a, b), the last one closed; edges may be infinite."""
        return cls(name, edges=edges, missing=missing)

    def canonical(self) -> dict[str, Any]:
        """What goes into a digest."""
        return {"name": self.name, **super().canonical()}


def code_dtype(size: int) -> np.dtype[Any]:
    """The smallest little-endian unsigned integer that holds 0..size-1."""
    return np.dtype("u1" if size <= 1 << 8 else "<u2" if size <= 1 << 16 else "<u4")


def parts_of(whole: slice, most: int) -> Iterator[slice]:
    """The slice in parts of at most `most`."""
    return (
        slice(start, min(start + most, whole.stop))
        for start in range(whole.start, whole.stop, most)
    )


def _checked_values(labels: int | Sequence[Label]) -> Sequence[Label]:
    if isinstance(labels, (int, np.integer)) and not isinstance(labels, bool):
        if labels > _MOST_VALUES:
            raise ParameterError(
                f"a domain of {_size_words(int(labels))} values is too large; between 2 and 2^31 "
                "are allowed"
            )
        return range(max(int(labels), 0))
    # A set is refused too: its order changes from run to run, and with it the digest.
    unordered = (str, bytes, set, frozenset, Mapping)
    if isinstance(labels, unordered) or not isinstance(labels, Iterable):
        raise ParameterError(
            f"the values are {labels!r}; give a list such as ['yes', 'no'], or a number d for "
            "0..d-1"
        )
    if isinstance(labels, range) and labels == range(len(labels)):
        return labels
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in labels)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise ParameterError(
                f"{value!r} cannot be a value; allowed are text and whole numbers "
                "(True and False count as 1 and 0; a missing answer is declared with "
                "missing='value', measurements with bins)"
            )
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise ParameterError(f"values must differ; given twice: {first_few(twice)}")
    return range(len(values)) if values == tuple(range(len(values))) else values


def _size_words(size: int) -> str:
    """A whole number, or the magnitude of a huge one: Python refuses to print thousands."""
    return str(size) if size < 10**30 else f"about 2^{size.bit_length()}"


def _checked_edges(numbers: Sequence[float]) -> tuple[float, ...]:
    try:
        edges = tuple(float(edge) for edge in numbers)
    except OverflowError as error:
        raise ParameterError("a bin edge is too large for a float; write inf") from error
    except (TypeError, ValueError) as error:
        raise ParameterError(f"bin edges must be numbers; {numbers!r} was given") from error
    increasing = all(a < b for a, b in pairwise(edges))
    if len(edges) < 3 or not increasing or any(math.isnan(edge) for edge in edges):
        raise ParameterError(
            f"bin edges {edges} were given; they must increase strictly, and there must be at "
            "least three (two bins)"
        )
    return edges


def _bins(edges: tuple[float, ...], values: int | Sequence[Label]) -> tuple[str, ...]:
    """The labels of bins; values given beside edges would be dropped silently."""
    pairs = list(pairwise(edges))
    labels = tuple(
        f"[{low:.17g}, {high:.17g}{']' if k == len(pairs) - 1 else ')'}"
        for k, (low, high) in enumerate(pairs)
    )
    alone = isinstance(values, Sequence) and tuple(values) in ((), labels)
    if not alone:
        raise ParameterError(
            f"values {values!r} and edges {edges} were both given; give values for answers that "
            "are listed, or edges for numbers in bins"
        )
    return labels
