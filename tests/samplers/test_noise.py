"""Integer noise follows its own probabilities; faults of the usual kinds are noticed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sottovoce import testing
from sottovoce.noise import Binomial, DiscreteGaussian, DiscreteLaplace, Law, Polya
from sottovoce.randomness import SYSTEM

from .budget import RejectedError, joined, judge, spend
from .statistics import fit, pair_fit

N = 400_000

CASES: list[Law] = [
    DiscreteLaplace(2),
    DiscreteLaplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(70, 3)),
    DiscreteGaussian(Fraction(1, 2)),
    DiscreteGaussian(3.7),
    DiscreteGaussian(40),
    Binomial(1),
    Binomial(131),
    Binomial(62, Fraction(1, 3)),
    Binomial(7, 0.9),
    Polya(2, 4),
    Polya(Fraction(25, 2), 3),
]
laws = pytest.mark.parametrize("law", CASES, ids=repr)


def p_value(law: Law, drawn: np.ndarray) -> float:
    """The law itself, and pairs of neighbours: above the mean or not, and even or odd."""
    middle, width = round(law.mean), law.reach(1e-15)
    k = np.arange(middle - width, middle + width + 1)
    mass = np.exp(law.log_pmf(k))
    if np.abs(drawn - middle).max() > width:
        return 0.0
    counts = np.bincount(drawn - k[0], minlength=k.size)
    high, odd = float(mass[k > middle].sum()), float(mass[k % 2 == 1].sum())
    above, parity = (drawn > middle).astype(np.int64), drawn % 2
    p_values = [fit(counts, mass / mass.sum())]
    for bits, chance in ((above, high), (parity, odd)):
        if 0.001 < chance < 0.999:
            p_values.append(pair_fit(bits[::2], bits[1::2], chance, chance))
    return joined(p_values)


@laws
def test_noise_follows_its_law(law: Law) -> None:
    drawn = law.draw(N)
    assert drawn.dtype == np.int64
    assert drawn.shape == (N,)
    spend("noise", repr(law), p_value(law, drawn))


@laws
def test_two_per_cent_of_another_number_are_noticed(law: Law) -> None:
    drawn = law.draw(N)
    kept = SYSTEM.below(50, N) > 0
    drawn = np.where(kept, drawn, round(law.mean) + 1)
    with pytest.raises(RejectedError):
        judge(p_value(law, drawn))


@laws
def test_repeated_noise_is_noticed(law: Law) -> None:
    drawn = law.draw(N)
    drawn[1::2] = drawn[::2]
    with pytest.raises(RejectedError):
        judge(p_value(law, drawn))


def test_a_laplace_number_whose_zero_counts_twice_is_noticed() -> None:
    # A sign and a size, without rejecting the second zero.
    size = np.abs(DiscreteLaplace(2).draw(N))
    sign = 2 * SYSTEM.below(2, N).astype(np.int64) - 1
    with pytest.raises(RejectedError):
        judge(p_value(DiscreteLaplace(2), np.where(SYSTEM.below(20, N) == 0, 0, size * sign)))


def test_rounded_gaussian_numbers_are_noticed() -> None:
    # Rounding a real Gaussian is another law: its variance is larger by 1/12.
    uniform = (SYSTEM.below(1 << 32, 12 * N).reshape(12, N) + 0.5) / 2.0**32
    rounded = np.rint((uniform.sum(axis=0) - 6) * 0.5).astype(np.int64)
    with pytest.raises(RejectedError):
        judge(p_value(DiscreteGaussian(Fraction(1, 2)), rounded))


def test_polya_shares_add_up_to_laplace() -> None:
    share = Polya(2, 4)
    with pytest.raises(RejectedError):  # three of four shares do not
        judge(p_value(share.total, sum(share.draw(N) for _ in range(3))))
    with testing.seeded(4) as source:
        judge(p_value(share.total, sum(share.draw(N, source) for _ in range(4))))
