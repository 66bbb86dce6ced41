"""Variances over strata against every possible draw of a few people and their reports."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from sottovoce import GRR, Sampled

MECHANISM = GRR(2, epsilon=1.0)


def enumerated(answers: list[int], rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the mean score of those who report, given that anybody does."""
    scores = [MECHANISM.debias(np.eye(2, dtype=np.int64)[y], 1) for y in range(2)]
    law = MECHANISM.channel().matrix
    n, total, mean, second = len(answers), 0.0, np.zeros(2), np.zeros((2, 2))
    for size in range(1, n + 1):
        for who in combinations(range(n), size):
            drawn = rate**size * (1 - rate) ** (n - size)
            for reports in product(range(2), repeat=size):
                chance = drawn * np.prod(
                    [law[answers[j], y] for j, y in zip(who, reports, strict=True)]
                )
                value = np.mean([scores[y] for y in reports], axis=0)
                total += chance
                mean += chance * value
                second += chance * np.outer(value, value)
    mean, second = mean / total, second / total
    return mean, second - np.outer(mean, mean)


@pytest.mark.parametrize("answers", [[0, 1], [0, 0, 1], [0, 1, 1, 1], [0, 0, 0]], ids=str)
@pytest.mark.parametrize("rate", [0.3, 0.7, 1.0])
def test_the_mean_of_few_people_has_its_exact_covariance(answers: list[int], rate: float) -> None:
    """Who reports is a draw without replacement: n / (n − 1) of the answers' own variance.

    For two or three people this factor is 2 and 1.5, which no tolerance could hide.
    """
    fractions = np.bincount(answers, minlength=2) / len(answers)
    mean, covariance = enumerated(answers, rate)
    s = Sampled(MECHANISM, rate=rate)
    assert mean == pytest.approx(fractions)
    for method in ("hajek", "post-stratified"):
        stated = s.covariance(fractions, len(answers), method=method)
        assert stated == pytest.approx(covariance, rel=1e-9)
        assert s.variance(fractions, len(answers), method=method) == pytest.approx(
            np.diag(covariance), rel=1e-9
        )


def test_strata_of_few_people_add_up() -> None:
    groups, rates = [[0, 1], [0, 0, 1]], [0.4, 0.8]
    parts = [enumerated(answers, rate)[1] for answers, rate in zip(groups, rates, strict=True)]
    whole = (2 / 5) ** 2 * parts[0] + (3 / 5) ** 2 * parts[1]
    rows = [np.bincount(answers, minlength=2) / len(answers) for answers in groups]
    stated = Sampled(MECHANISM, rate=rates).covariance(rows, [2, 3], method="post-stratified")
    assert stated == pytest.approx(whole, rel=1e-9)
