"""Sampled counts in 60-digit arithmetic and by enumeration; nothing in common with the accounts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from functools import cache
from itertools import combinations, product

from mpmath import binomial, ceil, exp, mp, mpf

mp.dps = 60

Law = dict[Hashable, float]


@cache
def masses(n: int, p: float) -> list[mpf]:
    p = mpf(p)
    return [binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def remove(epsilon: float, c: int, p: float) -> mpf:
    first, second = masses(c, p), [*masses(c - 1, p), mpf(0)]
    return sum(max(mpf(0), a - exp(mpf(epsilon)) * b) for a, b in zip(first, second, strict=True))


def add(epsilon: float, c: int, p: float) -> mpf:
    first, second = masses(c - 1, p), masses(c, p)[:-1]
    return sum(max(mpf(0), a - exp(mpf(epsilon)) * b) for a, b in zip(first, second, strict=True))


def substitute(epsilon: float, c: int, p: float) -> mpf:
    """The maths page's sum of differences of distribution functions; 60 digits can afford it."""
    power = exp(mpf(epsilon))
    more, fewer = masses(c, p), [*masses(c - 1, p), mpf(0)]
    sums = []
    for law in (fewer, more):
        total, steps = mpf(0), []
        for mass in law:
            total += mass
            steps.append(total)
        sums.append(steps)
    delta = mpf(0)
    for k in range(c + 1):
        t = int(ceil(c * (1 - power * (c - k) / c))) - 1
        if t >= 0:
            delta += more[k] * sums[0][min(t, c)] - power * fewer[k] * sums[1][min(t, c)]
    return delta


def hockey_stick(first: Law, second: Law, epsilon: float) -> float:
    power = float(exp(mpf(epsilon)))
    return sum(max(0.0, mass - power * second.get(key, 0.0)) for key, mass in first.items())


def two_stage_person(
    item: int | None, rate: float, items: int, reported: int, gamma: float
) -> Iterator[tuple[frozenset[int], int | None, float]]:
    """Everything one person can do: the reported set, the item counted, and its probability."""
    sets = [frozenset(chosen) for chosen in combinations(range(items), reported)]
    for chosen in sets:
        yield chosen, None, (1 - rate if item is not None else 1.0) / len(sets)
    if item is not None:
        weights = [gamma if item in chosen else 1.0 for chosen in sets]
        for chosen, weight in zip(sets, weights, strict=True):
            counted = item if item in chosen else None
            yield chosen, counted, rate * weight / sum(weights)


def two_stage_views(
    people: Iterable[int | None], rate: float, items: int, reported: int, gamma: float
) -> dict[str, Law]:
    """Exact laws of what S1 with the result, S2, and S2 without m_j see."""
    everything = [list(two_stage_person(x, rate, items, reported, gamma)) for x in people]
    views: dict[str, Law] = {name: defaultdict(float) for name in ("senders", "s2", "sums")}
    for outcome in product(*everything):
        chance = 1.0
        sums, reporters = [0] * items, [0] * items
        for chosen, counted, probability in outcome:
            chance *= probability
            if counted is not None:
                sums[counted] += 1
            for j in chosen:
                reporters[j] += 1
        views["senders"][tuple(chosen for chosen, _, _ in outcome), tuple(sums)] += chance
        views["s2"][tuple(reporters), tuple(sums)] += chance
        views["sums"][tuple(sums)] += chance
    return views
