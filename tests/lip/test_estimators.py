"""Every estimator against its formula, and every error against what happens.

Everything is drawn from numpy with a seed, so that nothing here can fail by chance.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from sottovoce import LIP, Aggregate, Estimate
from sottovoce.errors import EstimateError, ParameterError

P3 = np.array([0.5, 0.3, 0.2])
MECHANISMS = [
    LIP(2, prior=0.1, epsilon=1.0),
    LIP(prior=P3, epsilon=1.0),
    LIP(prior=[0.0, 0.6, 0.4], epsilon=2.0),
    LIP(prior=P3, epsilon=1.0, variant="a-optimal"),
    LIP(prior=P3, epsilon=1.0, variant="mmse-optimal"),
    LIP(prior=P3, epsilon=1.0, variant="opt-ldp"),
]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.variant}-{m.centre[0]}")
UNCLEAR = LIP(prior=[0.9, 0.05, 0.05], epsilon=1.0, variant="mmse-optimal")


def counted(mechanism: LIP, counts: np.ndarray) -> Aggregate:
    tables = {"outputs": np.asarray(counts, np.int64)}
    n = int(np.sum(counts))
    return Aggregate(mechanism.id, mechanism.digest, tables, n, n)


def reports_of(mechanism: LIP, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts of reports when so many people give each answer."""
    rows = mechanism.matrix / mechanism.matrix.sum(axis=1, keepdims=True)
    return sum(rng.multinomial(n, row) for n, row in zip(people, rows, strict=True))


def repeated(
    mechanism: LIP, people: np.ndarray, rounds: int, seed: int, **options: object
) -> list[Estimate]:
    rng = np.random.default_rng(seed)
    return [
        mechanism.estimate(counted(mechanism, reports_of(mechanism, people, rng)), **options)
        for _ in range(rounds)
    ]


