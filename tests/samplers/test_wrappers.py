"""Levels and Sampled draw what their channels say, at every level and rate at once.

People of all levels and rates are randomised together, all with the same answer, and the reports
of each level and rate are held against the law of that level and rate. Who reports is looked at
one by one, too: whether someone does must not depend on whether a neighbour, or someone at another
rate, does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from sottovoce import (
    GRR,
    OUE,
    Duchi,
    HadamardResponse,
    Levels,
    Mechanism,
    Piecewise,
    Reports,
    Sampled,
)
from sottovoce.contract.way import Way

from .budget import RejectedError, joined, judge, spend
from .statistics import fit, pair_fit
from .test_tiny import as_numbers, radices_of

N = 100_000  # people per answer, level and rate

MIXED = {
    "grr": GRR(3, epsilon=1),
    "oue": OUE(3, epsilon=0.5),
    "had": HadamardResponse(3, epsilon=2),
}
GRID = Sampled(GRR(3, epsilon=1), rate=[0.5, 0.25])
WRAPPERS: dict[str, Levels | Sampled] = {
    "levels of one kind": Levels.of(GRR, 3, {"strong": 0.5, "weak": 2}),
    "levels of numbers": Levels.of(Duchi, (0, 1), {"strong": 0.5, "weak": 2}),
    "levels of many kinds": Levels(MIXED),
    "one rate": Sampled(GRR(3, epsilon=1), rate=0.3),
    "several rates": Sampled(OUE(3, epsilon=1), rate=[0.1, 0.5, 1, 0]),
    "rates of numbers": Sampled(Piecewise((0, 1), epsilon=1).tiny(), rate=[0.25, 0.9]),
    "sampled levels": Sampled(Levels(MIXED), rate=[0.2, 0.7]),
    "levels of samples": Levels({"some": GRID, "all": OUE(3, epsilon=2)}),
}
WHO = {"who at one rate": (0.3,), "who at two rates": (0.3, 0.6)}
CASES = [*WRAPPERS, *WHO]
Sample = Callable[..., Reports]


def together(wrapper: Mechanism, n: int) -> dict[str, Any]:
    """n people of each way, one after the other in turn."""
    ways = wrapper.ways()
    each: dict[str, Any] = {}
    if ways[0].level is not None:
        each["level"] = np.tile(np.array([way.level for way in ways]), n)
    if any(way.rate < 1 for way in ways):
        each["rate"] = np.tile([way.rate for way in ways], n)
    return each


def people_of(way: Way, reports: Reports) -> tuple[Reports, int]:
    """The reports of one way, and how many of its people are silent."""
    rows = len(reports)
    here = reports.columns.get("way", np.zeros(rows, np.uint8)) == way.index
    silent = reports.columns.get("silent", np.zeros(rows, np.uint16))
    spoken = here & (silent == 0)
    some = replace(reports, columns={name: c[spoken] for name, c in reports.columns.items()})
    return some, int(silent[here].sum())


def counted(wrapper: Mechanism, way: Way, reports: Reports) -> np.ndarray | None:
    """How often each report was sent; None if one is impossible, or someone is missing."""
    everything, (spoken, quiet) = wrapper.every_report(way), people_of(way, reports)
    if len(spoken) + quiet != N or (quiet and way.rate == 1):
        return None
    counts = np.zeros(len(everything), np.int64)
    if len(spoken):
        digits = radices_of(everything)
        names, drawn = as_numbers(everything, digits), as_numbers(spoken, digits)
        order = np.argsort(names)
        where = order[np.clip(np.searchsorted(names[order], drawn), 0, names.size - 1)]
        if not np.array_equal(names[where], drawn):
            return None
        counts += np.bincount(where, minlength=names.size)
    if way.rate < 1:
        counts[-1] += quiet
    return counts


def p_value(wrapper: Mechanism, sample: Sample | None = None) -> float:
    """Reports of everyone, for each answer in turn, against the channel of each way."""
    ways = wrapper.ways()
    rows = wrapper.channel(ways[0]).inputs
    numbers = isinstance(wrapper.domain.labels[0], str)
    values = np.linspace(0, 1, len(rows)) if numbers else np.arange(len(rows))
    p_values = []
    for x, value in enumerate(values):
        choice = together(wrapper, N)
        reports = (sample or wrapper.randomise)(np.full(N * len(ways), value), **choice)
        for way in ways:
            counts = counted(wrapper, way, reports)
            if counts is None:
                return 0.0  # a report that the channel does not have, or a person too few
            p_values.append(fit(counts, wrapper.channel(way).matrix[x]))
    return joined(p_values)


def who(rates: tuple[float, ...], runs: int = 16) -> Iterator[np.ndarray]:
    """Who of 60,000 people reports: answers are all different, and at ε = 20 told truly.

    One report in 8,000 is of another value, far less than these samples could show.
    """
    s = Sampled(GRR(60_000, epsilon=20), rate=rates)
    people = np.arange(60_000)
    chosen = np.array(rates)[people % len(rates)]
    for _ in range(runs):
        reports = s.randomise(people, rate=chosen)
        said = reports.columns["value"][reports.columns["silent"] == 0]
        drawn = np.zeros(60_000, bool)
        drawn[said] = True
        yield drawn


def of_pairs(rates: tuple[float, ...], drawn: list[np.ndarray]) -> float:
    """p-value of neighbours, and of people a word of random bits apart, against independence."""
    k = len(rates)
    bits = np.array(drawn).reshape(len(drawn), -1, k)
    collected = []
    for a, b in product(range(k), repeat=2):
        for step in (1, 64):
            left, right = bits[:, :-step, a][:, :: 2 * step], bits[:, step:, b][:, :: 2 * step]
            collected.append(pair_fit(left.ravel(), right.ravel(), rates[a], rates[b]))
    if k > 1:  # the same place in two strata
        collected.append(pair_fit(bits[:, :, 0].ravel(), bits[:, :, 1].ravel(), *rates))
    return joined(collected)


@pytest.mark.parametrize("name", WRAPPERS)
def test_reports_follow_the_channel(name: str) -> None:
    spend("wrappers", name, p_value(WRAPPERS[name]))


@pytest.mark.parametrize("name", WHO)
def test_people_decide_on_their_own(name: str) -> None:
    spend("wrappers", name, of_pairs(WHO[name], list(who(WHO[name]))))


# --- the same must fail -------------------------------------------------------------------------


def faster(wrapper: Any, factor: float) -> Sampled:
    """The same people, drawn a little more often."""
    inner = Levels(wrapper.menu) if wrapper.menu else wrapper.levels[0].mechanism
    return Sampled(inner, rate=[r if r in (0, 1) else r * factor for r in wrapper.rates])


def changed(reports: Reports, **columns: np.ndarray) -> Reports:
    return replace(reports, columns=dict(reports.columns) | columns)


@pytest.mark.parametrize("name", [n for n, w in WRAPPERS.items() if isinstance(w, Sampled)])
def test_a_slightly_different_rate_is_noticed(name: str) -> None:
    wrapper = WRAPPERS[name]
    other = faster(wrapper, 1.06)

    def sample(answers: Any, *, rate: Any, **choice: Any) -> Reports:
        nearest = np.searchsorted(np.sort(wrapper.rates), rate)
        return other.randomise(answers, rate=np.sort(other.rates)[nearest], **choice)

    with pytest.raises(RejectedError):
        judge(p_value(wrapper, sample))


@pytest.mark.parametrize("name", [n for n, w in WRAPPERS.items() if isinstance(w, Sampled)])
def test_a_rate_that_goes_by_the_answer_is_noticed(name: str) -> None:
    wrapper = WRAPPERS[name]
    more = faster(wrapper, 1.08)

    def sample(answers: Any, *, rate: Any, **choice: Any) -> Reports:
        if answers[0] == 0:
            return wrapper.randomise(answers, rate=rate, **choice)
        nearest = np.searchsorted(np.sort(wrapper.rates), rate)
        return more.randomise(answers, rate=np.sort(more.rates)[nearest], **choice)

    with pytest.raises(RejectedError):
        judge(p_value(wrapper, sample))


@pytest.mark.parametrize("name", [n for n, w in WRAPPERS.items() if isinstance(w, Sampled)])
def test_one_silent_person_who_is_lost_is_noticed(name: str) -> None:
    def sample(answers: Any, **choice: Any) -> Reports:
        reports = WRAPPERS[name].randomise(answers, **choice)
        silent = reports.columns["silent"].copy()
        silent[np.flatnonzero(silent)[0]] -= 1
        return changed(reports, silent=silent)

    with pytest.raises(RejectedError):
        judge(p_value(WRAPPERS[name], sample))


@pytest.mark.parametrize("name", ["several rates", "rates of numbers", "sampled levels"])
def test_silence_under_another_rate_is_noticed(name: str) -> None:
    def sample(answers: Any, **choice: Any) -> Reports:
        reports = WRAPPERS[name].randomise(answers, **choice)
        way, quiet = reports.columns["way"].copy(), reports.columns["silent"] > 0
        way[quiet] = 0
        return changed(reports, way=way)

    with pytest.raises(RejectedError):
        judge(p_value(WRAPPERS[name], sample))


@pytest.mark.parametrize("name", ["levels of one kind", "levels of numbers", "sampled levels"])
def test_labels_of_another_level_are_noticed(name: str) -> None:
    """In one report of fifty, between the first two levels."""

    def sample(answers: Any, **choice: Any) -> Reports:
        reports = WRAPPERS[name].randomise(answers, **choice)
        own = WRAPPERS[name].ways()
        first, second = (
            next(way.index for way in own if way.level == level)
            for level in list(WRAPPERS[name].menu)[:2]
        )
        way = reports.columns["way"].copy()
        silent = reports.columns.get("silent", np.zeros(len(reports), np.uint16))
        some = np.flatnonzero((silent == 0) & np.isin(way, (first, second)))[::50]
        way[some] = first + second - way[some]
        return changed(reports, way=way)

    with pytest.raises(RejectedError):
        judge(p_value(WRAPPERS[name], sample))


@pytest.mark.parametrize(
    "name", ["levels of one kind", "levels of numbers", "levels of many kinds"]
)
def test_a_level_that_is_not_kept_is_noticed(name: str) -> None:
    """One in forty of those who chose the first level is randomised by the last one."""
    names = list(WRAPPERS[name].menu)

    def sample(answers: Any, *, level: Any) -> Reports:
        careless = level.copy()
        careless[np.flatnonzero(level == names[0])[::40]] = names[-1]
        return WRAPPERS[name].randomise(answers, level=careless)

    with pytest.raises(RejectedError):
        judge(p_value(WRAPPERS[name], sample))


@pytest.mark.parametrize("name", WRAPPERS)
def test_the_wrong_answer_is_noticed(name: str) -> None:
    wrapper = WRAPPERS[name]

    def sample(answers: Any, **choice: Any) -> Reports:
        other = answers.copy()
        other[::10] = 1 - answers[0] if answers[0] in (0, 1) else 0
        return wrapper.randomise(other, **choice)

    with pytest.raises(RejectedError):
        judge(p_value(wrapper, sample))


@pytest.mark.parametrize("name", WHO)
def test_neighbours_that_decide_together_are_noticed(name: str) -> None:
    """In one pair of 25 the second person, at the same rate, does as the first."""
    rates, drawn = WHO[name], list(who(WHO[name]))
    k = len(rates)
    for bits in drawn:
        first = np.arange(0, 60_000 - 2 * k, 2 * k)[::25]
        bits[first + k] = bits[first]
    with pytest.raises(RejectedError):
        judge(of_pairs(rates, drawn))


def test_coins_used_again_for_the_next_rate_are_noticed() -> None:
    """In one pair of 20, someone at .6 is drawn whenever the person at .3 beside them is."""
    rates, drawn = WHO["who at two rates"], list(who(WHO["who at two rates"]))
    for bits in drawn:
        pairs = np.arange(0, 60_000, 2)[::20]
        bits[pairs + 1] |= bits[pairs]
    with pytest.raises(RejectedError):
        judge(of_pairs(rates, drawn))
