"""One promise: how much privacy, of what, against whom, and assuming what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from ..checks import float_above
from ..errors import GuaranteeError
from . import words
from .assumptions import OWN_DEVICE
from .types import LIP, Against, Neighbours, Notion, Unit, read_code, read_fields

ONE_ANSWER = Unit()
_INFINITE = "infinite"  # JSON has no infinite numbers
_HUGE = 700.0  # e^700 is almost the largest float
_GUESS_DIGITS = 7  # decimals of a percentage: enough for an epsilon of 20
_EXACT = Context(prec=60)  # its logarithms and powers are correctly rounded


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise; only `assuming` is free text, and it decides nothing.

    Attributes
    ----------
    notion : Notion
        The definition of privacy.
    epsilon, delta : float
        Its parameters; `delta` is 0 for a pure promise.
    neighbours : Neighbours
        What an observer cannot distinguish by more than epsilon.
    unit : Unit
        What is protected, and of which people.
    against : Against
        Who the observer is.
    assuming : tuple of str
        What must be true for the promise to hold.

    Examples
    --------
    >>> Promise(Notion.LDP, 1.0).line()
    'ε = 1 for each answer, against anyone who sees the reports'
    """

    notion: Notion
    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = Neighbours.SUBSTITUTION
    unit: Unit = ONE_ANSWER
    against: Against = Against.REPORTS
    assuming: tuple[str, ...] = (OWN_DEVICE,)

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            if not isinstance(getattr(self, name), kind):
                raise GuaranteeError(
                    f"the {name} of a promise is {getattr(self, name)!r}; it must be a "
                    f"{kind.__name__}"
                )
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, _number(getattr(self, name), name))
        if not (self.epsilon >= 0 and 0 <= self.delta <= 1):
            raise GuaranteeError(
                f"a promise with epsilon={self.epsilon!r} and delta={self.delta!r} means nothing; "
                "epsilon must be at least 0 and delta between 0 and 1"
            )
        if (self.notion is LIP) != (self.neighbours is Neighbours.BELIEFS):
            raise GuaranteeError(
                f"a promise of {self.notion!r} cannot have {self.neighbours!r}; Neighbours.BELIEFS "
                "belongs to Notion.LIP, and to nothing else"
            )
        if self.notion is LIP and self.delta:
            raise GuaranteeError(f"a promise under a prior has no delta; it is {self.delta!r}")
        if not all(isinstance(sentence, str) for sentence in self.assuming):
            raise GuaranteeError(f"assuming is {self.assuming!r}; it must be a tuple of sentences")

    @property
    def subject(self) -> tuple[Notion, Neighbours, Unit, Against]:
        """What the promise is about; only promises with the same subject add up."""
        return (self.notion, self.neighbours, self.unit, self.against)

    @property
    def ratio(self) -> float:
        """e^ε, rounded up."""
        if self.epsilon == 0:
            return 1.0
        if self.epsilon >= _HUGE:
            return math.inf
        return math.nextafter(math.exp(self.epsilon), math.inf)

    @property
    def guess(self) -> Decimal:
        """(e^ε + δ) / (e^ε + 1) in per cent, rounded up, in as few digits as keep it below 100.

        Someone who considered two inputs equally likely beforehand guesses right with at most this
        probability: for an event S it is (P(S) + 1 − Q(S)) / 2, where P(S) ≤ e^ε Q(S) + δ and
        1 − Q(S) ≤ e^ε (1 − P(S)) + δ; the two add up to it. For a pure promise it is also the most
        that they can be sure of either, whatever they see. With δ above 0 that is not implied. 100
        means that nothing is bounded, or by less than seven digits show.
        """
        if self.epsilon >= _HUGE:
            return Decimal(100)
        ratio = Fraction(1)
        if self.epsilon > 0:
            ratio = Fraction(_EXACT.exp(Decimal(self.epsilon)).next_plus(_EXACT))
        most = 100 * (ratio + Fraction(self.delta)) / (ratio + 1)
        for digits in range(_GUESS_DIGITS + 1):
            shown = math.ceil(most * 10**digits)
            if shown < 100 * 10**digits:
                return Decimal(shown).scaleb(-digits)
        return Decimal(100)

    def words(self, width: int = 79) -> str:
        """The promise in plain words, in lines of at most `width` characters."""
        return words.promise_words(self, width)

    def line(self) -> str:
        """The promise in one line, without its assumptions."""
        return words.guarantee_line((self,))

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: stable codes, and the words for readers."""
        return {
            "notion": self.notion.value,
            "epsilon": _INFINITE if math.isinf(self.epsilon) else self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours.value,
            "unit": self.unit.as_dict(),
            "against": self.against.value,
            "assuming": list(self.assuming),
            "words": self.words(),
        }

    @classmethod
    def from_dict(cls, data: object) -> Promise:
        """The promise that `as_dict` wrote; words are not read, since they decide nothing."""
        fields = read_fields(data, "promise", tuple(_FIELDS), frozenset({"words"}))
        epsilon, assuming = fields["epsilon"], fields["assuming"]
        if isinstance(epsilon, float) and math.isinf(epsilon):
            raise GuaranteeError(f"epsilon is {epsilon!r}; it must be a number or {_INFINITE!r}")
        if not isinstance(assuming, list):
            raise GuaranteeError(f"assuming is {assuming!r}; it must be a list of sentences")
        return cls(
            read_code(Notion, fields["notion"], "notion"),
            math.inf if epsilon == _INFINITE else epsilon,
            fields["delta"],
            read_code(Neighbours, fields["neighbours"], "neighbours"),
            Unit.from_dict(fields["unit"]),
            read_code(Against, fields["against"], "against"),
            tuple(assuming),
        )


_KINDS: dict[str, type] = {
    "notion": Notion,
    "neighbours": Neighbours,
    "unit": Unit,
    "against": Against,
    "assuming": tuple,
}
_FIELDS = Promise.__dataclass_fields__


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise GuaranteeError(f"the {name} of a promise is {value!r}; it must be a number")
    try:
        # Rounded up where no float is the number: a promise never rounds in its own favour.
        near = float(value)
        return float_above(Fraction(value)) if isinstance(value, Rational) else near
    except OverflowError as error:
        raise GuaranteeError(f"the {name} of a promise is larger than any float") from error
