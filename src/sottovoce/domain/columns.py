"""Columns of answers in any common form: lists, numpy, pandas, polars, pyarrow.

Text columns of a data frame go through pyarrow where it is installed (millions of rows per
tenth of a second); lists and object arrays through one dictionary look-up per answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import AnswerError

#: Which row of the whole table each answer is in, for messages.
Rows: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]

_MISSING, _UNKNOWN = -1, -2
_FEW_WORDS = 32


@dataclass(frozen=True, eq=False)
class Coded:
    """Answers that a domain has checked already: codes of values, or positions of numbers."""

    codes: NDArray[Any]
    #: Who answered, where those who did not were dropped.
    present: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return int(self.codes.size)

    def take(self, where: Any) -> Coded:
        """The answers of some people."""
        return Coded(self.codes[where])


class Column(ABC):
    """A one-dimensional column of answers."""

    #: Whether threads gain: not where every answer is a Python object.
    divisible: bool = True

    @abstractmethod
    def __getitem__(self, part: slice) -> Column:
        """Some rows."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def positions(self, values: Sequence[Any]) -> tuple[NDArray[np.int64], list[Any]]:
        """Where each answer is in `values`: -1 missing, -2 unknown; and the unknown answers."""

    @abstractmethod
    def at(self, row: int) -> Any:
        """The answer in one row, for messages."""

    def numbers(self) -> NDArray[np.float64]:
        """The answers as numbers, NaN where missing."""
        return _as_numbers(self.plain())

    @abstractmethod
    def distinct(self) -> list[Any]:
        """The distinct answers, without missing ones."""

    @abstractmethod
    def plain(self) -> NDArray[Any]:
        """The answers as they are: text as an array of objects or of text."""


def as_column(answers: Any) -> Column:
    """Wrap whatever holds the answers."""
    if isinstance(answers, Column):
        return answers
    refuse_randomised(answers)
    # Asked of the type: a lazy frame would compute them.
    if hasattr(type(answers), "columns") or isinstance(answers, Mapping):
        raise AnswerError(
            f"answers are one column, one entry per person; this {type(answers).__name__} is a "
            "table, so choose one of its columns: table['name']"
        )
    # A set has no order, and of people who answer alike only one.
    no_column = isinstance(answers, (str, bytes, Set)) or np.isscalar(answers)
    if no_column or answers is None:
        raise AnswerError(
            f"answers are one column, one entry per person; {type(answers).__name__} "
            f"{answers!r:.80} was given; for one person pass a list of one"
        )
    if hasattr(answers, "__arrow_c_stream__") or hasattr(answers, "__arrow_c_array__"):
        arrow = _try_arrow(answers)
        if arrow is not None:
            return arrow
    if hasattr(answers, "to_numpy"):
        answers = _frame_column(answers)
    if isinstance(answers, np.ma.MaskedArray):
        answers = answers.tolist()  # None where masked; below the mask is data like any other
    array = answers if isinstance(answers, np.ndarray) else _as_array(answers)
    if array.ndim != 1:
        raise AnswerError(
            f"answers are one column, one entry per person; the shape {array.shape} was given"
        )
    return _NumpyColumn(array)


def is_array(answers: Any) -> bool:
    """Whether an array can be read as it is: nothing in it is masked."""
    return isinstance(answers, np.ndarray) and not isinstance(answers, np.ma.MaskedArray)


def refuse_randomised(answers: Any) -> None:
    """Refuse reports and counts where answers are expected."""
    if hasattr(answers, "collection") and hasattr(answers, "digest"):
        raise AnswerError(
            f"{type(answers).__name__} were given, and not answers: these are randomised already"
        )


def _frame_column(answers: Any) -> NDArray[Any]:
    """A column of a data frame that pyarrow does not read."""
    try:
        array: NDArray[Any] = answers.to_numpy()
    except Exception:  # each library has its own, such as for integers of 128 bits
        return _as_array(answers)
    if array.dtype.kind == "f" and "int" in str(getattr(answers, "dtype", "")).lower():
        return _as_array(answers.to_list())  # beside gaps, large integers would be rounded
    return array


def first_few(values: Iterable[Any], most: int = 6) -> str:
    """'a', 'b', … for messages."""
    shown: list[str] = []
    for value in values:
        if len(shown) == most:
            return ", ".join(shown) + ", …"
        shown.append(repr(value))
    return ", ".join(shown)


