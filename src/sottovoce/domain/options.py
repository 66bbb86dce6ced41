"""Questions of which several options may be chosen: "choose all that apply"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_count
from ..errors import AnswerError, ParameterError
from .columns import Coded, Rows, as_column, first_few, first_row, is_missing
from .construction import call, few, unusual
from .values import Attribute, Missing

SEPARATOR = ";"
NESTED = (list, tuple, set, frozenset, np.ndarray)
MOST_OPTIONS = 63  # a set of them is one 64-bit word


@dataclass(frozen=True, init=False, repr=False)
class Options(Attribute):
    """A question whose answer is a set of options, up to a public number of them.

    An answer is a list, tuple or set of options, or text with ";" between them; choosing none is an
    answer, too.

    Parameters
    ----------
    name : str
        What is asked.
    options : sequence of str
        Everything that may be chosen, in order; at most 63.
    most : int
        How many may be chosen. The fewer, the more accurate the estimates: choose it by what is
        reasonable for the question, without looking at answers.
    missing : {"refuse", "public"}
        What a missing answer (None, NaN, null) is; see `Domain`. Choosing nothing is not a missing
        answer.
    wording : sequence of str, optional
        What people see instead of the options, one text for each.

    Examples
    --------
    >>> Options("tools", ["R", "Python", "SAS"], most=2).sets([["R"], [], ["R", "SAS"]])
    [('R',), (), ('R', 'SAS')]
    """

    most: int

    exclusive = False
    _instead = "give an empty list (or empty text) where nothing was chosen, or declare "

    def __init__(
        self,
        name: str,
        options: Sequence[str],
        *,
        most: int,
        missing: Missing = "refuse",
        wording: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, options, missing=missing, wording=wording)
        texts = [option for option in self.values if isinstance(option, str)]
        bad = [one for one in texts if SEPARATOR in one or one != one.strip() or not one]
        if len(texts) != len(self.values) or bad:
            raise ParameterError(
                f"options are {first_few(bad or self.values)}; they must be texts without "
                f"{SEPARATOR!r} and without blanks at their ends"
            )
        if len(texts) > MOST_OPTIONS:
            raise ParameterError(f"there are {len(texts)} options; at most {MOST_OPTIONS}")
        if missing == "value":
            raise ParameterError(
                "missing='value' is not for options, of which none may be chosen; allowed are "
                "'refuse' and 'public'"
            )
        what = "most, how many options may be chosen,"
        object.__setattr__(self, "most", checked_count(most, what, 1, len(texts)))

    def __repr__(self) -> str:
        more = {"missing": unusual(self.missing, "refuse"), "wording": few(self.wording)}
        options = few(self.values) or ""
        return call("Options", repr(self.name), options, most=str(self.most), **more)

    def has(self, label: Any) -> bool:
        """Whether this is an option; the empty text stands for nothing chosen."""
        return label == "" or super().has(label)

    def coded(self, answers: Any, *, rows: Rows | None = None) -> Coded:
        """Everyone's set as one word, bit v for option v."""
        if isinstance(answers, Coded):
            return answers
        masks, absent = self.words(answers, rows)
        many = np.bitwise_count(masks)
        over = many > self.most
        if over.any():
            raise AnswerError(
                f"row {first_row(over, rows)} has more than {self.most} options: "
                f"{int(many[over][0])} ({int(over.sum()):,} such rows in all); correct the data, "
                "or begin a study with a larger most"
            )
        present = self.who_answered(absent, rows)
        return Coded(masks if present is None else masks[present], present)

    def sets(self, answers: Any) -> list[tuple[str, ...]]:
        """Everyone's options, in the order of the question."""
        words = self.coded(answers).codes.tolist()
        return [
            tuple(str(option) for v, option in enumerate(self.values) if word >> v & 1)
            for word in words
        ]

    def canonical(self) -> dict[str, Any]:
        """What goes into a digest."""
        return {**super().canonical(), "most": self.most}

    def words(
        self, answers: Any, rows: Rows | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Sets as words, and who did not answer."""
        if hasattr(answers, "to_pylist"):
            answers = answers.to_pylist() if "list" in str(answers.type) else answers
        elif hasattr(answers, "to_numpy"):
            answers = answers.to_numpy()
        elif isinstance(answers, np.ma.MaskedArray):
            answers = answers.tolist()
        several = isinstance(answers, (list, tuple, np.ndarray)) and any(
            isinstance(answer, (*NESTED, dict)) for answer in answers
        )
        if several:
            return self._from_lists(list(answers), rows)
        column = as_column(answers)
        distinct = column.distinct()
        codes, _ = column.positions(distinct)
        if not all(isinstance(text, str) for text in distinct):
            raise AnswerError(
                f"the answers are {first_few(distinct)}; give a list of options for everyone, or "
                f"text with {SEPARATOR!r} between them"
            )
        parts = [
            [part.strip() for part in text.split(SEPARATOR) if part.strip()] for text in distinct
        ]
        words, unknown = self._words(parts)
        if unknown.any():
            where = np.isin(codes, np.flatnonzero(unknown))
            self._refuse_unknown(parts, unknown, first_row(where, rows))
        absent = codes < 0
        masks = np.zeros(codes.size, np.uint64)
        masks[~absent] = words[codes[~absent]]
        return masks, absent

    def _from_lists(
        self, answers: list[Any], rows: Rows | None
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        absent = np.array([is_missing(answer) for answer in answers], bool)
        strange = ~absent & ~np.array([isinstance(a, (str, *NESTED)) for a in answers], bool)
        if strange.any():
            raise AnswerError(
                f"{answers[int(strange.argmax())]!r} (row {first_row(strange, rows)}) is neither a "
                "list of options nor text"
            )
        parts = [
            [] if gone else [answer] if isinstance(answer, str) else list(answer)
            for answer, gone in zip(answers, absent.tolist(), strict=True)
        ]
        words, unknown = self._words(parts)
        if unknown.any():
            self._refuse_unknown(parts, unknown, first_row(unknown, rows))
        return words, absent

    def _words(
        self, parts: Sequence[Sequence[Any]]
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The word of every list of options, and which lists have unknown ones."""
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        words, unknown = np.zeros(len(parts), np.uint64), np.zeros(len(parts), bool)
        if not lengths.sum():
            return words, unknown
        flat = np.empty(int(lengths.sum()), object)
        flat[:] = list(chain.from_iterable(parts))
        codes, _ = as_column(flat).positions(self.values)
        where = np.repeat(np.arange(len(parts)), lengths)
        known = codes >= 0
        bits = np.uint64(1) << codes[known].astype(np.uint64)
        np.bitwise_or.at(words, where[known], bits)
        unknown[where[~known]] = True
        return words, unknown

    def _refuse_unknown(
        self, parts: Sequence[Sequence[Any]], unknown: NDArray[np.bool_], row: int
    ) -> None:
        first = parts[int(unknown.argmax())]
        strange = next(part for part in first if part not in self.values)
        raise AnswerError(
            f"{strange!r} (row {row}) is not one of the {len(self.values)} options "
            f"{first_few(self.values)}; correct the data, or declare the option"
        )
