"""What a record's report is, written down in fractions from the definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

HALF = Fraction(1, 2)


def attribute_law(value: int, size: int, q: Fraction) -> dict[tuple[int, ...], Fraction]:
    """P(bits | value): the true value's bit is a coin, every other is 1 with q."""
    return {
        bits: prod(
            (HALF if v == value else q if bit else 1 - q for v, bit in enumerate(bits)),
            start=Fraction(1),
        )
        for bits in product((0, 1), repeat=size)
    }


def record_law(
    values: tuple[int, ...], sizes: tuple[int, ...], flips: tuple[Fraction, ...]
) -> dict[tuple[int, ...], Fraction]:
    """P(all bits | record) for one division of the budget."""
    laws = [attribute_law(*one) for one in zip(values, sizes, flips, strict=True)]
    return {
        sum(parts, ()): prod(
            (law[p] for law, p in zip(laws, parts, strict=True)), start=Fraction(1)
        )
        for parts in product(*laws)
    }


def worst_ratio(one: dict, other: dict) -> Fraction:
    return max(one[y] / other[y] for y in one)


def mixture(laws: list[dict], weights: list[Fraction]) -> dict:
    return {y: sum(w * law[y] for w, law in zip(weights, laws, strict=True)) for y in laws[0]}
