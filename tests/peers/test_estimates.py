"""From the same reports and counts, estimates are those of the other libraries.

pure-ldp estimates without clipping when asked to (normalization=0). multi-freq-ldpy always clips
and rescales: it is compared where nothing needs clipping, and elsewhere after doing the same to
ours.
"""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing

N = 4_000
D = 12


def people(d, flat=False):
    shares = np.ones(d) if flat else 1.0 / np.arange(1, d + 1)
    return np.random.default_rng(5).choice(d, N, p=shares / shares.sum())


def vectors(reports, d):
    rows = np.unpackbits(reports.columns["bits"], axis=1, bitorder="little")
    return list(rows[:, :d].astype(float))


def in_their_form(mechanism, reports):
    """Our reports as pure-ldp and multi-freq-ldpy take them."""
    d = mechanism.domain.size
    if mechanism.id == "grr":
        return reports.columns["value"].tolist()
    rows = vectors(reports, d)
    return [np.flatnonzero(row) for row in rows] if mechanism.id == "subset" else rows


def server(pure, mechanism):
    d, epsilon = mechanism.domain.size, mechanism.epsilon
    if mechanism.id == "grr":
        return pure.DEServer(epsilon, d, index_mapper=int)
    if mechanism.id == "olh":
        return pure.LHServer(epsilon, d, g=mechanism.buckets, index_mapper=int)
    return pure.UEServer(epsilon, d, use_oue=mechanism.id == "oue", index_mapper=int)


def multis(multi, mechanism, reports):
    """Module, aggregator and arguments of multi-freq-ldpy."""
    d, epsilon = mechanism.domain.size, mechanism.epsilon
    return {
        "grr": (multi.GRR, "GRR_Aggregator_MI", reports, d, epsilon),
        "oue": (multi.UE, "UE_Aggregator_MI", reports, epsilon, True),
        "sue": (multi.UE, "UE_Aggregator_MI", reports, epsilon, False),
        "subset": (multi.SS, "SS_Aggregator_MI", reports, d, epsilon),
    }[mechanism.id]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("kind", [sv.GRR, sv.OUE, sv.SUE])
def test_same_reports_pure(pure, kind, epsilon):
    mechanism = kind(D, epsilon=epsilon)
    reports = mechanism.randomise(people(D))
    ours = mechanism.estimate(mechanism.aggregate(reports))
    theirs = server(pure, mechanism)
    theirs.aggregate_all(in_their_form(mechanism, reports))
    raw = theirs.estimate_all(range(D), suppress_warnings=True)
    assert raw / N == pytest.approx(ours.values, abs=1e-12)