def shown(number: float) -> str:
    """A number as people write it: 5 rather than 5.0."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def first_row(which: NDArray[np.bool_], rows: Rows | None) -> int:
    """The first marked row, by its number in the whole table."""
    first = int(which.argmax())
    return first if rows is None else int(rows[first])


def _as_array(answers: Any) -> NDArray[Any]:
    try:
        items = list(answers)
    except TypeError:
        raise AnswerError(
            f"answers are one column, one entry per person; {type(answers).__name__} was given"
        ) from None
    if items and all(type(item) is int for item in items):
        try:
            return np.array(items, np.int64)
        except OverflowError:
            pass  # keep the huge integer as an object, so that the error can name it
    array = np.empty(len(items), object)
    array[:] = items
    return array


class _NumpyColumn(Column):
    def __init__(self, array: NDArray[Any]) -> None:
        if array.dtype.kind in "mM":  # of nanoseconds numpy would make whole numbers
            array = array.astype(f"{array.dtype.kind}8[us]")
        self._array = array
        self.divisible = array.dtype.kind != "O"

    def __getitem__(self, part: slice) -> Column:
        return _NumpyColumn(self._array[part])

    def __len__(self) -> int:
        return int(self._array.size)

    def positions(self, values: Sequence[Any]) -> tuple[NDArray[np.int64], list[Any]]:
        array = self._array
        if array.dtype.kind == "b":
            array = array.astype(np.int64)
        if array.dtype.kind == "f":
            return _lookup_numbers(array, values)
        if array.dtype.kind in "iu" and isinstance(values, range):
            inside = (array >= 0) & (array < len(values))
            codes = np.where(inside, array.astype(np.int64), _UNKNOWN)
            return codes, list(np.unique(array[~inside]).tolist())
        if array.dtype.kind in "iu":
            distinct, where = np.unique(array, return_inverse=True)
            table, unknown = _lookup(distinct.tolist(), values)
            return table[where], unknown
        if array.dtype.kind == "U" and len(values) <= _FEW_WORDS:
            return _lookup_words(array, values)
        return _lookup(array.tolist(), values)

    def at(self, row: int) -> Any:
        return self._array[row : row + 1].tolist()[0]

    def distinct(self) -> list[Any]:
        return list(dict.fromkeys(v for v in self._array.tolist() if not is_missing(v)))

    def plain(self) -> NDArray[Any]:
        return self._array


class _ArrowColumn(Column):
    def __init__(self, chunked: Any) -> None:
        self._chunked = chunked
        self._looked_up: tuple[Sequence[Any], tuple[NDArray[np.int64], list[Any]]] | None = None

    def __len__(self) -> int:
        return len(self._chunked)

    def __getitem__(self, part: slice) -> Column:
        return _ArrowColumn(self._chunked[part])

    def positions(self, values: Sequence[Any]) -> tuple[NDArray[np.int64], list[Any]]:
        """The last result is kept: answers of a file are checked, and then fingerprinted."""
        if self._looked_up is None or self._looked_up[0] is not values:
            self._looked_up = values, self._look_up(values)
        return self._looked_up[1]

    def _look_up(self, values: Sequence[Any]) -> tuple[NDArray[np.int64], list[Any]]:
        import pyarrow as pa

        kind = self._chunked.type
        # Whole numbers with gaps would become floats, which cannot represent large ones exactly.
        gaps = pa.types.is_integer(kind) and self._chunked.null_count > 0
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        coded = pa.types.is_dictionary(kind)
        if not (coded or gaps or any(is_text(kind) for is_text in texts)):
            return _NumpyColumn(self.plain()).positions(values)
        parts: list[NDArray[np.int64]] = []
        unknown: dict[str, Any] = {}
        for chunk in (self._chunked if coded else self._chunked.dictionary_encode()).chunks:
            words = chunk.dictionary.to_pylist()
            table = np.append(_lookup(words, values)[0], _MISSING)  # index -1, a null, points there
            indices = chunk.indices
            if indices.null_count:
                indices = indices.cast(pa.int64()).fill_null(-1)
            where = np.from_dlpack(indices)  # pyarrow's own way to numpy would load pandas
            parts.append(table[where])
            for k in np.unique(where[parts[-1] == _UNKNOWN]).tolist():
                unknown.setdefault(repr(words[k]), words[k])
        codes = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return codes, list(unknown.values())

    def at(self, row: int) -> Any:
        return self._chunked[row].as_py()

    def distinct(self) -> list[Any]:
        return [v for v in self._chunked.unique().to_pylist() if not is_missing(v)]

    def plain(self) -> NDArray[Any]:
        import pyarrow as pa

        kind, column = self._chunked.type, self._chunked
        if pa.types.is_dictionary(kind):
            if pa.types.is_string_view(kind.value_type):  # which pyarrow cannot cast to
                return _as_array(column.to_pylist())
            column = column.cast(kind.value_type)
        numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if not numbers or column.null_count or not column.num_chunks:
            array: NDArray[Any] = column.to_numpy()
            return array
        parts = [np.from_dlpack(chunk) for chunk in column.chunks]  # does not load pandas
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _try_arrow(answers: Any) -> Column | None:
    try:
        import pyarrow as pa
    except ImportError:
        return None
    try:
        chunked = pa.chunked_array(answers)
    except (pa.ArrowException, OSError, TypeError, ValueError):
        # A data frame, a column of mixed objects, or a stream that is not valid (old versions of
        # polars send such ones for categories): the general path handles it.
        return None
    kind = chunked.type
    foreign = not isinstance(answers, (pa.Array, pa.ChunkedArray))
    if foreign and (isinstance(kind, pa.BaseExtensionType) or pa.types.is_fixed_size_binary(kind)):
        return None  # what is stored is not what the answers are: a month's number, a pointer
    if pa.types.is_nested(kind):
        raise AnswerError(
            f"the column holds {kind}; an answer is one text or one number; give each part "
            "its own column"
        )
    return _ArrowColumn(chunked)


def is_missing(value: Any) -> bool:
    """None, NaN, pandas.NA and NaT: everything that is not equal to itself, or says so."""
    if value is None:
        return True
    if isinstance(value, (str, int)) or hasattr(value, "__len__"):
        return False  # an array compares element by element, which gives no single result
    same = value == value
    return not (isinstance(same, (bool, np.bool_)) and bool(same))


def _lookup(answers: Sequence[Any], values: Sequence[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    if isinstance(values, range):  # 0..d-1 need no index
        positions = [_whole(answer, len(values)) for answer in answers]
    else:
        index: dict[Any, int] = {value: k for k, value in enumerate(values)}
        try:
            positions = [index.get(answer, _UNKNOWN) for answer in answers]
        except TypeError:  # an unhashable answer, such as a list
            positions = [index.get(a, _UNKNOWN) if _hashable(a) else _UNKNOWN for a in answers]
    codes = np.array(positions, np.int64) if positions else np.zeros(0, np.int64)
    unknown: dict[str, Any] = {}
    for k in np.flatnonzero(codes == _UNKNOWN).tolist():
        if is_missing(answers[k]):
            codes[k] = _MISSING
        else:
            unknown.setdefault(repr(answers[k]), answers[k])
    return codes, list(unknown.values())


def _whole(answer: Any, size: int) -> int:
    """The whole number that an answer is equal to, among 0..size-1."""
    if not isinstance(answer, Number):
        return _UNKNOWN
    try:
        whole = int(answer)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):  # complex, NaN, infinite
        return _UNKNOWN
    return whole if whole == answer and 0 <= whole < size else _UNKNOWN


def _lookup_words(
    array: NDArray[Any], values: Sequence[Any]
) -> tuple[NDArray[np.int64], list[Any]]:
    """Text by one comparison of the whole column with each of a few values."""
    codes = np.full(array.size, _UNKNOWN, np.int64)
    for k, value in enumerate(values):
        if isinstance(value, str):
            codes[array == value] = k
    unknown = array[codes == _UNKNOWN]
    return codes, list(dict.fromkeys(unknown.tolist()))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _lookup_numbers(
    array: NDArray[Any], values: Sequence[Any]
) -> tuple[NDArray[np.int64], list[Any]]:
    """Floats where whole numbers were declared: a data frame makes them when some are missing."""
    absent = np.isnan(array)
    distinct, where = np.unique(array[~absent], return_inverse=True)
    table, unknown = _lookup([int(v) if v.is_integer() else v for v in distinct.tolist()], values)
    codes = np.full(array.size, _MISSING, np.int64)
    codes[~absent] = table[where]
    return codes, unknown


def _as_numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    if array.dtype.kind == "O":
        odd = next((value for value in array if hasattr(value, "__len__")), None)
        if odd is not None:
            kind = "text" if isinstance(odd, (str, bytes)) else f"of type {type(odd).__name__}"
            raise AnswerError(f"the answer {odd!r} is {kind}; these answers must be numbers")
        array = np.array([np.nan if is_missing(value) else value for value in array], object)
    refused = AnswerError(f"these answers must be numbers; a column of {array.dtype} was given")
    if array.dtype.kind not in "biufO":  # numpy would parse numbers from text and dates
        raise refused
    try:
        return array.astype(np.float64)
    except OverflowError as error:
        raise AnswerError(
            "an answer is a whole number that is too large for a float; correct the data"
        ) from error
    except (TypeError, ValueError) as error:
        raise refused from error
