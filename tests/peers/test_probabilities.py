"""p and q are those of the other libraries, wherever they have the mechanism."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sottovoce as sv

EPSILONS = [0.25, 1.0, 2.0, 5.0]
SIZES = [2, 5, 128, 1024]

each = pytest.mark.parametrize(
    ("epsilon", "d"), [(epsilon, d) for epsilon in EPSILONS for d in SIZES]
)


def same(mechanism, p, q):
    return float(mechanism.p) == pytest.approx(p, rel=1e-12) and float(
        mechanism.q
    ) == pytest.approx(q, rel=1e-12)


@each
def test_grr_pure(pure, epsilon, d):
    for side in (pure.DEClient(epsilon, d), pure.DEServer(epsilon, d)):
        assert same(sv.GRR(d, epsilon=epsilon), side.p, side.q)


@each
def test_grr_multi(multi, inside, epsilon, d):
    *_, p, q = inside(multi.GRR, "GRR_Aggregator_MI", [0, 1], d, epsilon)
    assert same(sv.GRR(d, epsilon=epsilon), p, q)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("d", [2, 5, 128])
def test_grr_opendp(opendp, epsilon, d):
    p = float(sv.GRR(d, epsilon=epsilon).p)
    response = opendp.m.make_randomized_response(list(range(d)), p)
    assert response.map(1) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_two_values_diffprivlib(diffprivlib, epsilon):
    """Its draw is compared with a threshold: halve the interval until the threshold is found."""
    binary = diffprivlib.Binary(epsilon=epsilon, value0="no", value1="yes")

    class Fixed:
        def random(self):
            return self.value

    binary._rng = Fixed()

    def at(value):
        binary._rng.value = value
        return binary.randomise("no")

    low, high = 0.0, 1.0 - 2**-53
    first = at(low)
    assert at(high) != first
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle) == first else (low, middle)
    threshold = low if first == "no" else 1 - low
    assert float(sv.GRR(2, epsilon=epsilon).p) == pytest.approx(threshold, abs=1e-12)


@each
@pytest.mark.parametrize(("kind", "optimal"), [(sv.OUE, True), (sv.SUE, False)])
def test_unary_pure(pure, kind, optimal, epsilon, d):
    for side in (pure.UEClient, pure.UEServer):
        client = side(epsilon, d, use_oue=optimal)
        assert same(kind(d, epsilon=epsilon), client.p, client.q)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("kind", "optimal"), [(sv.OUE, True), (sv.SUE, False)])
def test_unary_multi(multi, inside, kind, optimal, epsilon):
    vectors = [np.ones(5), np.zeros(5)]
    *_, p, q = inside(multi.UE, "UE_Aggregator_MI", vectors, epsilon, optimal)
    assert same(kind(5, epsilon=epsilon), p, q)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_symmetric_bits_opendp(opendp, epsilon):
    flips = 2 * (1 - float(sv.SUE(8, epsilon=epsilon).p))
    space = opendp.bitvector_domain(max_weight=1), opendp.discrete_distance()
    response = opendp.m.make_randomized_response_bitvec(*space, flips)
    assert response.map(1) == pytest.approx(epsilon, rel=1e-9)


@each
def test_subset_selection_multi(multi, inside, epsilon, d):
    """They round d / (e^ε + 1); where that is another ω than ours, ours has less variance."""
    theirs = max(1, round(d / (math.exp(epsilon) + 1)))
    reports = [np.arange(theirs)]
    *_, p, q = inside(multi.SS, "SS_Aggregator_MI", reports, d, epsilon)
    mechanism = sv.SubsetSelection(d, epsilon=epsilon)
    if mechanism.omega == theirs:
        assert same(mechanism, p, q)
    else:
        total = d * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)
        assert mechanism.total_variance() < total


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_local_hashing_pure_at_our_number_of_buckets(pure, epsilon):
    mechanism = sv.OLH(100, epsilon=epsilon)
    g = mechanism.buckets
    for side in (pure.LHClient(epsilon, 100, g=g), pure.LHServer(epsilon, 100, g=g)):
        assert same(mechanism, side.p, 1 / side.g)


@pytest.mark.parametrize("buckets", [4, 8])
def test_local_hashing_multi_where_its_buckets_are_a_power_of_two(multi, inside, buckets):
    epsilon = math.log(buckets - 1)
    mechanism = sv.OLH(50, epsilon=epsilon)
    assert mechanism.buckets == buckets
    *_, p, q = inside(multi.LH, "LH_Aggregator_MI", [(0, 1)], 50, epsilon)
    assert same(mechanism, p, q)


@pytest.mark.parametrize("d", [7, 100, 1000])
@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_hadamard_pure_one_block(pure, epsilon, d):
    mechanism = sv.HadamardResponse(d, epsilon=epsilon)
    theirs = pure.HadamardResponseClient(epsilon, d, None).hr
    assert (mechanism.blocks, mechanism.block_size) == (1, theirs.outsz)
    assert float(mechanism.inside.fraction) == pytest.approx(1 - theirs.pri_para, rel=1e-12)


@each
def test_variance_multi(multi, epsilon, d):
    for kind in (sv.GRR, sv.OUE, sv.SUE, sv.SubsetSelection, sv.OLH):
        mechanism = kind(d, epsilon=epsilon)
        p, q = float(mechanism.p), float(mechanism.q)
        theirs = [multi.Variance_PURE.VAR_Pure(p, q, 1000, f) for f in (0, 0.3, 1)]
        assert mechanism.variance([0, 0.3, 1], 1000) == pytest.approx(theirs, rel=1e-9)
