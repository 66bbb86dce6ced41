"""Projective geometry response against geometry over the integers modulo a prime, written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import exp, log

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import kernels
from sottovoce.errors import ParameterError, WireError
from sottovoce.mechanisms.linear import LinearMechanism
from sottovoce.mechanisms.projective_space import best_order, points
from sottovoce.mechanisms.subset import SubsetSelection

PGR = sv.ProjectiveGeometryResponse
SPACES = [(2, 3), (2, 4), (2, 5), (3, 3), (3, 4), (5, 3), (7, 2), (7, 3), (11, 3)]
spaces = pytest.mark.parametrize(("order", "dimension"), SPACES)
ALL = (1 << 64) - 1


def vectors(order: int, dimension: int, *, last: bool) -> list[tuple[int, ...]]:
    """One vector of each point: the last, or the first, coordinate that is not 0 is 1."""
    every = product(range(order), repeat=dimension)
    return [v for v in every if [x for x in v if x][-1 if last else 0 :][:1] == [1]]


def outputs(order: int, dimension: int) -> list[tuple[int, ...]]:
    """All outputs in their order: nodes of a heap, a vector's children are those one longer."""
    nodes: list[tuple[int, ...]] = [(1,)]
    for node in nodes:
        if len(node) < dimension:
            nodes += [(*node, u) for u in range(order)]
    return [(0,) * (dimension - len(node)) + node for node in nodes]


def values(order: int, dimension: int) -> list[tuple[int, ...]]:
    """All values in their order: by their length, and then as numbers."""
    lengths = (product(range(order), repeat=k) for k in range(dimension))
    return [(*v, 1, *(0,) * (dimension - 1 - len(v))) for some in lengths for v in some]


def orthogonal(u: tuple[int, ...], v: tuple[int, ...], order: int) -> bool:
    return sum(a * b for a, b in zip(u, v, strict=True)) % order == 0


def hyperplanes(order: int, dimension: int) -> list[frozenset[int]]:
    """The set of every value."""
    every = outputs(order, dimension)
    return [
        frozenset(y for y, u in enumerate(every) if orthogonal(u, v, order))
        for v in values(order, dimension)
    ]


def collinear(three: tuple[tuple[int, ...], ...], order: int) -> bool:
    """Whether some combination of three different points is 0, not all factors being 0."""
    factors = product(range(order), repeat=3)
    next(factors)
    return any(
        all(sum(f * v[k] for f, v in zip(factor, three, strict=True)) % order == 0 for k in column)
        for factor in factors
        for column in [range(len(three[0]))]
    )


def mechanism(order: int, dimension: int, epsilon: float = 1.0, less: int = 0) -> PGR:
    return PGR(points(order, dimension) - less, epsilon=epsilon, order=order)


# --- the design ----------------------------------------------------------------------------------


@spaces
def test_outputs_and_values_are_each_point_once(order, dimension):
    assert sorted(outputs(order, dimension)) == sorted(vectors(order, dimension, last=False))
    assert sorted(values(order, dimension)) == sorted(vectors(order, dimension, last=True))
    assert len(values(order, dimension)) == points(order, dimension)


@spaces
def test_the_channel_is_that_of_hyperplanes(order, dimension):
    m = mechanism(order, dimension, 0.7)
    assert (m.prime, m.dimension) == (order, dimension)
    sets = hyperplanes(order, dimension)
    a, b = m.p / m.set_size, (1 - m.p) / (m.cells - m.set_size)
    for inside, row in zip(sets, m.channel().exact, strict=True):
        assert len(inside) == m.set_size
        assert row == tuple(a if y in inside else b for y in range(m.cells))
    truth = m.channel().exact[0]
    for other in sets[1:]:
        assert sum(truth[y] for y in other) == m.q
    assert sum(truth[y] for y in sets[0]) == m.p


