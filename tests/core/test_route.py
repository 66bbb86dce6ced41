"""Counts that a protocol changed: what is stored, what merges, and what the estimate says."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from sottovoce import GRR, LIP, OUE, Aggregate, Guarantee, HadamardResponse, Levels, Promise
from sottovoce.contract.route import AddedNoise, Route
from sottovoce.errors import EstimateError, MergeError, ParameterError, WireError
from sottovoce.promise import LDP

GUARANTEE = Guarantee((Promise(LDP, 0.75, assuming=("the parties do not collude",)),))
#: A tiny noise: −1, 0 or 1 with probabilities 1/4, 1/2, 1/4.
LAW = {-1: 0.25, 0: 0.5, 1: 0.25}
NOISE = AddedNoise("binomial", 0.5, bound=1)
NOISY = Route("dpdg", GUARANTEE, NOISE)
ENDLESS = Route("dpdg", GUARANTEE, AddedNoise("discrete-laplace", 3.5))
THINNED = Route("dpcs", GUARANTEE, kept=0.5)
GRR3 = GRR(3, epsilon=1.0)


def counts(mechanism: Any, cells: Any, n: int, route: Route | None) -> Aggregate:
    tables = {mechanism.table: np.asarray(cells)}
    return Aggregate(mechanism.id, mechanism.digest, tables, n, n, route=route)


# --- what is stored ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "cells"),
    [
        (NOISY, [-1, 11, 0]),
        (ENDLESS, [-(10**6), 10**6, 3]),
        (THINNED, [0, 10, 0]),
        (Route("tss", GUARANTEE, NOISE, kept=0.5), [-1, 11, 2]),
        (Route("tss", Guarantee.none("it was a rehearsal")), [4, 5, 1]),
    ],
)
def test_what_the_route_allows_comes_back(route: Route, cells: list[int]) -> None:
    aggregate = counts(GRR3, cells, 10, route)
    back = Aggregate.from_bytes(aggregate.to_bytes(), expect=GRR3)
    assert back == aggregate
    assert back.route == route
    assert back.route.guarantee == route.guarantee


@pytest.mark.parametrize(
    ("route", "cells"),
    [
        (None, [-1, 8, 3]),
        (NOISY, [-2, 8, 4]),
        (NOISY, [12, 0, 0]),
        (THINNED, [-1, 0, 0]),
        (THINNED, [11, 0, 0]),
    ],
)
def test_what_it_does_not_allow_is_refused(route: Route | None, cells: list[int]) -> None:
    data = counts(GRR3, cells, 10, route).to_bytes()
    with pytest.raises(WireError, match="outside what 10 reports allow"):
        Aggregate.from_bytes(data, expect=GRR3)


def test_levels_and_records_do_not_come_by_a_protocol() -> None:
    menu = Levels({"a": GRR3})
    whole = menu.aggregate(menu.randomise([0, 1]))
    routed = Aggregate(**{**vars(whole), "route": NOISY})
    with pytest.raises(WireError, match="cannot come from a protocol"):
        Aggregate.from_bytes(routed.to_bytes(), expect=menu)


@pytest.mark.parametrize("kept", [0.0, -0.5, 1.5, float("nan")])
def test_a_route_keeps_some_holders(kept: float) -> None:
    with pytest.raises(ParameterError, match="probability above 0"):
        Route("dpcs", GUARANTEE, kept=kept)


@pytest.mark.parametrize(
    "noise", [("", 1.0), ("binomial", -1.0), ("x", float("inf")), ("x", 1.0, -1)]
)
def test_noise_has_a_law_and_a_variance(noise: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError, match="noise"):
        AddedNoise(*noise)


# --- what merges --------------------------------------------------------------------------------


def test_merging_adds_the_noise() -> None:
    a, b = counts(GRR3, [-1, 5, 3], 6, NOISY), counts(GRR3, [2, 5, 0], 6, NOISY)
    both = a + b
    assert both.route == Route("dpdg", GUARANTEE, AddedNoise("binomial", 1.0, bound=2))
    assert both.tables["support"].tolist() == [1, 10, 3]
    assert both == b + a
    assert sum([a, b, a]).route.noise == AddedNoise("binomial", 1.5, bound=3)
    endless = counts(GRR3, [0, 0, 0], 6, ENDLESS)
    assert (endless + endless).route.noise == AddedNoise("discrete-laplace", 7.0)


@pytest.mark.parametrize(
    "other",
    [
        None,
        ENDLESS,
        THINNED,
        Route("dpds", GUARANTEE, NOISE),
        Route("dpdg", GUARANTEE, NOISE, kept=0.5),
        Route("dpdg", Guarantee((Promise(LDP, 0.5),)), NOISE),
        Route("dpdg", GUARANTEE),
    ],
)
def test_routes_that_do_not_match_do_not_merge(other: Route | None) -> None:
    mine, theirs = counts(GRR3, [1, 2, 3], 6, NOISY), counts(GRR3, [1, 2, 3], 6, other)
    for a, b in ((mine, theirs), (theirs, mine)):
        with pytest.raises(MergeError, match=r"do(es)? not merge|separately"):
            a + b


# --- what is estimated --------------------------------------------------------------------------

MECHANISMS = [
    GRR(2, epsilon=1.0),
    OUE(2, epsilon=1.0),
    HadamardResponse(2, epsilon=1.0),
    LIP(prior=[0.3, 0.7], epsilon=1.0),
]


def outcomes(mechanism: Any, answers: list[int]) -> Any:
    """Counts of every possible batch of reports, and their probabilities."""
    reports, law = mechanism.every_report(), mechanism.channel().matrix
    single = [mechanism.count(reports[y : y + 1])[mechanism.table] for y in range(len(reports))]
    for ys in product(range(len(reports)), repeat=len(answers)):
        chance = float(np.prod([law[x, y] for x, y in zip(answers, ys, strict=True)]))
        yield np.sum([single[y] for y in ys], axis=0), chance


def moments(values: list[np.ndarray], chances: list[float]) -> tuple[np.ndarray, np.ndarray]:
    table, weights = np.array(values), np.array(chances)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    mean = weights @ table
    return mean, (table - mean).T @ ((table - mean) * weights[:, None])


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.id)
def test_the_covariance_holds_the_noise_exactly(mechanism: Any) -> None:
    """Every report of two people and every noise in every cell, weighed by its probability."""
    answers = [0, 1]
    values, chances, stated = [], [], []
    for cells, chance in outcomes(mechanism, answers):
        for noise in product(LAW, repeat=cells.size):
            weight = chance * float(np.prod([LAW[e] for e in noise]))
            estimate = mechanism.estimate(counts(mechanism, cells + noise, 2, NOISY))
            values.append(estimate.values)
            stated.append(estimate.covariance)
            chances.append(weight)
    mean, covariance = moments(values, chances)
    assert mean == pytest.approx([0.5, 0.5], abs=1e-9)
    plain = mechanism.covariance([0.5, 0.5], 2)
    assert np.trace(covariance) > np.trace(plain) * 1.01  # or the noise would not be seen
    if mechanism.id == "hadamard":  # it moves what is no distribution to one first
        added = mechanism.propagate(np.full(cells.size, NOISE.variance), 2, full=True)
        assert plain + added == pytest.approx(covariance, rel=1e-9)
    else:  # the plug-in is linear in the fractions, so that its mean is the exact covariance
        average = np.tensordot(chances, stated, axes=1)
        assert average == pytest.approx(covariance, rel=1e-9)
    estimate = mechanism.estimate(counts(mechanism, cells, 2, NOISY))
    assert estimate.variance == pytest.approx(np.diag(estimate.covariance))


@pytest.mark.parametrize("mechanism", [MECHANISMS[0], MECHANISMS[3]], ids=lambda m: m.id)
@pytest.mark.parametrize("noisy", [False, True], ids=["thinned", "thinned and noisy"])
def test_thinned_counts_are_unbiased_with_their_exact_variance(mechanism: Any, noisy: bool) -> None:
    """Each holder of a count is kept with probability .4; all ways to do so are enumerated."""
    kept, answers = 0.4, [0, 0, 1]
    route = Route("dpcs", GUARANTEE, NOISE if noisy else None, kept=kept)
    values, chances, stated = [], [], []
    for cells, chance in outcomes(mechanism, answers):
        for left in product(*(range(c + 1) for c in cells)):
            drawn = chance * float(
                np.prod(
                    [
                        comb(int(c), k) * kept**k * (1 - kept) ** (c - k)
                        for c, k in zip(cells, left, strict=True)
                    ]
                )
            )
            for noise in product(LAW, repeat=cells.size) if noisy else [(0,) * cells.size]:
                weight = drawn * float(np.prod([LAW[e] for e in noise])) if noisy else drawn
                estimate = mechanism.estimate(counts(mechanism, np.array(left) + noise, 3, route))
                values.append(estimate.values)
                stated.append(estimate.covariance)
                chances.append(weight)
    mean, covariance = moments(values, chances)
    assert mean == pytest.approx([2 / 3, 1 / 3], abs=1e-9)
    average = np.tensordot(chances, stated, axes=1)
    if not noisy:  # with noise, counts below zero count as none, so the error is a little larger
        assert average == pytest.approx(covariance, rel=1e-9)
    assert (np.diag(average) >= np.diag(covariance) * (1 - 1e-12)).all()
    assert np.diag(average) == pytest.approx(np.diag(covariance), rel=0.25)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.id)
def test_the_estimate_passes_on_the_guarantee_of_the_route(mechanism: Any) -> None:
    cells = mechanism.count(mechanism.every_report())[mechanism.table]
    n = len(mechanism.every_report())
    estimate = mechanism.estimate(counts(mechanism, cells, n, NOISY))
    assert estimate.guarantee == GUARANTEE
    assert mechanism.estimate(counts(mechanism, cells, n, None)).guarantee == mechanism.guarantee
    assert estimate.method == "unbiased"
    assert not estimate.biased


def test_methods_that_do_not_know_the_noise_are_refused() -> None:
    with pytest.raises(EstimateError, match="noise of their own, which 'mle' does not account for"):
        GRR3.estimate(counts(GRR3, [1, 2, 3], 6, NOISY), method="mle")


def test_reports_with_several_marks_cannot_be_thinned() -> None:
    oue = OUE(3, epsilon=1.0)
    with pytest.raises(EstimateError, match="raises several counts"):
        oue.estimate(counts(oue, [1, 2, 3], 6, THINNED))
