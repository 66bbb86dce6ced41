"""What is drawn has 128 bits: the rounded numbers keep the promise, and lose nothing else."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sottovoce import GRR, OUE
from sottovoce.errors import ParameterError
from sottovoce.randomness import BITS, Probability, exp

from .entries import ENTRIES, Entry
from .law import LawBroken, power, require

EPSILONS = (
    1e-9,
    1e-6,
    0.001,
    0.1,
    0.3,
    0.5,
    0.6931471805599453,
    1.0,
    1.0986122886681098,
    2.0,
    3.7,
    10.0,
    19.999,
    20.0,
)
SIZES = (
    2,
    3,
    4,
    5,
    7,
    16,
    17,
    100,
    255,
    256,
    257,
    1000,
    4096,
    4097,
    65_537,
    10**6,
    1 << 24,
    1 << 31,
)
GRID = [(d, e) for d in SIZES for e in EPSILONS]
ONE = Fraction(1, 1 << BITS)


def keeps_the_promise(ratio: Fraction, epsilon: float) -> None:
    require(ratio <= power(epsilon), "the rounded channel leaks more than promised")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind.id)
def test_rounding_keeps_the_promise(entry: Entry) -> None:
    sizes = [(d, e) for d, e in GRID if d <= entry.most_values]
    for d, epsilon in [((0, 1), e) for e in EPSILONS] if entry.numeric else sizes:
        keeps_the_promise(entry.ratio(entry.kind(d, epsilon=epsilon)), epsilon)


def test_grr_keeps_as_often_as_it_may() -> None:
    # Two more units of 2^-128 would break the promise: rounding costs nothing that can be seen.
    for d, epsilon in GRID:
        p = GRR(d, epsilon=epsilon).p
        keeps_the_promise(p / ((1 - p) / (d - 1)), epsilon)
        more = p + 2 * ONE
        with pytest.raises(LawBroken):
            keeps_the_promise(more * (d - 1) / (1 - more), epsilon)


def test_oue_sets_other_bits_as_rarely_as_it_may() -> None:
    for epsilon in EPSILONS:
        q = OUE(8, epsilon=epsilon).q
        keeps_the_promise((1 - q) / q, epsilon)
        less = q - 2 * ONE
        with pytest.raises(LawBroken):
            keeps_the_promise((1 - less) / less, epsilon)


def test_every_probability_is_a_multiple_of_the_unit() -> None:
    for d, epsilon in GRID:
        assert (GRR(d, epsilon=epsilon).p / ONE).denominator == 1
    assert (OUE(8, epsilon=0.3).q / ONE).denominator == 1


@pytest.mark.parametrize("value", ["0.1", "0.3333333333333333333333", "0.999", "1e-30"])
def test_at_most_and_at_least_enclose_the_value(value: str) -> None:
    exact = Fraction(value)
    low, high = Probability.at_most(exact), Probability.at_least(exact)
    assert low.fraction < exact < high.fraction
    assert high.numerator - low.numerator == 1


def test_a_value_on_the_grid_is_moved_to_the_safe_side_only() -> None:
    # The slack for the digits of e^x may cost one unit, and never gains one.
    low, high = Probability.at_most(Fraction(1, 2)), Probability.at_least(Fraction(1, 2))
    assert (1 << 127) - 1 <= low.numerator <= 1 << 127
    assert 1 << 127 <= high.numerator <= (1 << 127) + 1


@pytest.mark.parametrize("numerator", [0, -1, 1 << BITS, (1 << BITS) + 1])
def test_certain_outcomes_are_no_probability(numerator: int) -> None:
    with pytest.raises(ParameterError, match=str(numerator)):
        Probability(numerator)


def test_words_are_the_two_halves() -> None:
    upper, lower = Probability((3 << 64) + 5).words
    assert (int(upper), int(lower)) == (3, 5)


def test_exp_takes_a_float_at_its_exact_value() -> None:
    # 0.1 is a little more than a tenth; e^x must be that of the float, to 75 digits.
    for x in (1e-6, 0.1, 1.0, 20.0):
        gap = Fraction(exp(x)) / power(x) - 1
        assert abs(gap) < Fraction(1, 10**75)
    assert abs(Fraction(exp(0.1)) - Fraction(exp(Fraction(1, 10)))) > Fraction(1, 10**18)
