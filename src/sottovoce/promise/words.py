"""Promises in plain words. Everything here is rendered last and decides nothing.

Pure     P(S) ≤ e^ε Q(S) for every event S, so the posterior odds of two inputs that were equally
         likely are at most e^ε: nobody is more than e^ε / (e^ε + 1) sure of either
Delta    P(S) ≤ e^ε Q(S) + δ. It bounds the probability of guessing right by (e^ε + δ) / (e^ε + 1),
         and does NOT imply that a belief is bounded except with probability δ
Prior    e^−ε ≤ P(x | seen) / P(x) ≤ e^ε under the stated prior
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..checks import printable, rounded_up
from .types import LIP, Against, Neighbours, Notion, Protected, Unit

if TYPE_CHECKING:
    from .guarantee import Guarantee
    from .promise import Promise

NOTIONS = {
    Notion.LDP: "local differential privacy",
    Notion.DP: "differential privacy",
    Notion.LIP: "localised information privacy",
}
AGAINST = {
    Against.REPORTS: "anyone who sees the reports",
    Against.SHUFFLED: "anyone who sees the shuffled reports",
    Against.RESULT: "anyone who sees the result",
    Against.AGGREGATOR: "the aggregator and anyone else who sees the result",
    Against.S1: "the server S1, which sees who reports which items, without the result",
    Against.S2: "the server S2, which adds up the sums, without anyone's help",
    Against.SENDERS: "anyone who sees the result, and also those who see who reports which items",
    Against.HELPERS: "all helper servers but one together, without the result",
    Against.COALITION: "users who work together, without the result",
    Against.PARTIES: "the curator, other parties who work with it, and anyone who sees the result",
}
_NAMED = ("level", "attribute", "group")  # what promises of one term may differ in
_MOST_NAMED = 4
_UNITS = {
    Protected.ANSWER: "one answer of {}",
    Protected.RECORD: "all reported answers of {}, taken together",
    Protected.STUDY: "all answers to the study given by {}",
    Protected.CONTRIBUTION: "everything contributed by {}",
    Protected.PARTICIPATION: "whether {} takes part, and with what",
    Protected.PARTY_RECORD: "all that one party holds about {}",
}
_EACH = {
    Protected.ANSWER: "each answer",
    Protected.RECORD: "all reported answers of a person together",
    Protected.STUDY: "all answers of a person to the study",
    Protected.CONTRIBUTION: "everything that a person contributes",
    Protected.PARTICIPATION: "whether a person takes part, and with what",
    Protected.PARTY_RECORD: "all that one party holds about a person",
}
_NOUNS = {
    Protected.ANSWER: "answers",
    Protected.RECORD: "records",
    Protected.STUDY: "ways to answer",
    Protected.CONTRIBUTION: "contributions",
    Protected.PARTICIPATION: "ways to take part",
    Protected.PARTY_RECORD: "records",
}


def promise_words(promise: Promise, width: int) -> str:
    """All of a promise, one paragraph per aspect."""
    delta = f", delta = {rounded_up(promise.delta, 6)}" if promise.delta else ""
    first = f"epsilon = {rounded_up(promise.epsilon, 6)}{delta}: {promise.notion}"
    return filled(_aspects(promise, first), width)


def filled(paragraphs: Sequence[str], width: int) -> str:
    """Paragraphs in lines of at most `width` characters."""
    return "\n".join(textwrap.fill(part, width, subsequent_indent="  ") for part in paragraphs)


def levels_words(shared: Promise) -> list[str]:
    """What `common_promise` says beside a table of its levels, one paragraph per aspect."""
    return _aspects(shared, f"Each line: {shared.notion}.", "that level", "so many", "so")


def level_cells(promise: Promise) -> tuple[str, str, str]:
    """A level in that table: epsilon, the ratio and the belief, each rounded up."""
    sure = f"{promise.guess} %" if promise.guess < 100 else "no bound"
    return rounded_up(promise.epsilon, 6), rounded_up(promise.ratio, 3), sure


def _aspects(
    promise: Promise, first: str, level: str = "", ratio: str = "", sure: str = ""
) -> list[str]:
    return [
        first,
        f"Protected: {unit_words(promise.unit, level)}, against {promise.against}.",
        f"Meaning: {meaning(promise, ratio, sure)}",
        *(f"Assuming: {printable(sentence)}." for sentence in promise.assuming),
    ]


def guarantee_line(promises: Sequence[Promise]) -> str:
    """Several promises in one line; levels are named beside their epsilons.

    Promises that differ in level, attribute or group alone become one term, and terms against the
    same observer are listed before it.
    """
    terms: dict[Against, dict[object, list[Promise]]] = {}
    for promise in promises:
        unit = promise.unit
        names = tuple(name for name in _NAMED if getattr(unit, name))
        alike = (promise.notion, promise.neighbours, unit.protects, unit.answers, names)
        terms.setdefault(promise.against, {}).setdefault(alike, []).append(promise)
    return "; ".join(
        f"{', '.join(map(_term, by_kind.values()))}, against {against}"
        for against, by_kind in terms.items()
    )


def _term(alike: Sequence[Promise]) -> str:
    """One promise, or several that differ only in whom or which answer they are about."""
    first, *others = alike
    if not others:
        level = "" if first.unit.level is None else f" at the level {first.unit.level!r}"
        return f"ε = {_strength(first)} for {_what(first.unit)}{level}"
    varies = [name for name in _NAMED if len({getattr(p.unit, name) for p in alike}) > 1]
    nobody: dict[str, Any] = dict.fromkeys(varies)
    common = replace(first.unit, **nobody)
    if len(alike) > _MOST_NAMED:
        return f"ε = {_range(alike, varies)} for {_what(common)}"
    each = [
        f"{_strength(p)} ({' / '.join(printable(getattr(p.unit, name)) for name in varies)})"
        for p in alike
    ]
    return f"ε = {', '.join(each)} for {_what(common)}"


def _range(alike: Sequence[Promise], varies: Sequence[str]) -> str:
    """The smallest to the largest epsilon, and the largest delta, which may be another one's."""
    ends = [rounded_up(pick(p.epsilon for p in alike), 6) for pick in (min, max)]
    deltas = {promise.delta for promise in alike}
    up_to = "= " if len(deltas) == 1 else "up to "
    delta = f", δ {up_to}{rounded_up(max(deltas), 3)}" if any(deltas) else ""
    differ = len({*ends}) > 1 or len(deltas) > 1
    by = f", by {' and '.join(varies)}," if differ else ""
    return f"{' to '.join(dict.fromkeys(ends))}{delta}{_prior(alike[0])}{by}"


