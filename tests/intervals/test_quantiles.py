"""Bins and quantiles of numbers are covered, also where answers are heaped on edges of bins."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import EstimateError, ParameterError

LEAST = 0.93
EDGES = np.array([0.0, 0.1, 0.25, 0.5, 1.0])
QUANTILES = (0.1, 0.5, 0.9)


def answers(shape: str, n: int) -> np.ndarray:
    rng, part = np.random.default_rng(4), np.arange(n) / n
    return {
        "skewed": lambda: np.minimum(rng.lognormal(-3, 1, n), 1),
        "one number": lambda: np.full(n, 0.3137),
        "zeros": lambda: np.where(part < 0.45, 0.0, rng.beta(2, 3, n)),
        "on edges": lambda: np.where(part < 0.3, 0.25, np.where(part < 0.6, 0.0999, 0.5)),
        "heaped": lambda: np.round(rng.beta(2, 3, n) * 20) / 20,
    }[shape]()


SHAPES = ("skewed", "one number", "zeros", "on edges", "heaped")


@pytest.fixture(
    scope="module", params=[(sv.Piecewise, 1.0, 20_000), (sv.Hybrid, 5.0, 1_000)], ids=str
)
def collected(request):
    """True fractions and quantiles, and the histogram of seeded reports."""
    kind, epsilon, n = request.param
    mechanism, results = kind((0, 1), epsilon=epsilon), []
    for seed, shape in enumerate(SHAPES):
        column = answers(shape, n)
        true = np.histogram(column, EDGES)[0] / n
        ordered = np.sort(column)
        places = [ordered[int(np.ceil(q * n)) - 1] for q in QUANTILES]
        with testing.seeded(seed) as source:
            counts = mechanism.aggregate(mechanism.randomise(column, source=source))
            results.append((true, places, mechanism.estimate(counts, bins=EDGES)))
    return results


def coverage(collected, shrink: float) -> tuple[float, float]:
    """Of bins and of quantiles, with intervals shrunk towards their middle."""

    def covers(low, true, high):
        middle, half = (low + high) / 2, (high - low) / 2 * shrink
        return (middle - half - 1e-9 <= true) & (true <= middle + half + 1e-9)

    bins, quantiles = [], []
    for true, places, histogram in collected:
        low, high = histogram.interval()
        bins.extend(covers(low, true, high))
        for q, place in zip(QUANTILES, places, strict=True):
            quantile = histogram.quantile(q)
            quantiles.append(covers(quantile.low, place, quantile.high))
    return float(np.mean(bins)), float(np.mean(quantiles))


def test_bins_and_quantiles_are_covered(collected) -> None:
    assert min(coverage(collected, 1.0)) >= LEAST


def test_intervals_that_are_too_narrow_are_noticed(collected) -> None:
    assert max(coverage(collected, 0.25)) < LEAST


def test_a_quantile_lies_in_its_interval_and_in_the_range(collected) -> None:
    for _, _, histogram in collected:
        quartiles = [histogram.quantile(q) for q in (0.25, 0.5, 0.75)]
        assert all(0 <= one.low <= one.value <= one.high <= 1 for one in quartiles)
        for ends in ("low", "value", "high"):
            assert np.all(np.diff([getattr(one, ends) for one in quartiles]) >= 0)
        wider = histogram.median(confidence=0.999)
        assert wider.low <= quartiles[1].low
        assert quartiles[1].high <= wider.high


def test_quantiles_do_not_depend_on_bins_and_are_in_units_of_the_question() -> None:
    mechanism = sv.Piecewise(sv.Range("age", 20, 100), epsilon=6.0)
    with testing.seeded(1) as source:
        counts = mechanism.aggregate(mechanism.randomise([30.0] * 4000, source=source))
        few, many = (mechanism.estimate(counts, bins=bins) for bins in (2, [20, 25, 70, 100]))
    assert few.median() == many.median()
    assert few.median().value == pytest.approx(30, abs=2)
    assert few.labels == ("[20, 60)", "[60, 100]")
    assert many.values.sum() == pytest.approx(1)
    assert pickle.loads(pickle.dumps(many)).median() == many.median()
    with testing.seeded(1):
        population = many.for_population(10_000)
    assert population.interval().low == pytest.approx(many.interval().low)


def test_more_reports_give_narrower_intervals_of_bins() -> None:
    mechanism, widths = sv.Piecewise((0, 1), epsilon=5.0), []
    for n in (1000, 50_000):
        with testing.seeded(2) as source:
            column = np.random.default_rng(2).beta(2, 5, n)
            counts = mechanism.aggregate(mechanism.randomise(column, source=source))
            low, high = mechanism.estimate(counts, bins=8).interval()
        widths.append(float(np.mean(high - low)))
    assert widths[1] < widths[0] / 2


def test_of_few_reports_a_quantile_may_be_anything() -> None:
    mechanism = sv.Piecewise((0, 1), epsilon=0.1)
    histogram = mechanism.estimate(mechanism.aggregate(mechanism.randomise([0.5] * 20)), bins=3)
    assert histogram.median()[2:4] == (0.0, 1.0)


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        (0, "from 1 to 64"),
        (65, "from 1 to 64"),
        ([0, 0.5], "begin and end"),
        ([0, 0.5, 0.5, 1], "increasing"),
        (True, "edges"),
        ("many", "edges"),
    ],
)
def test_wrong_bins_are_refused(bins, words) -> None:
    mechanism = sv.Piecewise((0, 1), epsilon=1.0)
    counts = mechanism.aggregate(mechanism.randomise([0.5] * 20))
    with pytest.raises(ParameterError, match=words):
        mechanism.estimate(counts, bins=bins)


def test_what_has_no_distribution_says_so() -> None:
    for mechanism in (sv.Duchi((0, 1), epsilon=1.0), sv.Hybrid((0, 1), epsilon=0.5)):
        assert mechanism.words.endswith("mean only")
        counts = mechanism.aggregate(mechanism.randomise([0.5] * 20))
        with pytest.raises(ParameterError, match="one bit"):
            mechanism.estimate(counts, method="distribution")
    mechanism = sv.Piecewise((0, 1), epsilon=1.0)
    counts = mechanism.aggregate(mechanism.randomise([0.5] * 200))
    with pytest.raises(ParameterError, match="belong to a distribution"):
        mechanism.estimate(counts, method="variance", bins=3)
    with pytest.raises(EstimateError, match="not from bins"):
        mechanism.estimate(counts, bins=3).mean()