@pytest.mark.parametrize("kind", [sv.GRR, sv.OUE, sv.SUE, sv.OLH])
def test_same_counts_pure_and_its_simplex_is_norm_sub(pure, kind):
    """Local hashing too: hashes differ, so the counts are what both can share."""
    mechanism = kind(D, epsilon=0.5)
    support = np.rint(N * (float(mechanism.q) + 0.01 * np.linspace(-3, 5, D))).astype(np.int64)
    aggregate = sv.Aggregate(mechanism.id, mechanism.digest, {"support": support}, N, N)
    ours = mechanism.estimate(aggregate)
    assert ours.values.min() < 0  # so that the projection has something to do
    theirs = server(pure, mechanism)
    theirs.aggregated_data, theirs.n = support.astype(float), N
    raw = theirs.estimate_all(range(D), suppress_warnings=True)
    assert raw / N == pytest.approx(ours.values, abs=1e-12)
    simplex = theirs.estimate_all(range(D), suppress_warnings=True, normalization=2)
    assert simplex / N == pytest.approx(ours.project("norm-sub").values, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("kind", [sv.GRR, sv.OUE, sv.SUE, sv.SubsetSelection])
def test_same_reports_multi(multi, inside, kind, epsilon):
    mechanism = kind(D, epsilon=epsilon)
    reports = mechanism.randomise(people(D))
    aggregate = mechanism.aggregate(reports)
    ours = mechanism.estimate(aggregate).values
    call = multis(multi, mechanism, in_their_form(mechanism, reports))
    theirs, counts, n, p, q = inside(*call)
    assert n == N
    assert counts.tolist() == aggregate.tables["support"].tolist()
    assert (counts / n - q) / (p - q) == pytest.approx(ours, abs=1e-12)
    clipped = ours.clip(0)
    assert theirs == pytest.approx(clipped / clipped.sum(), abs=1e-12)


@pytest.mark.parametrize("kind", [sv.GRR, sv.SubsetSelection])
def test_where_nothing_is_clipped_multi_agrees_as_it_is(multi, kind):
    """These two estimates sum to one by themselves, so that rescaling changes nothing either."""
    mechanism = kind(4, epsilon=4.0)
    reports = mechanism.randomise(people(4, flat=True))
    ours = mechanism.estimate(mechanism.aggregate(reports)).values
    assert ours.min() > 0
    module, name, *arguments = multis(multi, mechanism, in_their_form(mechanism, reports))
    assert getattr(module, name)(*arguments) == pytest.approx(ours, abs=1e-12)


def test_likelihood_multi(multi, monkeypatch):
    """Its iterative Bayesian update goes to the maximum that we have in closed form."""
    monkeypatch.setattr(multi.GRR, "IBU", multi.GRR.IBU.py_func)  # compiling takes longer
    mechanism = sv.GRR(6, epsilon=1.0)
    # From a seed: where the rarest value's maximum is at zero their update has not yet arrived
    # after its most steps, for 3 in 10,000 draws.
    with testing.seeded(1) as source:
        reports = mechanism.randomise(people(6), source=source)
        ours = mechanism.estimate(mechanism.aggregate(reports), method="mle").values
    theirs = multi.GRR.GRR_Aggregator_IBU(reports.columns["value"].tolist(), 6, 1.0)
    assert theirs == pytest.approx(ours, abs=1e-6)


def test_same_bit_vectors_opendp(opendp):
    mechanism = sv.SUE(16, epsilon=1.0)
    reports = mechanism.randomise(people(16))
    ours = mechanism.estimate(mechanism.aggregate(reports)).values
    rows = [bytes(row) for row in reports.columns["bits"]]
    flips = 2 * float(mechanism.q)
    theirs = np.array(opendp.m.debias_randomized_response_bitvec(rows, flips)) / N
    assert theirs == pytest.approx(ours, abs=1e-9)


@pytest.mark.parametrize("d", [7, 100, 300])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_hadamard_pure_one_block(pure, epsilon, d):
    """Up to ε = 1 the construction is the same: decode the same reports."""
    mechanism = sv.HadamardResponse(d, epsilon=epsilon)
    reports = mechanism.randomise(people(d))
    ours = mechanism.estimate(mechanism.aggregate(reports)).values
    theirs = pure.HadamardResponseServer(epsilon, d, index_mapper=int)
    theirs.aggregate_all(reports.columns["y"].tolist())
    raw = theirs.estimate_all(range(d), suppress_warnings=True)
    assert raw / N == pytest.approx(ours, abs=1e-10)


@pytest.mark.parametrize(("epsilon", "d", "blocks", "size"), [(2.0, 123, 4, 32), (4.0, 223, 32, 8)])
def test_hadamard_pure_several_blocks(pure, epsilon, d, blocks, size):
    """Their values fill a block before the next one, ours go round: a permutation of values."""
    mechanism = sv.HadamardResponse(d, epsilon=epsilon)
    assert (mechanism.blocks, mechanism.block_size) == (blocks, size)
    reports = mechanism.randomise(people(d))
    ours = mechanism.estimate(mechanism.aggregate(reports)).values
    theirs = pure.HadamardResponseServer(epsilon, d, index_mapper=int)
    assert (theirs.hr.part, theirs.hr.partsz) == (blocks, size)
    values = np.arange(d)
    theirs.hr.permute = values % blocks * (size - 1) + values // blocks
    theirs.hr.reverse = np.argsort(theirs.hr.permute)
    theirs.aggregate_all(reports.columns["y"].tolist())
    raw = theirs.estimate_all(range(d), suppress_warnings=True)
    assert raw / N == pytest.approx(ours, abs=1e-10)
