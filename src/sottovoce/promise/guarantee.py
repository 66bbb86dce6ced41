"""Promises that hold together, and what they become when releases are composed.

A guarantee is a tuple of promises, never a bare number. Promises add up only when they are about
the same thing; everything else is refused, and no promise is ever lost.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from html import escape
from typing import Any

from ..checks import checked_count, float_above, printable
from ..errors import GuaranteeError
from .assumptions import SAME_LEVEL
from .promise import Promise
from .types import LDP, LIP, Against, Neighbours, Notion, Protected, Unit, read_fields
from .words import guarantee_line

Subject = tuple[Notion, Neighbours, Unit, Against]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Promises that hold together; printing them states them in plain words.

    Two promises about the same subject are refused: either they concern different people, and then
    their units must say so, or one of them is redundant.

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

    def __post_init__(self) -> None:
        promises, reason = self.promises, self.reason
        if not isinstance(promises, tuple) or not all(isinstance(p, Promise) for p in promises):
            raise GuaranteeError(f"promises are {promises!r}; a tuple of promises is needed")
        if not isinstance(reason, str):
            raise GuaranteeError(f"the reason is {reason!r}; it must be a sentence")
        for subject, count in Counter(promise.subject for promise in promises).items():
            if count > 1:
                raise GuaranteeError(
                    f"two promises are about the same thing: {_name(subject)}; if they are made to "
                    "different people, say so in their units: unit.in_group(…), at_level(…)"
                )

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

        A promise under a prior does not add up; it is left out where another one remains about
        the same unit against the same observer, and refused elsewhere.
        """
        if not isinstance(other, Guarantee):
            return NotImplemented
        for side in (self, other):
            if not side.promises:
                return Guarantee.none(side.reason)
        mine, theirs = self._additive(), other._additive()
        for subject in (*mine, *theirs):
            if subject not in mine or subject not in theirs:
                raise GuaranteeError(
                    "these guarantees are about different things and do not add up: only one of "
                    f"them promises {_name(subject)}; state them side by side"
                )
        return Guarantee(tuple(_add(mine[subject], theirs[subject]) for subject in mine))

    def _additive(self) -> dict[Subject, Promise]:
        """All promises by subject, without those under a prior that another one covers."""
        covered = {(p.unit, p.against) for p in self.promises if p.notion.adds_up}
        return {
            p.subject: p
            for p in self.promises
            if p.notion.adds_up or (p.unit, p.against) not in covered
        }

    def times(self, releases: int) -> Guarantee:
        """What is promised to someone whose answer is released this many times with fresh noise."""
        k = checked_count(releases, "releases", 1)
        if k == 1 or not self.promises:
            return self
        return Guarantee(tuple(self._repeat(promise, k) for promise in self.promises))

    def _repeat(self, promise: Promise, k: int) -> Promise:
        """k ε; under a prior min((2k − 1) ε, k ε_LDP).

        There k reports are at most e^kε times as likely, and on average at least e^−(k−1)ε times.
        """
        epsilon = _times_up(promise.epsilon, 2 * k - 1 if promise.notion is LIP else k)
        for free in self.promises:
            same = (free.unit, free.against) == (promise.unit, promise.against)
            if promise.notion is LIP and free.notion is LDP and not free.delta and same:
                epsilon = min(epsilon, _times_up(free.epsilon, k))
        return replace(
            promise,
            epsilon=epsilon,
            delta=min(1.0, _times_up(promise.delta, k)),
            assuming=_every_time(promise.unit, promise.assuming),
        )

    def about(self, unit: Unit) -> Guarantee:
        """The same promises about a larger unit, for example all answers to a study."""
        return Guarantee(tuple(replace(p, unit=unit) for p in self.promises), self.reason)

    def in_group(self, name: str) -> Guarantee:
        """The same promises, made to the people of one group."""
        promises = (replace(p, unit=p.unit.in_group(name)) for p in self.promises)
        return Guarantee(tuple(promises), self.reason)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "promises": [promise.as_dict() for promise in self.promises],
            "reason": self.reason,
            "words": str(self),
        }

    @classmethod
    def from_dict(cls, data: object) -> Guarantee:
        """The guarantee that `as_dict` wrote; words are not read, since they decide nothing."""
        fields = read_fields(data, "guarantee", ("promises", "reason"), frozenset({"words"}))
        if not isinstance(fields["promises"], list):
            raise GuaranteeError(f"promises are {fields['promises']!r}; a list is expected")
        return cls(tuple(map(Promise.from_dict, fields["promises"])), fields["reason"])

    def words(self, width: int = 79) -> str:
        """All promises in plain words."""
        if not self.promises:
            return f"No privacy is promised: {printable(self.reason)}."
        return "\n\n".join(promise.words(width) for promise in self.promises)

    def line(self) -> str:
        """All promises in one line, without their assumptions.

        Examples
        --------
        >>> from sottovoce.promise import Unit
        >>> levels = {"strong": 0.5, "normal": 2.0}
        >>> promises = (Promise(LDP, e, unit=Unit(level=name)) for name, e in levels.items())
        >>> print(Guarantee(tuple(promises)).line())
        ε = 0.5 (strong), 2 (normal) for each answer, against anyone who sees the reports
        """
        if not self.promises:
            return f"no privacy is promised: {printable(self.reason)}"
        return guarantee_line(self.promises)

    def lines(self) -> tuple[str, ...]:
        """Every promise in one line, without its assumptions."""
        return tuple(promise.line() for promise in self.promises) or (self.line(),)

    def __str__(self) -> str:
        return self.words()

    def _repr_html_(self) -> str:
        """For notebooks: the same words, one paragraph per promise."""
        paragraphs = [
            "<br>".join(escape(line) for line in promise.words(10_000).splitlines())
            for promise in self.promises
        ] or [escape(self.words())]
        return "".join(f"<p style='text-align:left'>{text}</p>" for text in paragraphs)


def composed(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The guarantee of several releases about the same unit."""
    several = list(guarantees)
    if not several:
        raise GuaranteeError("there is nothing to compose: no guarantee was given")
    return reduce(operator.add, several)


def _add(a: Promise, b: Promise) -> Promise:
    if not a.notion.adds_up:
        raise GuaranteeError(f"promises of {a.notion} do not add up; state them side by side")
    if a.neighbours is Neighbours.UNSTATED:
        raise GuaranteeError(
            "these promises do not say which data sets are neighbours, so they may be about "
            "different ones; take many rounds of one with times(…), and state others side by side"
        )
    return replace(
        a,
        epsilon=_sum_up(a.epsilon, b.epsilon),
        delta=min(1.0, _sum_up(a.delta, b.delta)),
        assuming=_every_time(a.unit, a.assuming + b.assuming),
    )


def _every_time(unit: Unit, assuming: tuple[str, ...]) -> tuple[str, ...]:
    """What several releases assume together; people may choose another level for each of them.

    The unit of a whole study says so itself.
    """
    chosen = unit.level is not None and unit.protects is not Protected.STUDY
    return tuple(dict.fromkeys((*assuming, *(SAME_LEVEL,) * chosen)))


def _sum_up(a: float, b: float) -> float:
    """a + b, rounded up where it is not exact: a promise never rounds in its own favour."""
    if math.isinf(a) or math.isinf(b):
        return math.inf
    return float_above(Fraction(a) + Fraction(b))


def _times_up(a: float, times: int) -> float:
    """a * times, rounded up where it is not exact."""
    return math.inf if math.isinf(a) else float_above(Fraction(a) * times)


def _name(subject: Subject) -> str:
    notion, _, unit, against = subject
    return f"{notion} for {unit} against {against}"
