"""Text over a public alphabet, of which nobody declared the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_count, checked_name
from ..errors import AnswerError, ParameterError
from .columns import Coded, Rows, as_column, first_few, is_missing
from .construction import call, text, unusual
from .values import Attribute, Codes, Label, code_dtype

Longer: TypeAlias = Literal["refuse", "cut"]
Symbols: TypeAlias = NDArray[np.unsignedinteger[Any]]

_MOST_SYMBOLS = (1 << 16) - 1
_MOST_LENGTH = 255
_OUTSIDE = (1 << 16) - 1
_CODE_POINTS = 0x110000
_BLOCK = 1 << 16


@dataclass(frozen=True, init=False, repr=False)
class Text(Attribute):
    """A question whose answer is a text: at most `length` symbols of a public alphabet.

    An answer is coded as a row of `length` symbols, 1 for the first of the alphabet; after its end
    follow zeros. The empty text is an answer like any other.

    Parameters
    ----------
    name : str
        What is asked.
    alphabet : str or sequence of str
        The symbols, each a single character.
    length : int
        The most symbols that an answer has.
    longer : {"refuse", "cut"}
        What happens to a longer answer: an error, or only its first symbols count.
    other : str, optional
        A symbol that stands for every character outside the alphabet; without it those are
        refused.

    Examples
    --------
    >>> Text("word", "abc", 4).symbols(["cab", ""]).tolist()
    [[3, 1, 2, 0], [0, 0, 0, 0]]
    """

    alphabet: str
    length: int
    longer: Longer
    other: str | None

    listed = False

    def __init__(
        self,
        name: str,
        alphabet: str | Sequence[str],
        length: int,
        *,
        longer: Longer = "refuse",
        other: str | None = None,
    ) -> None:
        if longer not in get_args(Longer):
            raise ParameterError(f"longer={longer!r}; allowed are 'refuse' and 'cut'")
        symbols = _checked_alphabet(alphabet, other)
        most = checked_count(length, "length", 1, _MOST_LENGTH)
        called = checked_name(name, "a question")
        about = {"name": called, "alphabet": symbols, "length": most, "longer": longer}
        label = f"text of up to {most} symbols"
        plain = {"other": other, "values": (label,), "edges": None, "missing": "refuse"}
        for key, value in {**about, **plain, "wording": None}.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        options = {"longer": unusual(self.longer, "refuse"), "other": unusual(self.other, None)}
        return call("Text", repr(self.name), text(self.alphabet), str(self.length), **options)

    @property
    def base(self) -> int:
        """How many symbols there are, the end of a text included."""
        return len(self.alphabet) + 1

    def has(self, label: Label) -> bool:
        """Whether this is a possible answer."""
        try:
            return len(self.symbols([label])) == 1
        except AnswerError:
            return False

    def encode(self, answers: Any) -> Codes:
        """Texts have no list of values; see `symbols`."""
        raise AnswerError(f"{self.name!r} is a text, whose values are not listed")

    def symbols(self, answers: Any) -> Symbols:
        """One row of symbols per person. The one place where answers are checked."""
        rows: Symbols = self.coded(answers).codes
        return rows

    def coded(self, answers: Any, *, rows: Rows | None = None) -> Coded:
        """The same, for callers that pass answers on, or know their rows in a whole table."""
        if isinstance(answers, Coded):
            return answers
        column = as_column(answers).plain()
        places = range(column.size) if rows is None else rows
        if column.dtype.kind != "U":
            self._refuse_others(column, places)
        symbols = np.empty((column.size, self.length), code_dtype(self.base))
        for start in range(0, column.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            symbols[part] = self._block(column[part], places[part])
        return Coded(symbols)

    def _block(self, texts: NDArray[Any], places: Rows) -> Symbols:
        # One character more than allowed is kept, to know that there are more, unless they are cut.
        known = self.length + (self.longer == "refuse")
        wide = texts.astype(f"U{known}").astype(f"U{self.length + 1}")
        codes = self._code_of[wide.view(np.uint32).reshape(texts.size, self.length + 1)]
        if self.other is not None:
            codes[codes == _OUTSIDE] = self.alphabet.index(self.other) + 1
        rows, more = codes[:, :-1], codes[:, -1] != 0
        ended = ((rows[:, 1:] != 0) & (rows[:, :-1] == 0)).any(axis=1)
        wrong = {
            f"has more than {self.length} symbols; allow more, or declare longer='cut' to keep "
            "the first ones": more,
            "has a character outside the alphabet; extend it, or declare a symbol for all others "
            "with other='…'": (rows == _OUTSIDE).any(axis=1),
            "has a null character; correct the data": ended,
        }
        for reason, which in wrong.items():
            if which.any():
                first = int(which.argmax())
                raise AnswerError(f"the answer {texts[first]!r:.80} (row {places[first]}) {reason}")
        return rows

    def decode_symbols(self, rows: Symbols) -> list[str]:
        """The texts of rows of symbols."""
        letters = np.array(["", *self.alphabet], dtype="U1")
        width = max(rows.shape[1], 1)
        return [str(text) for text in letters[rows].view(f"U{width}").reshape(-1)]

    def canonical(self) -> dict[str, Any]:
        """What goes into a digest."""
        return {
            "name": self.name,
            "alphabet": self.alphabet,
            "length": self.length,
            "longer": self.longer,
            "other": self.other,
        }

    def _refuse_others(self, column: NDArray[Any], places: Rows) -> None:
        if set(map(type, column.tolist())) <= {str}:
            return
        for row, answer in zip(places, column.tolist(), strict=True):
            if is_missing(answer):
                raise AnswerError(
                    f"the answer at row {row} is missing, and leaving people out because "
                    'of it would reveal that; give the empty text "", which is randomised like any '
                    "answer"
                )
            if not isinstance(answer, str):
                raise AnswerError(f"the answer {answer!r:.80} (row {row}) is not a text")

    @cached_property
    def _code_of(self) -> NDArray[np.uint16]:
        """The symbol of every code point."""
        table = np.full(_CODE_POINTS, _OUTSIDE, np.uint16)
        table[0] = 0
        table[[ord(symbol) for symbol in self.alphabet]] = np.arange(1, self.base)
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the table, which is as large as Unicode.
        kind = partial(Text, longer=self.longer, other=self.other)
        return kind, (self.name, self.alphabet, self.length)


def _checked_alphabet(alphabet: str | Sequence[str], other: str | None) -> str:
    if other is not None and not (isinstance(other, str) and len(other) == 1):
        raise ParameterError(f"other is {other!r:.80}; it must be a single character")
    symbols = list(alphabet) if isinstance(alphabet, (str, Sequence)) else []
    if other is not None and other not in symbols:
        symbols.append(other)
    if not symbols or not all(isinstance(s, str) and len(s) == 1 for s in symbols):
        raise ParameterError(
            f"the alphabet is {alphabet!r:.80}; give single characters, such as "
            "'abcdefghijklmnopqrstuvwxyz'"
        )
    twice = [a for a, b in pairwise(sorted(symbols)) if a == b]
    if twice:
        raise ParameterError(f"symbols must differ; given twice: {first_few(twice)}")
    if "\0" in symbols or any(0xD800 <= ord(symbol) < 0xE000 for symbol in symbols):
        raise ParameterError("the null character and halves of characters cannot be symbols")
    if len(symbols) >= _MOST_SYMBOLS:
        raise ParameterError(f"{len(symbols):,} symbols; fewer than {_MOST_SYMBOLS:,} are allowed")
    return "".join(symbols)