def _strength(promise: Promise) -> str:
    """Epsilon, and delta where there is one."""
    delta = f", δ = {rounded_up(promise.delta, 3)}" if promise.delta else ""
    return f"{rounded_up(promise.epsilon, 6)}{delta}{_prior(promise)}"


def _prior(promise: Promise) -> str:
    return " under the stated prior" if promise.notion is LIP else ""


def _what(unit: Unit) -> str:
    """What is protected, without the level."""
    if unit.protects is Protected.PARTY_RECORD and unit.group is not None:
        return f"all that {unit.group!r} holds about a person"
    what = _EACH[unit.protects]
    if unit.attribute is not None:
        what = f"each answer to {unit.attribute!r}"
    elif unit.answers is not None:
        what = _reported(unit.answers, "a person", " together")
    return f"{what}{_group(unit)}"


def common_promise(guarantee: Guarantee) -> Promise | None:
    """The promise that all levels make, apart from epsilon and the level itself; or None."""
    promises = guarantee.promises
    levels = [promise.unit.level for promise in promises]
    if len(promises) < 2 or None in levels or len(set(levels)) < len(levels):
        return None
    if any(promise.delta for promise in promises):
        return None
    first, *others = (replace(p, epsilon=0.0, unit=replace(p.unit, level=None)) for p in promises)
    return first if all(other == first for other in others) else None


def meaning(promise: Promise, ratio: str = "", sure: str = "") -> str:
    """What the numbers imply; `ratio` and `sure` may stand for them where a table has several."""
    ratio = ratio or rounded_up(promise.ratio, 3)
    if promise.notion is LIP:
        return (
            f"whatever is seen, any answer stays between 1/{ratio} and {ratio} times as likely as "
            "before, for someone who believed beforehand what is assumed here."
        )
    compared = neighbours_words(promise)
    bounded = sure or promise.guess < 100
    beforehand = "Someone who considered both equally likely beforehand"
    if not promise.delta:
        end = f"ends up at most {sure or f'{promise.guess}%'} sure of either."
        return (
            f"for {compared}, anything seen is at most {ratio} times as likely under one as under "
            f"the other. {beforehand} {end if bounded else 'may become certain of either.'}"
        )
    end = f"guesses which is true correctly with a probability of at most {promise.guess}%."
    return (
        f"for {compared}, any event is at most {ratio} times as likely under one as under the "
        f"other, plus a probability of {rounded_up(promise.delta, 6)}. {beforehand} "
        f"{end if bounded else 'may always guess which is true.'}"
    )


def unit_words(unit: Unit, level: str = "") -> str:
    """What is protected, and of whom; `level` may stand for a level that a table names."""
    what = _UNITS[unit.protects]
    if unit.attribute is not None:
        what = f"the answer to {_escape(unit.attribute)} of {{}}"
    elif unit.answers is not None:
        what = _reported(unit.answers, "{}", ", taken together")
    if unit.protects is Protected.PARTY_RECORD and unit.group is not None:
        what, unit = f"all that {_escape(unit.group)} holds about {{}}", replace(unit, group=None)
    if unit.level is not None:
        everywhere = " wherever levels are offered" if unit.protects is Protected.STUDY else ""
        level = f"the level {unit.level!r}{everywhere}"
    chose = f" who chose {level}" if level else ""
    return what.format(f"one person{_group(unit)}{chose}")


def neighbours_words(promise: Promise) -> str:
    """Which two inputs cannot be distinguished by more than epsilon."""
    if promise.neighbours is Neighbours.ADD_REMOVE:
        return "the data with one person and the data without them"
    if promise.neighbours is Neighbours.UNSTATED:
        return "any two neighbouring data sets, as one round defines them"
    return f"any two {_NOUNS[promise.unit.protects]} of one person, with everyone else's unchanged"


def _reported(answers: int, whom: str, together: str) -> str:
    if answers == 1:
        return f"the one reported answer of {whom}"
    many = "both" if answers == 2 else f"all {answers}"
    return f"{many} reported answers of {whom}{together}"


def _escape(name: str) -> str:
    """A name between quotes, inside a pattern."""
    return repr(name).replace("{", "{{").replace("}", "}}")


def _group(unit: Unit) -> str:
    return "" if unit.group is None else f" in {unit.group!r}"