@pytest.mark.parametrize(("order", "dimension"), [(2, 4), (3, 3), (5, 3)])
def test_three_sets_have_more_in_common_on_a_line(order, dimension):
    sets, every = hyperplanes(order, dimension), values(order, dimension)
    two, three = points(order, dimension - 2), points(order, dimension - 3)
    some = list(combinations(range(len(sets)), 3))[:: 1 if order == 2 else 7]
    for u, v, x in some:
        assert len(sets[u] & sets[v]) == two
        line = collinear((every[u], every[v], every[x]), order)
        assert len(sets[u] & sets[v] & sets[x]) == (two if line else three)


@pytest.mark.parametrize(
    ("order", "dimension", "less"),
    [(2, 3, 0), (2, 4, 2), (3, 3, 0), (3, 3, 4), (2, 4, 0), (7, 2, 1)],
)
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 5.0])
def test_covariances_are_those_of_the_channel(order, dimension, less, epsilon):
    # Among all points many triples lie on a line, which four values of `tiny` hardly do.
    m = mechanism(order, dimension, epsilon, less)
    d, sets = m.domain.size, hyperplanes(order, dimension)
    weights = [1 + (7 * k) % 5 for k in range(d)]
    f = [Fraction(w, sum(weights)) for w in weights]
    law = m.channel().exact
    expected = np.empty((d, d))
    for u in range(d):
        for v in range(d):
            both, means = sets[u] & sets[v], (m.p, m.q)
            total = Fraction(0)
            for x in range(d):
                mean = means[x != u] * means[x != v]
                total += f[x] * (sum(law[x][y] for y in both) - mean)
            expected[u, v] = total / (m.p - m.q) ** 2
    found = m.covariance([float(x) for x in f], 1)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * expected.max())


# --- decoding ------------------------------------------------------------------------------------


