"""Audits of menus of levels and of sampled people: every level, and silence, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.auditing.audit import AuditError
from sottovoce.auditing.events import Event
from sottovoce.errors import ParameterError
from sottovoce.participation.reports import SILENCE
from sottovoce.promise import LDP, Promise

from .test_audit import SURE

MENU = {"strong": 0.5, "weak": 3.0}

HONEST = {
    "levels of values": (sv.Levels.of(sv.OUE, 4, MENU), ["level 'strong'", "level 'weak'"]),
    "levels of mixed kinds": (
        sv.Levels({"a": sv.GRR(300, epsilon=1.0), "b": sv.OLH(300, epsilon=2.0)}),
        ["level 'a'", "level 'b'"],
    ),
    "levels of numbers": (
        sv.Levels.of(sv.Hybrid, sv.Range("q", 0, 9), MENU),
        ["level 'strong'", "level 'weak'"],
    ),
    "one rate": (sv.Sampled(sv.GRR(4, epsilon=1.0), rate=0.3), ["rate 0.3"]),
    "many rates": (
        sv.Sampled(sv.SubsetSelection(9, epsilon=1.0), rate=[0.5, 0.1, 1.0, 0.2, 0.3]),
        ["rate 0.1", "rate 0.3", ""],
    ),
    "nobody reports": (
        sv.Sampled(sv.Duchi((0, 1), epsilon=1.0), rate=[0.0, 0.5]),
        ["rate 0", "rate 0.5"],
    ),
    "sampled levels": (
        sv.Sampled(sv.Levels.of(sv.GRR, 3, MENU), rate=0.5),
        ["level 'strong', rate 0.5", "level 'weak', rate 0.5"],
    ),
    "levels of sampled": (
        sv.Levels({"a": sv.Sampled(sv.GRR(3, epsilon=1.0), rate=0.5), "b": sv.GRR(3, epsilon=2.0)}),
        ["level 'a', rate 0.5", "level 'b'"],
    ),
}


@pytest.mark.parametrize(("mechanism", "choices"), HONEST.values(), ids=HONEST.keys())
def test_honest_ones_pass_at_every_choice(mechanism: sv.Mechanism, choices: list[str]) -> None:
    findings = sv.audit(mechanism, trials=20_000, confidence=SURE)
    assert [finding.choice for finding in findings] == choices
    assert not any(finding.broken for finding in findings)
    for finding in findings:
        assert str(finding).startswith(
            f"At {finding.choice}: epsilon is" if finding.choice else "eps"
        )
        assert finding.comparisons == len(choices)
        assert finding.as_dict()["choice"] == finding.choice


def test_each_level_is_held_to_its_own_promise() -> None:
    strong, weak = sv.audit(sv.Levels.of(sv.GRR, 2, MENU), trials=100_000, confidence=SURE)
    assert (strong.promise.epsilon, weak.promise.epsilon) == (0.5, 3.0)
    # 25,000 reports a side: the bounds are 0.41 ± 0.02 and 2.7 ± 0.05.
    assert 0.25 < strong.epsilon <= 0.5
    assert 2.2 < weak.epsilon <= 3.0


def test_a_leak_in_one_level_is_caught() -> None:
    """40 % too little noise; the bound is 1.9 with a standard deviation of .02, promised is 1."""

    class Leaky(sv.GRR):
        @property
        def keep(self) -> sv.randomness.Probability:
            from sottovoce.randomness import Probability

            return Probability(int(super().keep.numerator * 1.4))

    menu = sv.Levels({"honest": sv.GRR(4, epsilon=1.0), "leaky": Leaky(4, epsilon=1.0)})
    with pytest.raises(AuditError, match=r"level 'leaky'.*BROKEN"):
        sv.audit(menu, trials=200_000, confidence=SURE)
    sampled = sv.Sampled(Leaky(4, epsilon=1.0), rate=0.5)
    with pytest.raises(AuditError, match=r"rate 0\.5.*BROKEN"):
        sv.audit(sampled, trials=200_000, confidence=SURE)


class Follows(sv.Sampled):
    """Draws those who answer 0 more often: what the software must never do."""

    odds: Mapping[Any, float] = {0: 0.9}

    def randomise(self, answers: Any, **options: Any) -> sv.Reports:
        rate = self.odds.get(next(iter(answers)), 0.1)
        reports = sv.Sampled(self.levels[0].mechanism, rate=rate).randomise(answers)
        return sv.Reports(self.id, self.digest, dict(reports.columns))


def test_a_draw_that_depends_on_the_value_is_caught() -> None:
    """True losses 3.2 and 2.2; the bounds are 2.8 and 2.0, with deviations of .08 and .02."""
    with pytest.raises(AuditError) as caught:
        sv.audit(Follows(sv.GRR(4, epsilon=1.0), rate=0.5), trials=40_000, confidence=SURE)
    assert caught.value.finding.epsilon > 2.0
    # With next to no information in the reports, silence alone gives it away.
    with pytest.raises(AuditError) as caught:
        sv.audit(Follows(sv.GRR(2, epsilon=0.01), rate=0.5), trials=40_000, confidence=SURE)
    assert caught.value.finding.epsilon > 1.8
    assert "silence" in caught.value.finding.event or caught.value.finding.pair[0] == 0


def test_silence_alone_can_give_an_answer_away() -> None:
    class Shy(Follows):
        odds: Mapping[Any, float] = {0: 0.999, 1: 0.5}

    with pytest.raises(AuditError) as caught:
        sv.audit(Shy(sv.GRR(2, epsilon=1.0), rate=0.5), trials=40_000, confidence=SURE)
    assert caught.value.finding.event == "silence"
    assert caught.value.finding.pair == (1, 0)
    (hits, n), _ = caught.value.finding.seen
    assert 0.4 * n < hits < 0.6 * n, "a row of silence stands for many people"


def test_reports_under_another_level_are_noticed() -> None:
    class Upgrades(sv.Levels):
        """Reports of those who answer 0 carry another level, which everyone can see."""

        def randomise(self, answers: Any, *, way: Any = None, **options: Any) -> sv.Reports:
            if next(iter(answers)) == 0:
                way = self.ways()[1]
            return super().randomise(answers, way=way, **options)

    with pytest.raises(AuditError, match="level 'strong'"):
        sv.audit(Upgrades.of(sv.GRR, 3, MENU), trials=20_000, confidence=SURE)


def test_every_person_is_one_outcome() -> None:
    sampled = sv.Sampled(sv.OUE(3, epsilon=1.0), rate=[0.1, 0.5])
    for way in sampled.ways():
        outcomes = sampled.outcomes(sampled.randomise([0] * 5000, way=way), 0, 1)
        assert len(outcomes) == 5000
        assert 0 < (outcomes == SILENCE).all(axis=1).sum() < 5000
    menu = sv.Levels.of(sv.GRR, 3, MENU)
    for way in menu.ways():
        outcomes = menu.outcomes(menu.randomise([0] * 50, way=way), 0, 1)
        assert len(outcomes) == 50
        assert (outcomes[:, -1] == way.index).all(), "the way that reports name is seen"


def test_a_promise_of_ones_own_is_tested_at_every_choice() -> None:
    menu = sv.Levels.of(sv.GRR, 2, MENU)
    with pytest.raises(AuditError, match="level 'weak'"):
        sv.audit(menu, promise=Promise(LDP, 1.0), trials=20_000, confidence=SURE)
    assert len(sv.audit(menu, promise=Promise(LDP, 9.0), trials=2000, confidence=SURE)) == 2


def test_a_domain_with_one_value_needs_answers_by_name() -> None:
    lonely = sv.GRR(sv.Domain(["yes"], missing="value"), epsilon=1.0)
    with pytest.raises(ParameterError, match="at least two"):
        sv.audit(lonely, trials=1000)
    assert sv.audit(lonely, inputs=["yes", None], trials=1000, confidence=SURE)


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ((-1,), "silence"),
        (((-1, -1), (0, 1)), "silence, or the report being (0, 1)"),
        (((0, 1),), "the report being (0, 1)"),
        (tuple(range(5)), "the report being 0 or 1 or 2 or 3 or 4"),
        (tuple(range(9)), "the report being 0 or 1 or 2 or 3 or one of 5 more"),
    ],
)
def test_words_for_events(outcomes: tuple[Any, ...], words: str) -> None:
    assert Event(lambda _: 0.0, 0.0, outcomes).words() == words
