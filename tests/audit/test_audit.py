"""Audits: they catch small faults, leave honest mechanisms alone, and take foreign objects."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.auditing.audit import AuditError, Finding
from sottovoce.auditing.events import lower_bound
from sottovoce.errors import ParameterError
from sottovoce.promise import LDP, Promise
from sottovoce.randomness import Probability

# A false alarm once in ten million for each honest mechanism.
SURE = 1 - 1e-7

HONEST = [
    sv.GRR(4, epsilon=1.0),
    sv.GRR(["yes", "no"], epsilon=3.0),
    sv.OUE(4, epsilon=1.0),
    sv.OUE(300, epsilon=1.0),
    sv.SUE(10, epsilon=2.0),
    sv.OLH(50, epsilon=1.0),
    sv.SubsetSelection(20, epsilon=1.0),
    sv.HadamardResponse(40, epsilon=2.0),
    sv.Duchi((0, 1), epsilon=1.0),
    sv.Piecewise((-5, 5), epsilon=1.0),
    sv.Hybrid((0, 100), epsilon=1.0),
    sv.GRR(sv.Attribute.bins("age", [0, 18, 65, float("inf")]), epsilon=1.0),
]


class LeakyOUE(sv.OUE):
    """Sets other bits 5 % too rarely."""

    @property
    def other_bit(self) -> Probability:
        return Probability(int(super().other_bit.numerator * 0.95))


class LeakyGRR(sv.GRR):
    """Keeps the truth 5 % too often."""

    @property
    def keep(self) -> Probability:
        return Probability(int(super().keep.numerator * 1.05))


@pytest.mark.parametrize("mechanism", HONEST, ids=lambda m: f"{m.id}-{m.domain.size}")
def test_honest_mechanisms_pass(mechanism):
    (finding,) = sv.audit(mechanism, trials=40_000, confidence=SURE)
    assert not finding.broken
    assert finding.trials == 40_000


@pytest.mark.parametrize("mechanism", HONEST[:9], ids=lambda m: f"{m.id}-{m.domain.size}")
def test_the_bound_comes_near_the_truth(mechanism):
    (finding,) = sv.audit(mechanism, trials=200_000, confidence=SURE)
    assert finding.epsilon > 0.8 * mechanism.epsilon


@pytest.mark.parametrize("kind", [LeakyOUE, LeakyGRR])
def test_five_per_cent_too_little_noise_is_caught(kind):
    """One audit misses once in 700 (bound: mean 1.031, sd .0103), three of five with 3e-8."""
    caught = []
    for _ in range(5):
        try:
            sv.audit(kind(4, epsilon=1.0))
        except AuditError as error:
            caught.append(error)
    assert len(caught) >= 3
    for error in caught:
        assert "BROKEN" in str(error)
        assert error.finding.broken
        assert error.finding.epsilon > 1.0
        assert error.finding.as_dict()["broken"] is True


def bound(a, b, n, delta=0.0):
    return lower_bound(a, b, np.array([n, n]), delta, 0.05)


def test_a_confidence_interval_covers_as_often_as_it_says():
    """The bound exceeds the true epsilon in at most 5 % of many audits' testing halves."""
    p, q, n = 0.6, 0.3, 2_000
    rng = np.random.default_rng(3)
    a, b = rng.binomial(n, p, 20_000), rng.binomial(n, q, 20_000)
    wrong = (bound(a, b, n) > np.log(p / q)).mean()
    # Clopper and Pearson's intervals are exact, so never above; 20,000 runs resolve 0.8 %.
    assert wrong <= 0.05


def test_bounds_at_the_ends_are_finite_or_say_nothing():
    bounds = bound(np.array([0, 100, 100]), np.array([0, 0, 100]), 100)
    assert bounds[0] == -np.inf
    assert 2 < bounds[1] < 10
    assert bounds[2] < 0


def test_delta_is_taken_off():
    strict = bound(np.array([50]), np.array([10]), 100)
    loose = bound(np.array([50]), np.array([10]), 100, delta=0.2)
    assert loose < strict


class Coin:
    """A foreign randomiser of bits that tells the truth with probability `p`."""

    def __init__(self, p: float) -> None:
        self.p = p
        self.rng = np.random.default_rng(5)

    def randomise(self, values):
        bits = np.asarray(values)
        return np.where(self.rng.random(bits.size) < self.p, bits, 1 - bits)


def test_foreign_objects_are_audited():
    promise = Promise(LDP, 1.0)
    honest = Coin(np.e / (1 + np.e))
    (finding,) = sv.audit(honest, inputs=[0, 1], promise=promise, confidence=SURE)
    assert 0.9 < finding.epsilon <= 1.0
    with pytest.raises(AuditError):
        sv.audit(Coin(0.8), inputs=[0, 1], promise=promise)


def test_a_foreign_object_that_sends_the_answer_is_caught():
    class Naked:
        def randomise(self, values):
            return list(values)

    with pytest.raises(AuditError) as caught:
        sv.audit(Naked(), inputs=["a", "b"], promise=Promise(LDP, 1.0), trials=10_000)
    assert caught.value.finding.epsilon > 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 10}, "at least 1,000"),
        ({"trials": True}, "whole number"),
        ({"confidence": 1.0}, "between 0.5 and 1"),
        ({"inputs": [0]}, "at least two"),
    ],
)
def test_bad_questions_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        sv.audit(sv.GRR(4, epsilon=1.0), **options)


def test_a_foreign_object_must_say_what_it_promises():
    with pytest.raises(ParameterError, match="promise"):
        sv.audit(Coin(0.7), inputs=[0, 1])
    with pytest.raises(ParameterError, match="randomise"):
        sv.audit(object())


def test_a_finding_says_what_was_seen():
    finding = Finding(
        0.5, Promise(LDP, 1.0), 0.95, 1000, ("a", "b"), "the report being 1", ((9, 10), (1, 10))
    )
    assert "proves nothing" in str(finding)
    assert "9 of 10" in str(finding)


def test_the_function_wins_over_its_room():
    import sottovoce.auditing.audit  # noqa: F401

    for _ in range(2):
        assert callable(sv.audit)
        assert sv.audit(sv.GRR(2, epsilon=1.0), trials=2000, confidence=SURE)


def test_more_inputs_than_the_trials_are_enough_for_are_refused():
    """They would leave no reports to test, and a finding of a negative number of them."""
    with pytest.raises(ParameterError, match=r"600 inputs need at least 4,000"):
        sv.audit(sv.GRR(600, epsilon=1.0), trials=1_000, inputs=range(600))


def test_progress_counts_the_reports_of_all_comparisons() -> None:
    seen: list[tuple[int, int]] = []
    several = [sv.GRR(3, epsilon=1.0), sv.Levels.of(sv.GRR, 2, {"a": 1, "b": 2})]
    sv.audit(several, trials=10_000, progress=lambda drawn, of: seen.append((drawn, of)))
    assert seen == sorted(seen)
    assert {of for _, of in seen} == {30_000}
    assert 29_900 < seen[-1][0] <= 30_000
