"""The same quantities by enumeration: slow, and with nothing in common with the accounts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import mpmath

Law = dict[tuple[int, ...], float]


def binomial(n: int, p: float) -> list[float]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def hockey_stick(first: Law, second: Law, epsilon: float) -> float:
    power = math.exp(epsilon)
    return sum(max(0.0, first[key] - power * second.get(key, 0.0)) for key in first)


def grr_rows(d: int, epsilon: float) -> list[list[float]]:
    total = math.exp(epsilon) + d - 1
    return [[(math.exp(epsilon) if y == x else 1) / total for y in range(d)] for x in range(d)]


def counts(n: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Every way in which n people may hold so many values."""
    if kinds == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in counts(n - first, kinds - 1):
            yield (first, *rest)


def joined(law: Law, row: list[float]) -> Law:
    """The histogram's law after one more report."""
    made: Law = defaultdict(float)
    for seen, probability in law.items():
        for y, chance in enumerate(row):
            made[(*seen[:y], seen[y] + 1, *seen[y + 1 :])] += probability * chance
    return made


def shuffled_grr(d: int, n: int, local: float, epsilon: float) -> float:
    """δ of shuffled GRR: the worst over everything that the others may answer."""
    rows, worst = grr_rows(d, local), 0.0
    for others in counts(n - 1, d):
        if list(others[2:]) != sorted(others[2:], reverse=True):
            continue  # the values beside the pair are alike
        law: Law = {(0,) * d: 1.0}
        for value, people in enumerate(others):
            for _ in range(people):
                law = joined(law, rows[value])
        worst = max(worst, hockey_stick(joined(law, rows[0]), joined(law, rows[1]), epsilon))
    return worst


def blanket(d: int, n: int, local: float, epsilon: float) -> float:
    """The same when those who told the truth are known and taken away."""
    total, power = math.exp(local) + d - 1, math.exp(epsilon)
    p, q, delta = math.exp(local) / total, 1 / total, 0.0
    for others, weight in enumerate(binomial(n - 1, d * q)):
        m = others + 1
        for t, inside in enumerate(binomial(m, 2 / d)):
            for a, chance in enumerate(binomial(t, 0.5)):
                first, second = q * m + (p - q) * a, q * m + (p - q) * (t - a)
                delta += weight * inside * chance * d / m * max(0.0, first - power * second)
    return delta


def clones(n: int, local: float, epsilon: float, rate: float) -> float:
    """δ when each other person is a clone with this probability."""
    keep, delta = math.exp(local) / (math.exp(local) + 1), 0.0
    for c, weight in enumerate(binomial(n - 1, rate)):
        coin = [0.0, *binomial(c, 0.5), 0.0]
        first = {(a,): keep * coin[a] + (1 - keep) * coin[a + 1] for a in range(c + 2)}
        second = {(a,): (1 - keep) * coin[a] + keep * coin[a + 1] for a in range(c + 2)}
        delta += weight * hockey_stick(first, second, epsilon)
    return delta


def clones_precisely(people: int, local: float, epsilon: float) -> mpmath.mpf:
    """δ of the clones with 60 digits."""
    power, most = mpmath.exp(mpmath.mpf(epsilon)), mpmath.exp(mpmath.mpf(local))
    keep, rate, delta = most / (most + 1), 1 / most, mpmath.mpf(0)
    for c in range(people):
        weight = mpmath.binomial(people - 1, c) * rate**c * (1 - rate) ** (people - 1 - c)
        coin = [0, *(mpmath.binomial(c, a) / mpmath.mpf(2) ** c for a in range(c + 1)), 0]
        for a in range(c + 2):
            first = keep * coin[a] + (1 - keep) * coin[a + 1]
            second = (1 - keep) * coin[a] + keep * coin[a + 1]
            delta += weight * max(mpmath.mpf(0), first - power * second)
    return delta


def only_the_pair(d: int, n: int, local: float, epsilon: float) -> float:
    """A tempting shortcut: count the pair's reports and look at nothing else. It is too small."""
    rows = grr_rows(d, local)
    p, q = rows[0][0], rows[0][1]
    first: Law = defaultdict(float)
    second: Law = defaultdict(float)
    for c, weight in enumerate(binomial(n - 1, 2 * q)):
        for a, chance in enumerate(binomial(c, 0.5)):
            here = weight * chance
            for where, one, other in (
                ((a + 1, c - a), p, q),
                ((a, c - a + 1), q, p),
                ((a, c - a), 1 - p - q, 1 - p - q),
            ):
                first[where] += here * one
                second[where] += here * other
    return hockey_stick(first, second, epsilon)


def repeated(k: int, epsilon: float, total: float) -> Fraction:
    """δ of k rounds of randomised response at ε' = total, by the sum of the theorem."""
    power, bound = Fraction(math.exp(epsilon)), Fraction(math.exp(total))
    terms = (
        math.comb(k, j) * max(Fraction(0), power**j - bound * power ** (k - j))
        for j in range(k + 1)
    )
    return sum(terms, Fraction(0)) / (1 + power) ** k


_BITS = 256


def _short(x: Fraction, up: bool) -> Fraction:
    """Few bits, rounded outwards."""
    if not x:
        return x
    shift = _BITS - x.numerator.bit_length() + x.denominator.bit_length()
    scaled = x * Fraction(2) ** shift
    whole = math.ceil(scaled) if up else math.floor(scaled)
    return Fraction(whole) / Fraction(2) ** shift


def expm1(x: Fraction, *, up: bool) -> Fraction:
    """A bound on e^x − 1 from Taylor's series, 60 digits close; x ≥ 0."""
    halves = max(0, math.ceil(x).bit_length() + 2)
    y = _short(x / 2**halves, up)
    term, total = Fraction(1), Fraction(0)
    for k in range(1, 45):
        term = _short(term * y / k, up)
        total = _short(total + term, up)
        if term < total / 2**_BITS:
            break
    if up:
        total += 2 * term * y
    for _ in range(halves):
        total = _short(total * (total + 2), up)
    return total
