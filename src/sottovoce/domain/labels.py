"""Labels of values, also where there are too many to list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, overload

from ..errors import ParameterError
from .columns import first_few

Label: TypeAlias = str | int

NO_ANSWER = "no answer"


def plain_values(texts: Sequence[str]) -> list[str] | list[int]:
    """Values as people write them; whole numbers where all are, but "007" stays text."""
    if all(text.removeprefix("-").isdecimal() and str(int(text)) == text for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def checked_labels(labels: Sequence[str], size: int, no_answer: bool) -> tuple[str, ...]:
    """What values are called: one text for each, all different."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Sequence):
        raise ParameterError(f"labels is {labels!r:.80}; give a list with a text for each value")
    wording = tuple(labels)
    if not all(isinstance(label, str) and label.strip() for label in wording):
        raise ParameterError("a label is empty or not text; give a text for each value")
    if len(wording) != size:
        raise ParameterError(
            f"there are {len(wording)} labels for {size} values; give one for each"
        )
    every = [*wording, NO_ANSWER] if no_answer else list(wording)
    twice = [label for label in dict.fromkeys(every) if every.count(label) > 1]
    if twice:
        raise ParameterError(f"labels must differ; given twice: {first_few(twice)}")
    return wording


class NumbersAndNoAnswer(Sequence[Label]):
    """The numbers 0..d-1 and "no answer", without a list of them."""

    def __init__(self, values: range) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values) + 1

    @overload
    def __getitem__(self, at: int) -> Label: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Label]: ...
    def __getitem__(self, at: int | slice) -> Label | Sequence[Label]:
        if isinstance(at, slice):
            return tuple(self[k] for k in range(*at.indices(len(self))))
        place = at + len(self) if at < 0 else at
        if not 0 <= place < len(self):
            raise IndexError(f"there is no value {at}; the last is {len(self) - 1}")
        return NO_ANSWER if place == len(self._values) else self._values[place]

    def __contains__(self, label: object) -> bool:
        return label == NO_ANSWER or (isinstance(label, int) and label in self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumbersAndNoAnswer):
            return self._values == other._values
        return isinstance(other, tuple) and len(other) == len(self) and tuple(self) == other

    def __hash__(self) -> int:
        return hash((self._values, NO_ANSWER))

    def __repr__(self) -> str:
        return f"({first_few(self)})"
