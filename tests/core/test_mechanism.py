"""What every mechanism refuses, and that it may be used from many threads at once."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sottovoce import GRR, OUE, Aggregate, Channel, Reports
from sottovoce.errors import DigestError, ParameterError, WireError
from sottovoce.mechanisms import REGISTRY
from tests.laws.entries import CATEGORICAL, answers, example

each = pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)


@each
def test_reports_of_others_are_refused(kind) -> None:
    mechanism = example(kind)
    theirs = example(kind, 2.0)
    reports = theirs.randomise(answers(theirs, 10))
    with pytest.raises(DigestError, match="digest"):
        mechanism.aggregate(reports)
    with pytest.raises(DigestError, match="digest"):
        mechanism.estimate(theirs.aggregate(reports))
    other = GRR(9, epsilon=1.0) if kind is OUE else OUE(9, epsilon=1.0)
    with pytest.raises(DigestError, match="is expected; use the study"):
        mechanism.aggregate(other.randomise([0]))


@each
def test_other_things_are_refused(kind) -> None:
    mechanism = example(kind)
    reports = mechanism.randomise(answers(mechanism, 10))
    counts = mechanism.aggregate(reports)
    for wrong in (counts, [0, 1], None, reports.to_bytes()):
        with pytest.raises(ParameterError, match="Reports expected"):
            mechanism.aggregate(wrong)
    for wrong in (reports, [0, 1], None):
        with pytest.raises(ParameterError, match="Aggregate expected"):
            mechanism.estimate(wrong)


@each
def test_binding_to_a_study_changes_the_digest_alone(kind) -> None:
    mechanism = example(kind)
    bound = mechanism.bind(bytes(range(32)))
    assert bound.digest == bytes(range(32))
    assert bound.guarantee == mechanism.guarantee
    assert bound.layout == mechanism.layout
    for wrong in (b"", bytes(31), bytes(33)):
        with pytest.raises(ParameterError, match="32 bytes"):
            mechanism.bind(wrong)


@each
def test_mechanisms_are_values(kind) -> None:
    assert example(kind) == example(kind)
    assert hash(example(kind)) == hash(example(kind))
    assert example(kind) != example(kind, 2.0)
    with pytest.raises(AttributeError):
        example(kind).epsilon = 3.0


@each
def test_nobody_and_one_person(kind) -> None:
    mechanism = example(kind)
    for n in (0, 1):
        reports = mechanism.randomise(answers(mechanism, n))
        assert len(reports) == n
        assert mechanism.aggregate(reports).reports == n


@each
def test_many_threads_share_one_mechanism(kind) -> None:
    mechanism = example(kind, 1.0, 50)
    people = answers(mechanism, 3000)
    found: list[Aggregate] = []

    def work() -> None:
        for _ in range(5):
            found.append(mechanism.aggregate(mechanism.randomise(people)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    total = sum(found)
    assert total.people == 40 * 3000
    estimate = mechanism.estimate(total)
    if kind.id in CATEGORICAL:
        assert np.abs(estimate.values - 0.02).max() < 12 * estimate.std_error.max()
    else:
        assert abs(estimate.values[0] - 0.5) < 12 * estimate.std_error[0]


@each
def test_estimates_are_near_the_truth(kind) -> None:
    # Twelve standard errors: not a test of the law (that is exact elsewhere) but of the route.
    mechanism = example(kind, 2.0, 20)
    counts = mechanism.aggregate(mechanism.randomise(answers(mechanism, 20_000)))
    estimate = mechanism.estimate(counts)
    true = np.full(20, 0.05) if kind.id in CATEGORICAL else np.array([0.5])
    assert (np.abs(estimate.values - true) < 12 * estimate.std_error).all()


class TestChannel:
    channel = GRR(3, epsilon=1.0).channel()

    def test_the_matrix_is_its_floats(self) -> None:
        assert self.channel.matrix.shape == (3, 3)
        assert np.allclose(self.channel.matrix.sum(axis=1), 1)
        assert self.channel.matrix[0, 0] == pytest.approx(np.e / (np.e + 2))

    def test_a_channel_that_can_rule_an_answer_out_has_no_epsilon(self) -> None:
        from fractions import Fraction

        half, no = Fraction(1, 2), Fraction(0)
        rows = ((half, half, no), (half, no, half))
        assert Channel(["a", "b"], ["x", "y", "z"], rows).epsilon() == float("inf")
        same = ((half, half, no), (half, half, no))
        assert Channel(["a", "b"], ["x", "y", "z"], same).epsilon() == 0.0

    def test_information_privacy_by_hand(self) -> None:
        # P(x|y) / P(x) = P(y|x) / P(y); at a uniform prior P(y) = 1/3.
        p, q = np.e / (np.e + 2), 1 / (np.e + 2)
        expected = max(abs(np.log(3 * p)), abs(np.log(3 * q)))
        assert self.channel.level([1 / 3] * 3) == pytest.approx(expected)
        # Answers held for impossible count too: else nothing would hold for those who give them.
        assert self.channel.level([1.0, 0.0, 0.0]) == pytest.approx(1.0)

    def test_information_privacy_is_at_most_epsilon(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(50):
            assert self.channel.level(rng.dirichlet(np.ones(3))) <= 1.0 + 1e-12

    @pytest.mark.parametrize("prior", [[0.5, 0.5], [0.5, 0.6, 0.1], [1.5, -0.5, 0.0]])
    def test_what_is_no_prior_is_refused(self, prior: list[float]) -> None:
        with pytest.raises(ParameterError, match="prior"):
            self.channel.level(prior)


@pytest.mark.parametrize("d", [2, 8, 9, 64, 65, 100, 513])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 1000, 5000])
def test_counting_bits_is_plain_counting(d: int, n: int) -> None:
    # The kernel adds sixteen reports at a time; numpy adds them one by one.
    mechanism = OUE(d, epsilon=1.0)
    reports = mechanism.randomise(np.arange(n) % d)
    bits = np.unpackbits(reports.columns["bits"], axis=1, bitorder="little")[:, :d]
    assert mechanism.aggregate(reports).tables["support"].tolist() == bits.sum(axis=0).tolist()
    full = Reports(mechanism.id, mechanism.digest, {"bits": np.packbits(
        np.ones((n, d), np.uint8), axis=1, bitorder="little")})  # fmt: skip
    assert mechanism.aggregate(full).tables["support"].tolist() == [n] * d


def test_counting_bits_beyond_one_round_of_the_counters() -> None:
    mechanism = OUE(3, epsilon=1.0)
    n = 300_001
    ones = Reports(mechanism.id, mechanism.digest, {"bits": np.full((n, 1), 7, np.uint8)})
    assert mechanism.aggregate(ones).tables["support"].tolist() == [n] * 3


@pytest.mark.parametrize("offset", range(8))
def test_counting_does_not_depend_on_alignment(offset: int) -> None:
    mechanism = OUE(24, epsilon=1.0)
    raw = np.random.default_rng(0).integers(0, 256, 3 * 5000 + 8, np.uint8)
    rows = raw[offset : offset + 15_000].reshape(5000, 3)
    expected = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0)
    reports = Reports(mechanism.id, mechanism.digest, {"bits": rows})
    assert mechanism.aggregate(reports).tables["support"].tolist() == expected.tolist()


@pytest.mark.parametrize("d", [2, 256, 257, 65_536, 65_537, 100_000])
def test_counting_values_is_plain_counting(d: int) -> None:
    mechanism = GRR(d, epsilon=1.0)
    values = np.random.default_rng(d).integers(0, d, 20_003).astype(mechanism.domain.dtype)
    reports = Reports(mechanism.id, mechanism.digest, {"value": values})
    counted = mechanism.aggregate(reports).tables["support"]
    assert np.array_equal(counted, np.bincount(values, minlength=d))


def test_a_value_out_of_range_is_not_counted() -> None:
    # Also where the reports did not come over the wire: the kernel must not write beyond its table.
    for d in (3, 300, 70_000):
        mechanism = GRR(d, epsilon=1.0)
        values = np.array([0, d, 1], mechanism.domain.dtype)
        with pytest.raises(WireError, match=str(d)):
            mechanism.aggregate(Reports(mechanism.id, mechanism.digest, {"value": values}))
