"""The collection: extremes, every pure mechanism, what is refused, and what it shows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.contract.sparse import Sparse
from sottovoce.errors import AnswerError, EstimateError, ParameterError, WireError
from tests.laws.entries import PURE

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def estimate_of(hh: sv.HeavyHitters, people, seed: int = 1, **options):
    with testing.seeded(seed) as source:
        return hh.estimate(hh.aggregate(hh.randomise(people, source=source)), **options)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
@pytest.mark.parametrize(("alphabet", "length"), [("ab", 1), ("ab", 12), (LETTERS + "äöüß", 12)])
def test_few_people_of_every_kind(alphabet: str, length: int, epsilon: float) -> None:
    hh = sv.HeavyHitters(alphabet, length, epsilon)
    distinct = ["".join(text) for text in product("ab", repeat=min(length, 5))]
    for n in (1, 2, 20):
        for people in (
            ["a" * length] * n,
            [""] * n,
            [distinct[k % len(distinct)] for k in range(n)],
        ):
            estimate = estimate_of(hh, people, seed=n)
            low, high = estimate.interval()
            assert set(estimate.labels) <= set(people)
            assert ((low >= 0) & (high <= np.maximum(1, estimate.values)) & (low <= high)).all()
            assert sum(depth.people for depth in estimate.depths) == n
            assert len(estimate.rows()) == len(estimate.labels)
            assert str(estimate)
            assert estimate._repr_html_()


def test_with_hardly_any_noise_twenty_people_suffice() -> None:
    hh = sv.HeavyHitters(LETTERS, 12, 20.0)
    assert estimate_of(hh, ["extraordinar"] * 20).labels == ("extraordinar",)
    assert estimate_of(hh, [""] * 20).labels == ("",)
    # Usually: a depth at which nobody reports, or only one person, loses the text.
    assert hh.threshold(60) < 1 < hh.threshold(20)


def test_a_text_is_not_listed_with_an_interval_that_reaches_zero() -> None:
    for epsilon, n in product((8.0, 20.0), range(1, 6)):
        estimate = estimate_of(sv.HeavyHitters("ab", 1, epsilon), ["a"] * n, seed=n)
        assert (estimate.interval().low > 0).all()
        assert bool(estimate.labels) == (n > 1)


@pytest.mark.parametrize("mechanism", PURE)
def test_every_pure_mechanism(mechanism: str) -> None:
    hh = sv.HeavyHitters("abc", 3, 2.0, step=1, mechanism=mechanism)
    truth = {"abc": 0.5, "c": 0.3, "": 0.2}
    people = [text for text, f in truth.items() for _ in range(int(6000 * f))]
    estimate = estimate_of(hh, people, seed=2)
    assert estimate.labels == tuple(truth)
    assert np.abs(estimate.values - list(truth.values())).max() < 5 * estimate.std_error.max()
    assert hh.guarantee.epsilon == 2.0


@pytest.mark.statistical
def test_std_errors_are_those_of_repeated_collections() -> None:
    """The spread of 200 seeded collections, within four of its own standard errors."""
    hh = sv.HeavyHitters("ab", 2, 2.0, step=1)
    people = ["ab"] * 600 + ["b"] * 400
    results = [estimate_of(hh, people, seed=k) for k in range(200)]
    assert all(e.labels[:2] in (("ab", "b"), ("b", "ab")) for e in results)
    values = [e.values[e.labels.index("ab")] for e in results]
    stated = np.mean([e.std_error[e.labels.index("ab")] for e in results])
    assert abs(np.std(values) / stated - 1) < 4 / np.sqrt(2 * 200)
    assert abs(np.mean(values) - 0.6) < 4 * stated / np.sqrt(200)


def test_texts_beyond_the_codes_are_hashed() -> None:
    hh = sv.HeavyHitters(LETTERS, 20, 4.0)
    assert [numbering.hashed for numbering in hh.tree.numberings][-1]
    assert hh.tree.shared == hh.oracle.most_codes
    long = "counterrevolutionary"
    estimate = estimate_of(hh, [long] * 20_000 + ["a"] * 10_000)
    assert estimate.labels == (long, "a")
    assert hh.threshold(30_000) < 0.3


def test_prefixes_that_cannot_be_continued_are_counted(monkeypatch) -> None:
    monkeypatch.setattr("sottovoce.heavy.search.MOST_CANDIDATES", 7)
    hh = sv.HeavyHitters("ab", 4, 8.0, step=2)
    estimate = estimate_of(hh, ["aaaa", "bbbb", "aaaa"] * 500)
    assert estimate.depths[0].kept == 1
    assert estimate.depths[0].dropped >= 1
    assert estimate.labels[0] == "aaaa"
    assert "bbbb" not in estimate.labels


def test_parts_merge_to_the_same_list() -> None:
    hh = sv.HeavyHitters("abc", 4, 3.0)
    with testing.seeded(4) as source:
        reports = hh.randomise(["abc", "ca"] * 2000, source=source)
        whole = hh.aggregate(reports)
        parts = sum(hh.aggregate(reports[k : k + 900]) for k in range(0, 4000, 900))
        assert parts == whole
        assert hh.estimate(parts).labels == hh.estimate(whole).labels


def test_the_guarantee_and_what_estimates_say() -> None:
    hh = sv.HeavyHitters(LETTERS, 8, 1.0)
    assert hh.guarantee.epsilon == 1.0
    assert hh.report_bytes == 14
    people = ["word"] * 30_000
    estimate = hh.estimate(hh.aggregate(hh.randomise(people)))
    assert estimate.guarantee == hh.guarantee
    assert estimate.biased
    assert not estimate.complete
    assert estimate.false_positive_rate == pytest.approx(0.025)
    assert np.array_equal(estimate.interval(0.9), estimate.interval(0.9, simultaneous=True))
    assert [depth.length for depth in estimate.depths] == [2, 4, 6, 8]
    assert estimate.counts[0] == pytest.approx(30_000, abs=5_000)
    assert estimate.project().values.max() <= 1
    with pytest.raises(EstimateError, match="already hold for a population"):
        estimate.for_population()


def test_an_audit_of_the_reports_finds_no_more_than_is_promised() -> None:
    hh = sv.HeavyHitters("ab", 2, 1.0)
    (finding,) = sv.audit(hh, trials=40_000, inputs=["ab", "b"], confidence=1 - 1e-8)
    assert not finding.broken
    assert 0.5 < finding.epsilon <= 1.0


def test_what_is_refused() -> None:
    hh = sv.HeavyHitters("abc", 4, 1.0)
    with pytest.raises(AnswerError, match="more than 4 symbols"):
        hh.randomise(["abcab"])
    with pytest.raises(EstimateError, match="no reports"):
        hh.estimate(hh.aggregate(hh.randomise([])))
    with pytest.raises(ParameterError, match="level"):
        hh.randomise(["a"], level="strong")
    with pytest.raises(ParameterError, match="cannot count some values alone"):
        hh.aggregate(hh.randomise(["a"]), values=["a"])
    with pytest.raises(ParameterError, match="has no attributes"):
        hh.marginal(hh.aggregate(hh.randomise(["a"])), ["other"])
    with pytest.raises(ParameterError, match="no method 'unbiased'"):
        hh.marginal(hh.aggregate(hh.randomise(["a"])), method="unbiased")
    with pytest.raises(ParameterError, match="miss is 2;"):
        hh.threshold(100, miss=2)
    with pytest.raises(ParameterError, match="confidence"):
        hh.estimate(hh.aggregate(hh.randomise(["a"])), confidence=1.0)
    with pytest.raises(ParameterError, match=r"tiny\(\)\.channel"):
        hh.channel()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1e-40}, "no information"),
        ({"step": 0}, "step"),
        ({"step": 4}, "continuations"),
        ({"mechanism": "hadamard"}, "pure mechanism"),
        ({"mechanism": "oue", "length": 12}, "'olh' has no limit"),
        ({"mechanism": "nothing"}, "no mechanism"),
        ({"word_bits": 16}, "word_bits"),
        ({"name": " "}, "name"),
        ({"other": "xy"}, "other is 'xy'"),
    ],
)
def test_parameters_that_are_refused(options, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        sv.HeavyHitters(**{"alphabet": LETTERS, "length": 4, "epsilon": 1.0, **options})


def test_forged_reports_and_counts_are_refused() -> None:
    hh = sv.HeavyHitters("abc", 12, 1.0)
    reports = hh.randomise(["abc"] * 10)
    for name, wrong in (("depth", 9), ("y", 200)):
        columns = {**reports.columns, name: np.full(10, wrong, np.uint8)}
        with pytest.raises(WireError):
            sv.Reports.from_bytes(replace(reports, columns=columns).to_bytes(), expect=hh)
    counts = hh.aggregate(reports)
    with pytest.raises(WireError, match="10 reports"):
        sv.Aggregate.from_bytes(replace(counts, people=11, reports=11).to_bytes(), expect=hh)
    narrow = Sparse.of(np.zeros((10, 3), np.uint8))
    with pytest.raises(WireError):
        sv.Aggregate.from_bytes(replace(counts, tables={"patterns": narrow}).to_bytes(), expect=hh)
    with pytest.raises(WireError, match="tables"):
        sv.Aggregate.from_bytes(
            replace(counts, tables={"support": np.zeros(3, np.int64)}).to_bytes(), expect=hh
        )


@pytest.mark.parametrize(
    "use",
    [
        lambda hh: sv.OLH(hh.domain, epsilon=1.0),
        lambda hh: sv.Records([hh.domain, sv.Attribute("sport", 2)], epsilon_average=1.0),
        lambda hh: sv.choose(hh.domain, epsilon=1.0, n=100),
    ],
)
def test_other_collections_refuse_texts(use) -> None:
    with pytest.raises(ParameterError, match="HeavyHitters finds the frequent ones"):
        use(sv.HeavyHitters("ab", 2, 1.0))


def test_wrappers_refuse_it() -> None:
    hh = sv.HeavyHitters("ab", 2, 1.0)
    with pytest.raises(ParameterError, match="is not a mechanism"):
        sv.Sampled(hh, rate=0.5)
    with pytest.raises(ParameterError, match="give a mechanism"):
        sv.Levels({"strong": hh})


def test_parameters_decide_the_digest() -> None:
    first = sv.HeavyHitters("abc", 4, 1.0)
    others = [
        sv.HeavyHitters("acb", 4, 1.0),
        sv.HeavyHitters("abc", 5, 1.0),
        sv.HeavyHitters("abc", 4, 2.0),
        sv.HeavyHitters("abc", 4, 1.0, step=1),
        sv.HeavyHitters("abc", 4, 1.0, longer="cut"),
        sv.HeavyHitters("abc", 4, 1.0, mechanism="grr"),
        sv.HeavyHitters("ab", 4, 1.0, other="c"),
    ]
    assert len({hh.digest for hh in (first, *others)}) == 8
    assert first == sv.HeavyHitters(["a", "b", "c"], 4, epsilon=1)
    assert first.bind(bytes(32)).digest == bytes(32)


def test_lists_of_frequent_texts_are_not_combined_but_their_counts_are_merged() -> None:
    hh = sv.HeavyHitters("ab", 3, 4.0)
    # Seeded: each list may name a text that nobody holds, with a probability of 2.5 %.
    with testing.seeded(1) as source:
        counts = [hh.aggregate(hh.randomise(["ab"] * 1000, source=source)) for _ in range(2)]
        lists = [hh.estimate(one) for one in counts]
        assert lists[0].labels == lists[1].labels == ("ab",)
        with pytest.raises(EstimateError, match="add up the counts of the groups"):
            sv.combine(lists)
        assert hh.estimate(counts[0] + counts[1]).n == 2000
