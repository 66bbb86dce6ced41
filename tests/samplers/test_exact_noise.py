"""Integer noise without statistics: every coin listed, and the bits of every probability."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import exp, floor, mp, mpf

from sottovoce import kernels, testing
from sottovoce.errors import ParameterError, SeededError
from sottovoce.noise import Binomial, DiscreteGaussian, DiscreteLaplace, Polya, samplers
from sottovoce.noise.chances import Chance, exponential, flips, logistic, rational
from sottovoce.randomness import Source

from .crafted import ALL, Scripted


class Listed(Source):
    """A source that hands out listed words, one after the other."""

    def __init__(self, words):
        self.words = list(words)

    def _fill(self, target):
        n = len(target) // 8
        target[:] = np.array(self.words[:n], np.uint64).tobytes()
        del self.words[:n]


class Repeated(Source):
    """Listed words, then zeros; bulk draws ask for more than they use."""

    def __init__(self, words):
        self.words = list(words)

    def _fill(self, target):
        n = len(target) // 8
        some, self.words = self.words[:n], self.words[n:]
        target[:] = np.array(some + [0] * (n - len(some)), np.uint64).tobytes()


def uniform_word(value, bound):
    """A word that gives this uniform number below a bound of at most 2^32, and is not rejected."""
    return -(-(value << 32) // bound) + 1


@pytest.mark.parametrize("x", [Fraction(1, 7), Fraction(1), Fraction(45, 2), Fraction(200)])
@pytest.mark.parametrize("n", [1, 64, 128, 1024])
def test_bits_of_exponentials_are_those_of_long_arithmetic(x, n):
    with mp.workdps(500):
        power = exp(-mpf(x.numerator) / x.denominator)
        assert exponential(x).bits(n) == int(floor(power * mpf(2) ** n))
        assert logistic(x).bits(n) == int(floor(power / (1 + power) * mpf(2) ** n))


def test_a_hard_probability_gets_more_digits():
    # Two bounds that agree in no bit until they are close enough.
    third = Fraction(1, 3)
    chance = Chance(lambda digits: (third - Fraction(1, 10 ** (digits // 40)), third))
    assert chance.bits(20) == (1 << 20) // 3


def test_extreme_exponents():
    assert exponential(Fraction(0)).bits(64) == 1 << 64
    assert exponential(Fraction(10**9)).bits(4096) == 0
    with pytest.raises(ParameterError):
        exponential(Fraction(-1))
    with pytest.raises(ParameterError):
        rational(Fraction(3, 2))


def test_a_coin_is_a_comparison_and_ties_go_on():
    chance = exponential(Fraction(1))
    first, both = chance.bits(64), chance.bits(128)
    second = both & ALL
    cases = [
        ([first - 1], True),
        ([first + 1], False),
        ([first, second - 1], True),
        ([first, second + 1], False),
        ([first, second, 0], True),
        ([first, second, ALL], False),
    ]
    for words, heads in cases:
        source = Listed(words)
        assert flips([chance], np.zeros(1, np.intp), source)[0] == heads
        assert not source.words  # and not a word more than needed


def test_certain_and_impossible_coins():
    words = [0, 1, ALL - 1, ALL]
    which = np.zeros(4, np.intp)
    assert flips([rational(Fraction(1))], which, Listed(words)).all()
    assert not flips([rational(Fraction(0))], which, Listed([*words, 5])).any()


@pytest.mark.parametrize("coins", [1, 2, 5, 8])
def test_fair_coins_are_binomial_by_listing_all_of_them(coins):
    seen = Counter()
    for word in range(1 << coins):
        source = Listed([word << (64 - coins)])  # the coins that count are the upper ones
        seen[int(samplers.fair_coins(np.array([coins]), source)[0])] += 1
    assert seen == {k: math.comb(coins, k) for k in range(coins + 1)}


def test_long_and_ragged_runs_of_coins_count_every_bit(monkeypatch):
    monkeypatch.setattr(samplers, "_CHUNK_WORDS", 4)
    rng = np.random.default_rng(5)
    coins = np.array([0, 1, 63, 64, 65, 0, 1000, 257, 3, 0])
    ones = Scripted(lambda call, n: np.full(n, ALL, np.uint64))
    assert samplers.fair_coins(coins, ones).tolist() == coins.tolist()
    none = Scripted(lambda call, n: np.zeros(n, np.uint64))
    assert samplers.fair_coins(coins, none).tolist() == [0] * coins.size
    many = rng.integers(0, 400, 200)
    heads = samplers.fair_coins(many, Scripted(lambda call, n: rng.integers(0, ALL, n, np.uint64)))
    assert ((heads >= 0) & (heads <= many)).all()


@pytest.mark.parametrize("eighths", [1, 3, 5, 6, 7])
@pytest.mark.parametrize("trials", [1, 2])
def test_binomial_is_exact_by_listing_all_bits(eighths, trials):
    # p has three bits, so three bits per trial decide; what then still ties is not below p.
    law = [Fraction(0)] * (trials + 1)
    for bits in product(range(8), repeat=trials):
        expected = sum(b < eighths for b in bits)
        law[expected] += Fraction(1, 8**trials)
        # The trials that are still tied take the uppermost bits of the next word, in order.
        words, tied = [], list(bits)
        for place in range(3):
            column = [b >> (2 - place) & 1 for b in tied]
            words.append(sum(bit << (63 - i) for i, bit in enumerate(column)))
            tied = [b for b, bit in zip(tied, column, strict=True)
                    if bit == (eighths >> (2 - place) & 1)]  # fmt: skip
        source = Listed(words + [ALL] * 3)
        # A fair-coin count reverses nothing: which trial fell is irrelevant, only how many.
        drawn = samplers.binomial(np.array([trials]), Fraction(eighths, 8), source)
        assert int(drawn[0]) == expected
    p = Fraction(eighths, 8)
    assert law == [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]


@pytest.mark.parametrize("parties", [1, 2, 3])
@pytest.mark.parametrize("balls", [0, 1, 2, 3])
def test_the_urn_gives_the_law_of_a_share(parties, balls, monkeypatch):
    # Given the geometric total g, a share with shape r has the Pólya (beta-binomial) law.
    monkeypatch.setattr(samplers, "geometric", lambda scale, n, source: np.array([balls]))
    law: Counter = Counter()
    bounds = [parties * i for i in range(1, balls + 1)]
    for answers in product(*map(range, bounds)):
        words = [uniform_word(*pair) for pair in zip(answers, bounds, strict=True)]
        drawn = samplers.negative_binomial(Fraction(1), parties, 1, Repeated(words))
        law[int(drawn[0])] += Fraction(1, math.prod(bounds))
    r = Fraction(1, parties)

    def rising(x, k):
        return math.prod((x + i for i in range(k)), start=Fraction(1))

    for k in range(balls + 1):
        expected = math.comb(balls, k) * rising(r, k) * rising(1 - r, balls - k)
        assert law[k] == expected / math.factorial(balls)


def test_geometric_digits_multiply_to_the_law():
    # P(G = k) from the digits' probabilities, whatever the digits of k.
    scale = Fraction(5, 2)
    with mp.workdps(40):
        alpha = exp(-1 / mpf(2.5))
        for k in (0, 1, 2, 5, 13):
            chance = 1 - exp(-mpf(2**6) / mpf(2.5))
            for j in range(6):
                one = mpf(logistic((1 << j) / scale).bits(200)) / mpf(2) ** 200
                chance *= one if k >> j & 1 else 1 - one
            assert mp.almosteq(chance, (1 - alpha) * alpha**k, rel_eps=mpf(10) ** -35)


def test_a_geometric_number_beyond_all_digits_starts_again():
    # The tail coin's probability is below 2^-64: a word of 0 ties, and the next one decides.
    scale, digits = Fraction(1), 6
    assert exponential(Fraction(1 << digits)).bits(64) == 0
    none = [ALL] * digits
    drawn = samplers.geometric(scale, 1, Listed([*none, 0, 0, *none, 1]))
    assert drawn.tolist() == [64]
    ones = [0, *[ALL] * (digits - 1)]
    drawn = samplers.geometric(scale, 1, Listed([*ones, 0, 0, *ones, 0, 0, *ones, 1]))
    assert drawn.tolist() == [129]


def test_urns_reject_words_that_would_make_a_number_likelier(monkeypatch):
    # Of the words of 32 bits 2^32 mod 3 = 1 is left out below 3: the word 0.
    monkeypatch.setattr(samplers, "geometric", lambda scale, n, source: np.array([1]))
    hit, miss = uniform_word(0, 3), uniform_word(1, 3)
    for words, expected in (([hit], 1), ([miss], 0), ([0, 0, miss], 0), ([0, hit], 1)):
        drawn = samplers.negative_binomial(Fraction(1), 3, 1, Repeated(words))
        assert drawn.tolist() == [expected]


def test_urns_with_bounds_beyond_32_bits_reject():
    parts, bound = (1 << 40) + 1, (1 << 40) + 1  # the first ball
    shift = 64 - 41
    words = np.array([bound << shift, 0, (bound - 1) << shift, 1 << shift], np.uint64)
    hits, done = np.zeros(3, np.int64), np.zeros(3, np.int64)
    state = (np.ones(3, np.int64), parts, hits, done, 0, words, 0)
    assert kernels.draw.fill_urns(*state) == (3, 4)
    assert hits.tolist() == [1, 0, 0]  # of the first the word was rejected, then below 1


def test_urns_go_on_where_words_ran_out():
    with testing.seeded(9) as source:
        words = np.empty(3000, np.uint64)
        source.fill(words)
    balls, parts = np.array([700, 0, 900, 1]), 3
    whole = [np.zeros(4, np.int64) for _ in range(2)]
    urns, used = kernels.draw.fill_urns(balls, parts, *whole, 0, words, 0)
    assert (urns, used) == (4, 1601)  # nothing is rejected but 2^32 mod bound of 2^32 words
    cut = [np.zeros(4, np.int64) for _ in range(2)]
    start = 0
    for part in (words[:5], words[5:650], words[650:651], words[651:1601]):
        start, used = kernels.draw.fill_urns(balls, parts, *cut, start, part, 0)
        assert used == part.size
    assert start == 4
    assert cut[0].tolist() == whole[0].tolist()
    # In plain integers.
    fresh, hits = iter(words.tolist()), []
    for total in balls.tolist():
        h = 0
        for i in range(1, total + 1):
            h += ((next(fresh) & 0xFFFFFFFF) * parts * i >> 32) < 1 + parts * h
        hits.append(h)
    assert hits == whole[0].tolist()


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(Fraction(1, 2)),
        DiscreteLaplace(9),
        DiscreteGaussian(Fraction(1, 3)),
        DiscreteGaussian(3),
        DiscreteGaussian(5),
        Binomial(9),
        Binomial(200, Fraction(1, 7)),
        Polya(3, 1),
        Polya(3, 2),
        Polya(8, 5),
    ],
    ids=repr,
)
def test_moments_and_quantiles_are_those_of_the_probabilities(law):
    width = law.reach(1e-20)
    k = np.arange(round(law.mean) - width - 2, round(law.mean) + width + 3)
    mass = np.exp(law.log_pmf(k))
    assert mass.sum() == pytest.approx(1, rel=1e-10)
    assert mass @ k == pytest.approx(law.mean, abs=1e-9)
    assert mass @ (k - law.mean) ** 2 == pytest.approx(law.variance, rel=1e-9)
    for q in (0.001, 0.025, 0.3, 0.6, 0.975, 0.9999):
        at = law.quantile(q)
        assert mass[k <= at].sum() >= q * (1 - 1e-12)
        assert mass[k < at].sum() < q
    for miss in (0.5, 1e-3, 1e-9):
        assert mass[np.abs(k - law.mean) > law.reach(miss)].sum() <= miss
    if law.bound is not None:
        assert np.isneginf(law.log_pmf([-1, law.bound + 1])).all()


def test_probabilities_of_a_share_are_the_convolution_of_two_negative_binomials():
    from scipy import stats

    share = Polya(3, 4)
    alpha = math.exp(-1 / 3)
    k = np.arange(600)
    one = stats.nbinom.pmf(k, 0.25, 1 - alpha)
    for difference in (0, 1, 5, -5, 20):
        size = abs(difference)
        expected = float(one[size:] @ one[: one.size - size])
        assert math.exp(share.log_pmf(difference)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("scale", "parties"), [(20, 2), (128, 2), (512, 3)])
def test_probabilities_of_a_share_where_scipy_overflows(scale, parties):
    share = Polya(scale, parties)
    k = np.array([0, 1, 171, 172, 173, 10 * scale, 30 * scale])
    logs = share.log_pmf(k)
    with mp.workdps(40):
        r, alpha = mpf(1) / parties, exp(-1 / mpf(scale))
        for size, log in zip(k.tolist(), logs, strict=True):
            exact = (
                2 * r * mp.log(1 - alpha)
                + size * mp.log(alpha)
                + mp.loggamma(r + size)
                - mp.loggamma(r)
                - mp.loggamma(size + 1)
                + mp.log(mp.hyp2f1(r, r + size, size + 1, alpha**2))
            )
            assert log == pytest.approx(float(exact), abs=1e-9)
    assert np.exp(share.log_pmf(np.arange(-40 * scale, 40 * scale + 1))).sum() == pytest.approx(1)


def test_reference_laws_of_scipy():
    from scipy import stats

    k = np.arange(-30, 31)
    laplace = stats.dlaplace.logpmf(k, 1 / 4)
    assert DiscreteLaplace(4).log_pmf(k) == pytest.approx(laplace, rel=1e-12)
    binomial = stats.binom.logpmf(k, 25, 0.3)
    assert Binomial(25, 0.3).log_pmf(k) == pytest.approx(binomial, rel=1e-11)


@pytest.mark.parametrize("wrong", [0, -1, math.inf, math.nan, "2", True, None, 1 << 41])
def test_wrong_parameters_are_refused(wrong):
    for law in (DiscreteLaplace, DiscreteGaussian, lambda x: Polya(x, 2)):
        with pytest.raises(ParameterError):
            law(wrong)
    with pytest.raises(ParameterError):
        Binomial(5, wrong)
    with pytest.raises(ParameterError):
        DiscreteLaplace(1).quantile(1.0)


def test_seeded_noise_stays_inside_tests():
    with testing.seeded(3) as source:
        first = DiscreteLaplace(5).draw(20, source)
    with testing.seeded(3) as again:
        assert DiscreteLaplace(5).draw(20, again).tolist() == first.tolist()
    with pytest.raises(SeededError):
        DiscreteLaplace(5).draw(20, source)
    assert DiscreteLaplace(5).draw(0).size == 0


def test_shares_of_a_tenth_lose_most_of_their_privacy_to_nine_colluders():
    # Nominal ε = 1 for a substitution, which moves two cells by one each, over K = 10 parties: what
    # the last share alone keeps.
    k = np.arange(-60, 61)
    share = Polya(2, 10).log_pmf(k)
    assert round(2 * float(np.abs(np.diff(share)).max()), 2) == 5.57
    assert math.exp(share[60]) > 0.83  # and it is mostly 0
    # With parties = K − t the shares of those who stay keep ε.
    total = Polya(2, 1).log_pmf(k)
    assert 2 * np.abs(np.diff(total)).max() == pytest.approx(1.0)