@spaces
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_support_is_the_sum_over_hyperplanes(order, dimension, kind):
    sets = hyperplanes(order, dimension)
    counts = np.random.default_rng(1).integers(0, 1 << 40, len(sets)).astype(kind)
    exact = [sum(int(counts[y]) for y in one) for one in sets]
    for less in (0, 1, len(sets) // 2):
        m = mechanism(order, dimension, less=less)
        if m.dimension == dimension:
            assert m.support(counts).tolist() == exact[: len(sets) - less]


def test_support_of_many_values():
    m = PGR(200_000, epsilon=1.6)
    counts = np.zeros(m.cells, np.int64)
    places = np.random.default_rng(2).integers(0, m.cells, 40)
    np.add.at(counts, places, 1)
    support = m.support(counts)
    assert support.sum() <= 40 * m.set_size
    for value in (0, 1, 77_777, 199_999):
        reports = sv.Reports(m.id, m.digest, {"y": places.astype(m.layout[0].dtype)})
        assert support[value] == m.outcomes(reports, value, 0)[:, 0].sum()


@pytest.mark.parametrize("less", [0, 5])
def test_the_fast_transforms_are_the_channel(less):
    m = mechanism(3, 3, 1.5, less)
    law = np.array(m.channel().matrix)
    f = np.random.default_rng(3).dirichlet(np.ones(m.domain.size))
    np.testing.assert_allclose(m.output_law(f), f @ law, rtol=1e-12)
    weights = np.random.default_rng(4).random(m.cells)
    np.testing.assert_allclose(m.expected(weights), law @ weights, rtol=1e-12)


@pytest.mark.parametrize("full", [False, True])
def test_errors_of_counts_are_carried_over_as_for_every_linear_mechanism(full):
    m = mechanism(3, 3, less=2)
    variances = np.random.default_rng(5).random(m.cells)
    plain = LinearMechanism.propagate(m, variances, 100, full=full)
    np.testing.assert_allclose(m.propagate(variances, 100, full=full), plain, rtol=1e-12)


# --- drawing -------------------------------------------------------------------------------------


def draw(
    m: PGR, words: list[int], codes: list[int], extra: list[int]
) -> tuple[list[int], int, int]:
    out = np.zeros(len(words), np.uint32)
    done, used = kernels.draw.projective_response(
        np.array(words, np.uint64), np.array(codes, m.domain.dtype), m.prime, m.dimension,
        *m.inside.words, out, np.array(extra, np.uint64), 0,
    )  # fmt: skip
    return [int(y) for y in out], done, used


def picks(many: int) -> list[int]:
    """32 bits for each of `many` places, none of which is rejected."""
    limit = (1 << 32) % many
    return [((place << 32) + limit + many - 1) // many for place in range(many)]


@spaces
def test_every_place_is_another_output_of_the_right_side(order, dimension):
    m = mechanism(order, dimension)
    inside, outside = picks(m.set_size), picks(m.cells - m.set_size)
    for value, own in enumerate(hyperplanes(order, dimension)):
        words = [*inside, *((0xFFFFFFFF << 32) | pick for pick in outside)]
        found, done, used = draw(m, words, [value] * len(words), [])
        assert (done, used) == (len(words), 0)
        assert frozenset(found[: m.set_size]) == own
        assert sorted(found) == list(range(m.cells))


# Numbers of one, two and three pieces of digits in 16 bits; orders whose products need more.
@pytest.mark.parametrize(
    ("order", "dimension"), [(2, 17), (3, 11), (5, 8), (13, 6), (43, 4), (191, 3), (257, 2)]
)
def test_every_place_of_a_large_space_is_another_output(order, dimension):
    m = mechanism(order, dimension)
    words = [*picks(m.set_size), *((0xFFFFFFFF << 32) | p for p in picks(m.cells - m.set_size))]
    early = [points(order, k) for k in range(dimension)]  # values that end in many zeros, or few
    for value in sorted({0, 1, m.cells - 1, m.cells // 3, *early, *(k - 1 for k in early if k)}):
        found = np.array(draw(m, words, [value] * len(words), [])[0])
        assert m.supports({"y": found}, np.array([value]))[:, 0].nonzero()[0].tolist() == list(
            range(m.set_size)
        )
        assert np.array_equal(np.sort(found), np.arange(m.cells))


def test_a_tie_uses_as_many_words_whatever_the_coin_says():
    # A lane that runs out of words starts again: outcomes that need fewer must not be favoured.
    m = mechanism(3, 3)
    tied = (m.inside.numerator >> 96) << 32
    sides = []
    for coin in (0, ALL):
        found, done, used = draw(m, [tied], [0], [coin, 0, 1 << 31, 1 << 31])
        assert (done, used) == (1, 4)  # two for the coin, a place in the set and one outside
        assert draw(m, [tied], [0], [coin, 0, 1 << 31])[1] == 0
        sides.append(found[0] in hyperplanes(3, 3)[0])
    assert sides == [True, False]


def test_a_rejected_place_is_drawn_again():
    m = mechanism(3, 3)  # 4 outputs inside: none rejected; 9 outside: 2^32 mod 9 = 4
    rejected, clear = 0xFFFFFFFF << 32, 0xFFFFFFFF << 32 | 1 << 31
    place = draw(m, [clear], [5], [])[0]
    found, done, used = draw(m, [rejected, clear], [5, 5], [0, 1 << 31])
    assert (found, done, used) == (place * 2, 2, 2)
    found, done, used = draw(m, [clear, rejected, clear], [5, 5, 5], [0])
    assert (found[:1], done, used) == (place, 1, 0)


# --- error and order -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [3, 5, 17])
def test_at_the_best_epsilon_the_variance_is_the_lowest_there_is(order):
    # The paper's bound: n Var → 4 e^ε / (e^ε − 1)² for many values; met where e^ε + 1 is a prime.
    epsilon = log(order - 1)
    m = PGR(20_000, epsilon=epsilon)
    limit = 4 * exp(epsilon) / (exp(epsilon) - 1) ** 2
    assert m.prime == order
    assert m.variance(np.zeros(20_000), 1)[0] == pytest.approx(limit, rel=2e-3)


@pytest.mark.parametrize("epsilon", [0.1, 0.35, 0.7, 1.0, 1.04, 1.5, 2.0, 3.0, 4.0])
def test_the_variance_is_within_three_percent_of_subset_selection(epsilon):
    ours, lowest = PGR(10_000, epsilon=epsilon), SubsetSelection(10_000, epsilon=epsilon)
    assert 1 <= ours.total_variance() / lowest.total_variance() < 1.031


@pytest.mark.parametrize(("d", "epsilon"), [(7, 0.5), (13, 1.0), (31, 1.4)])
def test_with_a_value_for_every_point_it_is_as_good_as_subset_selection(d, epsilon):
    assert PGR(d, epsilon=epsilon).total_variance() == (
        SubsetSelection(d, epsilon=epsilon).total_variance()
    )


@pytest.mark.parametrize("d", [2, 4, 9, 60, 700, 30_000])
def test_no_other_prime_has_a_lower_variance(d):
    primes = [n for n in range(2, 800) if all(n % k for k in range(2, n))]
    for epsilon in (0.05, 0.4, 1.1, 2.2, 4.5, 9.0):
        best = PGR(d, epsilon=epsilon)
        fits = [p for p in primes if points(p, 2) >= d or points(p, 3) < 1 << 20]
        least = min(PGR(d, epsilon=epsilon, order=p).total_variance() for p in fits[::3])
        assert best.total_variance() <= least * (1 + 1e-12)


def test_an_order_can_be_chosen_and_is_part_of_the_contract():
    plain, chosen = PGR(20, epsilon=1.0), PGR(20, epsilon=1.0, order=7)
    assert (plain.parameters, chosen.parameters) == ({"epsilon": 1.0}, {"epsilon": 1.0, "order": 7})
    assert (plain.cells, chosen.cells) == (40, 57)
    assert plain.digest != chosen.digest
    assert PGR(20, epsilon=1.0, order=np.int64(7)).digest == chosen.digest
    study = sv.Study("T", (PGR(sv.Attribute("q", 20), epsilon=1.0, order=7),))
    assert sv.Study.from_toml(study.to_toml()).mechanism("q").prime == 7


@pytest.mark.parametrize("order", [0, 1, 4, 9, -3, True, 3.0, "3", 1 << 26])
def test_an_order_that_is_no_prime_is_refused(order):
    with pytest.raises(ParameterError, match="prime"):
        PGR(20, epsilon=1.0, order=order)


def test_too_many_values_are_refused_with_what_to_use():
    assert best_order(1.0, (1 << 26) - 1) == 2
    with pytest.raises(ParameterError, match="'hadamard'"):
        PGR(1 << 26, epsilon=1.0)
    with pytest.raises(ParameterError, match="choose another prime"):
        PGR(2_000_000, epsilon=1.0, order=1009)


def test_an_output_beyond_the_points_is_refused():
    m = PGR(1000, epsilon=1.0)
    with pytest.raises(WireError, match="1093"):
        m.check({"y": np.array([5, 1093], np.uint16)})


@pytest.mark.parametrize(
    ("d", "epsilon"), [(2, 0.1), (14, 1.2), (85, 3.524), (300, 0.35), (536, 4.711), (1062, 4.266)]
)
def test_no_prime_at_all_has_a_lower_variance(d, epsilon):
    primes = [w for w in range(2, 2 * d) if all(w % k for k in range(2, w))]
    every = {w: PGR(d, epsilon=epsilon, order=w).total_variance() for w in primes}
    lowest = min(every.values())
    assert every[PGR(d, epsilon=epsilon).prime] == pytest.approx(lowest, rel=1e-12)
