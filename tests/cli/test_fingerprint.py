"""When equal answers are taken to be the same people's, and when they may be equal by chance."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sottovoce.collect.fingerprint import CERTAIN, Fingerprint


def chance_of_the_counts(answers: list[int]) -> Fraction:
    """That others who answer independently have the same counts, at the likeliest fractions."""
    n, counts = len(answers), np.unique(answers, return_counts=True)[1].tolist()
    orders = math.factorial(n) // math.prod(math.factorial(c) for c in counts)
    return orders * math.prod(Fraction(c, n) ** c for c in counts)


@pytest.mark.parametrize(
    ("answers", "certain"),
    [
        (list(range(13)), False),  # 1 in 48,500, though 13^13 sequences are possible
        ([k // 2 for k in range(26)], False),
        ([*range(13), 0], False),
        (list(range(40)), True),
        ([k // 20 for k in range(400)], True),
        ([k * 7 % 13 for k in range(26)], True),  # twice around: not in the order of the values
    ],
)
def test_sorted_answers_are_certain_only_if_their_counts_are(answers, certain) -> None:
    told_by_counts = chance_of_the_counts(answers) <= 2**-CERTAIN
    fingerprint = Fingerprint(bytes(32), ["a"])
    fingerprint.add([np.array(answers, np.uint64)])
    assert fingerprint.content().certain == certain
    assert certain == told_by_counts or answers != sorted(answers)


@pytest.mark.parametrize("cut", [1, 3, 7, 64])
def test_how_answers_come_in_chunks_does_not_matter(cut: int) -> None:
    few = np.repeat(np.array([5, 6, 5, 7], np.uint64), [20, 3, 1, 11])
    many = np.repeat(np.arange(400, dtype=np.uint64), np.arange(400) % 4)
    for answers in (few, many):
        whole, parts = (Fingerprint(bytes(32), ["a"]) for _ in range(2))
        whole.add([answers])
        for start in range(0, answers.size, cut):
            parts.add([answers[start : start + cut]])
        assert whole.content() == parts.content()
        assert whole.content().certain == (answers is many)
        if answers is few:
            lengths = sorted(length for _, length in whole._runs.elements())
            assert lengths == sorted(length for _, length in parts._runs.elements()) == [1, 3, 20]