def seen_error(found: list[Estimate], truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean squared error as it happened, and as the estimates said on average."""
    happened = np.mean([(e.values - truth) ** 2 for e in found], axis=0)
    return happened, np.mean([e.variance for e in found], axis=0)


def believable(said: np.ndarray, happened: np.ndarray, within: float) -> bool:
    return bool((np.abs(said.sum() / happened.sum() - 1) <= within).all())


# --- formulas ------------------------------------------------------------------------------------


@each
def test_posterior_means_by_bayes(mechanism: LIP) -> None:
    rng = np.random.default_rng(1)
    counts = reports_of(mechanism, np.full(mechanism.domain.size, 500), rng)
    estimate = mechanism.estimate(counted(mechanism, counts), method="mmse")
    prior, q = mechanism.centre, mechanism.matrix
    expected = np.zeros(prior.size)
    for y, c in enumerate(counts):
        expected += c * prior * q[:, y] / (prior @ q[:, y])
    assert estimate.values == pytest.approx(expected / counts.sum(), abs=1e-12)
    assert estimate.biased
    assert "prior" in estimate.assuming
    assert estimate.values.sum() == pytest.approx(1.0)


def test_without_matrices_it_is_the_same() -> None:
    rng = np.random.default_rng(2)
    for d in (2, 3, 10):
        for _ in range(20):
            p = rng.dirichlet(np.ones(d))
            mechanism = LIP(prior=p, epsilon=float(rng.uniform(0.1, 4)))
            fractions = rng.dirichlet(np.ones(d))
            joint = p[:, None] * mechanism.matrix
            dense = joint / joint.sum(axis=0) @ fractions
            mixed = mechanism.prior_fractions("mmse", fractions, 1, None)
            assert dense == pytest.approx(mixed, rel=1e-9, abs=1e-14)
            total = 1 - (joint**2 / joint.sum(axis=0)).sum()
            assert mechanism.mmse_error() == pytest.approx(total, abs=1e-13)


def reliability(mechanism: LIP) -> float:
    p, (keep, rest) = mechanism.centre, mechanism._mix
    seen = rest + keep * p
    return float(p[0] * p[1] * keep**2 / (seen[0] * seen[1]))


def test_for_two_values_it_is_drawn_to_the_prior_by_the_reliability() -> None:
    rng = np.random.default_rng(3)
    for p in (0.01, 0.1, 0.4):
        mechanism = LIP(2, prior=p, epsilon=1.0)
        counts = counted(mechanism, reports_of(mechanism, np.array([300, 700]), rng))
        u = mechanism.estimate(counts).values
        mmse = mechanism.estimate(counts, method="mmse").values
        assert mmse == pytest.approx(
            mechanism.centre + reliability(mechanism) * (u - mechanism.centre), abs=1e-12
        )
        error = p * (1 - p) * (1 - reliability(mechanism))
        assert mechanism.mmse_error() == pytest.approx(2 * error, abs=1e-12)


def test_its_bias_does_not_go_away_with_many_people() -> None:
    mechanism = LIP(2, prior=0.1, epsilon=1.0)
    assert (1 - reliability(mechanism)) * (0.1 - 0.3) == pytest.approx(-0.1759, abs=5e-5)
    for n in (1000, 10**6):
        people = np.array([0.3 * n, 0.7 * n]).astype(int)
        runs = repeated(mechanism, people, 200, seed=n, method="mmse")
        bias = np.mean([e.values[0] for e in runs]) - 0.3
        assert bias == pytest.approx(-0.1759, abs=2e-3)


@each
def test_shrinking_goes_from_posterior_means_to_unbiased(mechanism: LIP) -> None:
    rng = np.random.default_rng(4)
    counts = counted(mechanism, reports_of(mechanism, np.full(mechanism.domain.size, 500), rng))
    mmse = mechanism.estimate(counts, method="mmse").values
    u = mechanism.estimate(counts, method="unbiased").values
    least = mechanism.estimate(counts, method="shrunk", prior_sd=0).values
    most = mechanism.estimate(counts, method="shrunk", prior_sd=1e6).values
    assert least == pytest.approx(mmse, abs=1e-9)
    assert most == pytest.approx(u, abs=1e-9)
    between = mechanism.estimate(counts, method="shrunk", prior_sd=0.02)
    assert between.values.sum() == pytest.approx(1.0)
    assert between.assuming


def test_shrinking_two_values_has_the_weight_of_the_page() -> None:
    mechanism, n, tau = LIP(2, prior=0.1, epsilon=1.0), 1000, 0.03
    rng = np.random.default_rng(5)
    counts = counted(mechanism, reports_of(mechanism, np.array([150, 850]), rng))
    u = mechanism.estimate(counts).values[0]
    v = mechanism.variance([0.1, 0.9], n)[0]
    weight = (0.09 / n + tau**2) / (0.09 / n + tau**2 + v)
    estimate = mechanism.estimate(counts, method="shrunk", prior_sd=tau)
    assert estimate.values[0] == pytest.approx(0.1 + weight * (u - 0.1), abs=1e-12)


def test_the_likeliest_share_of_two_is_the_clipped_one() -> None:
    rng = np.random.default_rng(6)
    mechanism = LIP(2, prior=0.1, epsilon=1.0)
    for people in ([0, 300], [10, 290], [150, 150], [300, 0]):
        counts = counted(mechanism, reports_of(mechanism, np.array(people), rng))
        u = mechanism.estimate(counts).values
        assert mechanism.estimate(counts, method="mle").values == pytest.approx(np.clip(u, 0, 1))


@each
def test_the_likeliest_shares_are_a_maximum(mechanism: LIP) -> None:
    rng = np.random.default_rng(7)
    d = mechanism.domain.size
    counts = reports_of(mechanism, np.array([5, 100, 40][:d]), rng)
    estimate = mechanism.estimate(counted(mechanism, counts), method="mle")

    def likelihood(f: np.ndarray) -> float:
        return float(counts @ np.log(f @ mechanism.matrix))

    best = likelihood(estimate.values)
    for other in rng.dirichlet(np.ones(d), 300):
        assert likelihood(0.9 * estimate.values + 0.1 * other) <= best + 0.011  # the rule of EM
    if mechanism._mix is not None:
        gradient = (mechanism.matrix * (counts / (estimate.values @ mechanism.matrix))).sum(axis=1)
        assert gradient.max() <= counts.sum() * (1 + 1e-9)  # exact in closed form


# --- errors --------------------------------------------------------------------------------------

ROUNDS = 3000


@each
def test_the_unbiased_estimate_is_unbiased_with_the_stated_variance(mechanism: LIP) -> None:
    d = mechanism.domain.size
    people = np.array([400, 100, 500][:d])
    truth = people / people.sum()
    runs = repeated(mechanism, people, ROUNDS, seed=8, method="unbiased")
    happened, said = seen_error(runs, truth)
    exact = mechanism.variance(truth, int(people.sum()))
    assert np.abs(np.mean([e.values for e in runs], axis=0) - truth).max() < 5 * np.sqrt(
        exact.max() / ROUNDS
    )
    assert believable(exact, happened, 0.1)
    assert believable(said, happened, 0.1)
    assert not believable(0.75 * said, happened, 0.1)


def covered(found: list[Estimate], truth: np.ndarray) -> float:
    """How often the interval of each value holds, at the least."""
    inside = [(e.interval().low <= truth) & (truth <= e.interval().high) for e in found]
    return float(np.mean(inside, axis=0).min())


@each
@pytest.mark.parametrize("off", [0.0, 0.3])
def test_posterior_means_have_intervals_that_do_not_lean_on_the_prior(
    mechanism: LIP, off: float
) -> None:
    d, n = mechanism.domain.size, 20_000
    fractions = (1 - off) * mechanism.centre + off * np.eye(d)[-1]
    people = np.round(fractions * n).astype(int)
    truth = people / people.sum()
    runs = repeated(mechanism, people, 400, seed=9, method="mmse")
    assert covered(runs, truth) >= 0.93
    if off:  # planted fault: around the posterior mean, with the noise of the reports alone
        half = 1.96 * np.std([e.values for e in runs], axis=0)
        inside = np.mean([np.abs(e.values - truth) <= half for e in runs], axis=0)
        assert inside.min() < 0.5


@each
def test_shrinking_has_intervals_that_hold_also_where_the_prior_is_further_off(
    mechanism: LIP,
) -> None:
    d, n = mechanism.domain.size, 4000
    fractions = 0.8 * mechanism.centre + 0.2 * np.eye(d)[-1]
    people = np.round(fractions * n).astype(int)
    runs = repeated(mechanism, people, 400, seed=10, method="shrunk", prior_sd=0.02)
    assert covered(runs, people / people.sum()) >= 0.93


@pytest.mark.parametrize("mechanism", MECHANISMS[:4], ids=["2", "3", "zeros", "a-optimal"])
def test_the_likeliest_fractions_have_the_interval_of_the_unbiased_ones(mechanism: LIP) -> None:
    people = np.array([400, 900, 700][: mechanism.domain.size])
    runs = repeated(mechanism, people, 1000, seed=11, method="mle")
    assert covered(runs, people / people.sum()) >= 0.93
    one = runs[0]
    low, high = one.raw.interval()
    assert one.interval().low == pytest.approx(np.clip(np.minimum(low, one.values), 0, 1))
    assert one.interval().high == pytest.approx(np.clip(np.maximum(high, one.values), 0, 1))


def test_what_cannot_be_identified_has_the_range_that_the_reports_allow() -> None:
    rng = np.random.default_rng(14)
    for people in ([900, 90, 10], [300, 300, 400], [1000, 0, 0]):
        truth = np.array(people) / sum(people)
        for method in UNCLEAR.methods:
            estimates = [
                UNCLEAR.estimate(counted(UNCLEAR, reports_of(UNCLEAR, people, rng)), method=method)
                for _ in range(60)
            ]
            assert covered(estimates, truth) >= 0.95
    assert estimates[0].interval().high[1] > estimates[0].values[1]


#: rmse about the people at ε = 1, P1 = .1: (n, f): mmse, unbiased, mle; known figures
#: come from fewer rounds, hence 5 %.
TABLE = {
    (1000, 0.1): (0.0089, 0.0258, 0.0258),
    (1000, 0.11): (0.0124, 0.0256, 0.0256),
    (1000, 0.15): (0.0451, 0.0257, 0.0257),
    (1000, 0.3): (0.1765, 0.0258, 0.0258),
    (1000, 0.0): (0.0880, 0.0247, 0.0177),
    (10_000, 0.11): (0.0092, 0.0081, 0.0081),
}


@pytest.mark.parametrize(("n", "f"), TABLE)
def test_root_mean_square_errors_of_the_page(n: int, f: float) -> None:
    mechanism = LIP(2, prior=0.1, epsilon=1.0)
    rng = np.random.default_rng(12)
    errors: dict[str, list[float]] = {"mmse": [], "unbiased": [], "mle": []}
    for _ in range(1500):
        yes = int(rng.binomial(n, f))
        counts = counted(mechanism, reports_of(mechanism, np.array([yes, n - yes]), rng))
        for method, found in errors.items():
            found.append(mechanism.estimate(counts, method=method).values[0] - yes / n)
    realised = [float(np.sqrt(np.mean(np.square(found)))) for found in errors.values()]
    assert realised == pytest.approx(TABLE[n, f], rel=0.05)


def test_most_of_the_utility_is_the_prior() -> None:
    # n = 10⁴, P1 = .1, right prior: posterior means .00283, answering P1 without asking .0030.
    mechanism = LIP(2, prior=0.1, epsilon=1.0)
    assert math.sqrt(mechanism.mmse_error() / 2 / 10**4) == pytest.approx(0.00281, abs=2e-5)
    assert math.sqrt(0.09 / 10**4) == 0.003
    v, rho2 = mechanism.variance([0.1, 0.9], 10**4)[0], reliability(mechanism)
    assert math.sqrt(v * (1 + rho2) / (1 - rho2)) == pytest.approx(0.009, abs=2e-4)


def test_likelihood_does_a_little_better_than_inversion_with_few_people() -> None:
    # Six values, ε = 1, 500 people: posterior means only where the prior is right.
    p = np.array([0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    mechanism = LIP(prior=p, epsilon=1.0)
    for wrong, best in ((0.0, "mmse"), (1.0, "mle")):
        share = (1 - wrong) * p + wrong * p[::-1]
        people = np.round(500 * share).astype(int)
        total = {}
        for method in ("mmse", "unbiased", "mle"):
            runs = repeated(mechanism, people, 300, seed=13, method=method)
            total[method] = seen_error(runs, people / people.sum())[0].sum()
        assert min(total, key=total.get) == best
        assert total["mle"] < total["unbiased"]


# --- what is offered, and what is refused --------------------------------------------------------


def test_the_default_is_unbiased_and_pages_show_the_likeliest() -> None:
    mechanism = LIP(prior=P3, epsilon=1.0)
    assert list(mechanism.methods) == ["unbiased", "mle", "mmse", "shrunk"]
    assert mechanism.shown_method == "mle"
    assert not mechanism.estimate(mechanism.aggregate(mechanism.every_report())).biased
    response = LIP(prior=P3, epsilon=1.0, variant="opt-ldp")
    assert next(iter(response.methods)) == "unbiased"
    free = LIP(prior=P3, epsilon=1.0, variant="context-free-ldp")
    assert next(iter(free.methods)) == "unbiased"


def test_without_the_prior_itself_nothing_leans_on_it() -> None:
    for mechanism in (LIP(3, epsilon=1.0), LIP(prior_low=[0, 0], prior_high=[1, 0.5], epsilon=1)):
        assert list(mechanism.methods) == ["unbiased", "mle"]
        counts = mechanism.aggregate(mechanism.every_report())
        for method in ("mmse", "shrunk"):
            with pytest.raises(ParameterError, match="needs the prior itself"):
                mechanism.estimate(counts, method=method)


def test_what_cannot_be_inverted_says_so() -> None:
    assert not UNCLEAR.invertible
    assert list(UNCLEAR.methods) == ["mle", "mmse"]
    counts = counted(UNCLEAR, np.array([900, 100][: UNCLEAR.cells]))
    with pytest.raises(EstimateError, match="same reports"):
        UNCLEAR.estimate(counts, method="unbiased")
    with pytest.raises(EstimateError, match="same reports"):
        UNCLEAR.variance([0.9, 0.05, 0.05], 10)
    with pytest.raises(ParameterError, match="no method 'shrunk'"):
        UNCLEAR.estimate(counts, method="shrunk", prior_sd=0.1)
    estimate = UNCLEAR.estimate(counts)
    assert estimate.method == "mle"
    likeliest = UNCLEAR.estimate(counts, method="mle")
    assert "cannot decide" in likeliest.assuming
    assert likeliest.values.sum() == pytest.approx(1.0)
    # The two rare values cannot be told apart, so the prior decides between them.
    assert likeliest.values[1] == pytest.approx(likeliest.values[2], abs=1e-9)
    assert np.isfinite(likeliest.std_error).all()


@pytest.mark.parametrize("method", [None, "unbiased", "mle", "mmse"])
def test_a_prior_sd_goes_with_shrinking_alone(method: str | None) -> None:
    mechanism = MECHANISMS[0]
    counts = mechanism.aggregate(mechanism.every_report())
    with pytest.raises(ParameterError, match="method='shrunk' needs prior_sd"):
        mechanism.estimate(counts, method=method, prior_sd=0.1)


@pytest.mark.parametrize("sd", [-1, math.nan, math.inf, True, "0.1", [0.1]], ids=str)
def test_what_is_no_standard_deviation_is_refused(sd: object) -> None:
    mechanism = MECHANISMS[0]
    counts = mechanism.aggregate(mechanism.every_report())
    with pytest.raises(ParameterError, match="prior_sd is"):
        mechanism.estimate(counts, method="shrunk", prior_sd=sd)
    with pytest.raises(ParameterError, match="needs prior_sd"):
        mechanism.estimate(counts, method="shrunk")
    assert mechanism.estimate(counts, method="shrunk", prior_sd=np.float32(0.1)).n == 2


@each
def test_nobody_is_nothing_to_estimate(mechanism: LIP) -> None:
    nobody = mechanism.aggregate(mechanism.every_report()[:0])
    for method in mechanism.methods:
        sd = {"prior_sd": 0.1} if method == "shrunk" else {}
        with pytest.raises(EstimateError, match="no reports"):
            mechanism.estimate(nobody, method=method, **sd)
