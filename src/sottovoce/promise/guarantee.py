"""What is promised, to whom, against whom, and assuming what.

A guarantee is a tuple of promises, never a bare number. Promises add up only when they speak of
the same thing; everything else is refused.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import Any

from ..checks import float_above, rounded_up
from ..errors import GuaranteeError, ParameterError

LDP = "local differential privacy"
DP = "differential privacy"
LIP = "localised information privacy"
ADDS_UP = frozenset({LDP, DP})

ANY_CHANGE = "any two answers"
ONE_ANSWER = "one answer of one person"
WHOEVER_SEES = "whoever sees the report"
OWN_DEVICE = (
    "the participant's own side randomises, with the system's randomness, and sends each report "
    "counted here once and nothing else about the answer"
)

WHO_ANSWERED = "who gave no answer is public knowledge, as the study declares"


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise.

    Attributes
    ----------
    notion : str
        The definition of privacy, for example "local differential privacy".
    epsilon, delta : float
        Its parameters; `delta` is 0 for a pure promise.
    neighbours : str
        Which inputs cannot be told apart.
    unit : str
        What is protected.
    against : str
        Who may look.
    assuming : tuple of str
        What must be true for the promise to hold.
    """

    notion: str
    epsilon: float
    delta: float = 0.0
    neighbours: str = ANY_CHANGE
    unit: str = ONE_ANSWER
    against: str = WHOEVER_SEES
    assuming: tuple[str, ...] = (OWN_DEVICE,)

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0 and 0 <= self.delta <= 1):
            raise GuaranteeError(
                f"a promise with epsilon={self.epsilon!r} and delta={self.delta!r} means nothing; "
                "epsilon must be at least 0 and delta between 0 and 1"
            )

    @property
    def subject(self) -> tuple[str, str, str, str]:
        """What the promise speaks of; only promises with the same subject add up."""
        return (self.notion, self.neighbours, self.unit, self.against)

    @property
    def ratio(self) -> float:
        """How many times as likely anything seen may be under one input as under another."""
        return math.exp(self.epsilon) if self.epsilon < 700 else math.inf

    @property
    def belief(self) -> int:
        """Who held both for equally likely ends at most so many per cent sure; rounded up."""
        return math.ceil(100 / (1 + 1 / self.ratio))

    def words(self, width: int = 79) -> str:
        """The promise in plain words, in lines of at most `width` characters."""
        ratio, belief = self.ratio, self.belief
        delta = f", delta = {rounded_up(self.delta, 6)}" if self.delta else ""
        unless = f", except with probability {rounded_up(self.delta, 6)}" if self.delta else ""
        parts = [
            f"epsilon = {rounded_up(self.epsilon, 6)}{delta}: {self.notion}",
            f"Protected: {self.unit}, against {self.against}.",
            f"Meaning: for {self.neighbours}, anything seen is at most "
            f"{rounded_up(ratio, 3)} times as likely under one as under the other. Someone who "
            f"held both for equally likely ends at most {belief}% sure of one{unless}.",
            *(f"Assuming: {assumption}." for assumption in self.assuming),
        ]
        if self.notion == LIP:
            times = rounded_up(ratio, 3)
            parts[2] = (
                f"Meaning: whatever is seen, {self.neighbours} stays between 1/{times} and {times} "
                "times as likely as before, for someone who believed what is assumed here."
            )
        return "\n".join(textwrap.fill(part, width, subsequent_indent="  ") for part in parts)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "notion": self.notion,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "unit": self.unit,
            "against": self.against,
            "assuming": list(self.assuming),
        }


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Promises that hold together; printing it says them in plain words.

    Attributes
    ----------
    promises : tuple of Promise
        Empty when nothing is promised.
    reason : str
        Why nothing is promised.

    Examples
    --------
    >>> once = Guarantee((Promise(LDP, 0.5),))
    >>> (once + once).epsilon
    1.0
    """

    promises: tuple[Promise, ...]
    reason: str = ""

    @classmethod
    def none(cls, reason: str) -> Guarantee:
        """No promise at all, and why."""
        return cls((), reason)

    @property
    def epsilon(self) -> float:
        """The epsilon of the only promise; refused when there is not exactly one."""
        return self._only().epsilon

    @property
    def delta(self) -> float:
        """The delta of the only promise; refused when there is not exactly one."""
        return self._only().delta

    def _only(self) -> Promise:
        if len(self.promises) != 1:
            raise GuaranteeError(
                f"this guarantee makes {len(self.promises)} promises, so it has no single epsilon; "
                f"look at .promises{f' ({self.reason})' if self.reason else ''}"
            )
        return self.promises[0]

    def __add__(self, other: Guarantee) -> Guarantee:
        """What is promised to someone whose answer is released under both (basic composition).

        A promise under a prior does not add up; it is left out where another one remains.
        """
        if not isinstance(other, Guarantee):
            return NotImplemented
        for side in (self, other):
            if not side.promises:
                return Guarantee.none(side.reason)
        mine, theirs = (
            {p.subject: p for p in side.promises if p.notion != LIP}
            or {p.subject: p for p in side.promises}
            for side in (self, other)
        )
        if mine.keys() != theirs.keys():
            strange = sorted(mine.keys() ^ theirs.keys())[0]
            raise GuaranteeError(
                f"these guarantees speak of different things and do not add up: only one of them "
                f"promises {strange[0]} for {strange[2]} against {strange[3]}; "
                "state them side by side"
            )
        return Guarantee(tuple(_added(mine[subject], theirs[subject]) for subject in mine))

    def times(self, releases: int) -> Guarantee:
        """What is promised to someone whose answer is released that often with fresh noise."""
        if isinstance(releases, bool) or not isinstance(releases, int) or releases < 1:
            raise ParameterError(f"releases is {releases!r}; it must be a whole number from 1 on")
        if releases == 1 or not self.promises:
            return self
        for promise in self.promises:
            if promise.notion != LIP:
                _added(promise, promise)  # refuses what does not add up
        return Guarantee(tuple(self._repeated(promise, releases) for promise in self.promises))

    def _repeated(self, promise: Promise, k: int) -> Promise:
        """k ε; under a prior min((2k − 1) ε, k ε_LDP).

        There k reports are at most e^kε times as likely, and on average at least e^−(k−1)ε times.
        """
        epsilon = _times_up(promise.epsilon, 2 * k - 1 if promise.notion == LIP else k)
        for free in self.promises:
            same = (free.unit, free.against) == (promise.unit, promise.against)
            if promise.notion == LIP and free.notion == LDP and not free.delta and same:
                epsilon = min(epsilon, _times_up(free.epsilon, k))
        return replace(promise, epsilon=epsilon, delta=min(1.0, _times_up(promise.delta, k)))

    def about(self, unit: str, neighbours: str) -> Guarantee:
        """The same promises about a larger unit, for example all answers of one person."""
        promises = (replace(p, unit=unit, neighbours=neighbours) for p in self.promises)
        return Guarantee(tuple(promises), self.reason)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "promises": [promise.as_dict() for promise in self.promises],
            "reason": self.reason,
            "words": str(self),
        }

    def words(self, width: int = 79) -> str:
        """All promises in plain words."""
        if not self.promises:
            return f"No privacy is promised: {self.reason}."
        return "\n\n".join(promise.words(width) for promise in self.promises)

    def __str__(self) -> str:
        return self.words()

    def _repr_html_(self) -> str:
        """For notebooks: the same words, one paragraph per promise."""
        paragraphs = [
            "<br>".join(escape(line) for line in words.words(10_000).splitlines())
            for words in self.promises
        ] or [escape(self.words())]
        return "".join(f"<p style='text-align:left'>{text}</p>" for text in paragraphs)


def composed(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The guarantee of several releases about the same unit."""
    total: Guarantee | None = None
    for guarantee in guarantees:
        total = guarantee if total is None else total + guarantee
    if total is None:
        raise GuaranteeError("there is nothing to compose: no guarantee was given")
    return total


def _added(a: Promise, b: Promise) -> Promise:
    if a.notion not in ADDS_UP:
        raise GuaranteeError(f"promises of {a.notion} do not add up; state them side by side")
    return replace(
        a,
        epsilon=_sum_up(a.epsilon, b.epsilon),
        delta=min(1.0, _sum_up(a.delta, b.delta)),
        assuming=tuple(dict.fromkeys(a.assuming + b.assuming)),
    )


def _sum_up(a: float, b: float) -> float:
    """a + b, rounded up where it is not exact: a promise never rounds in its own favour."""
    if math.isinf(a) or math.isinf(b):
        return math.inf
    return float_above(Fraction(a) + Fraction(b))


def _times_up(a: float, times: int) -> float:
    """a * times, rounded up where it is not exact."""
    return math.inf if math.isinf(a) else float_above(Fraction(a) * times)
