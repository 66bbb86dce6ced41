"""Counts and estimates of chosen values only, over domains up to 2^31."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
import pyarrow
import pytest

import sottovoce as sv
from sottovoce import OLH, Aggregate, Attribute, HadamardResponse, kernels, testing
from sottovoce.errors import EstimateError, MergeError, ParameterError, WireError
from sottovoce.mechanisms.linear import LinearMechanism

MOST = 1 << 31
SMALL: list[LinearMechanism] = [
    sv.GRR(17, epsilon=1.0),
    sv.OUE(17, epsilon=1.0),
    sv.SubsetSelection(17, epsilon=1.0),
    OLH(300, epsilon=2.0),
    OLH(300, epsilon=2.0, parts=2),
    HadamardResponse(300, epsilon=0.5),
    HadamardResponse(300, epsilon=4.0),
]
small = pytest.mark.parametrize("m", SMALL, ids=lambda m: f"{m.id}-{m.epsilon:g}")


def some(m: LinearMechanism, n: int = 5000) -> sv.Reports:
    return m.randomise(np.arange(n) ** 2 % m.domain.size)


def chosen(m: LinearMechanism) -> list[int]:
    return [m.domain.size - 1, 3, 0, 11]


# --- the same numbers as from all counts ------------------------------------------------------


@small
def test_chosen_values_have_the_estimates_that_all_counts_give(m: LinearMechanism) -> None:
    reports, places = some(m), chosen(m)
    whole, part = m.estimate(m.aggregate(reports)), m.estimate(m.aggregate(reports, values=places))
    assert list(part.labels) == places
    assert not part.complete
    assert np.allclose(part.values, whole.values[places], rtol=1e-12)
    for mine, theirs in zip(part.interval(), whole.interval(), strict=True):
        assert np.allclose(mine, theirs[places], rtol=1e-12, atol=1e-15)
    if isinstance(m, HadamardResponse):
        outputs = np.bincount(reports.columns["y"] // m.block_size, minlength=m.blocks)
        block = np.maximum(outputs / len(reports), m._in_block[1])[np.array(places) % m.blocks]
        noise = block / float(m._gap) ** 2 - np.clip(part.values, 0, 1)
        assert np.allclose(part.variance, noise / len(reports), rtol=1e-9)
        assert np.array_equal(np.diag(part.covariance), part.variance)
    every = whole.covariance[np.ix_(places, places)]
    assert np.allclose(part.variance, whole.variance[places], rtol=1e-12)
    assert np.allclose(part.covariance, every, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_standard_errors_of_hadamard_response_hold_though_noise_sums_to_anything(
    epsilon: float,
) -> None:
    """Sums of many noisy values in a block say little of the fraction of people in it."""
    m, answers = HadamardResponse(1000, epsilon=epsilon), np.arange(2000) % 1000
    exact = m.variance(np.full(1000, 0.001), 2000)
    with testing.seeded(1) as source:
        for _ in range(20):
            estimate = m.estimate(m.aggregate(m.randomise(answers, source=source)))
            assert np.allclose(estimate.variance, exact, rtol=0.35)  # was .53 to 2.3 times it
    assert np.allclose(m.variance(np.full(1000, -0.001), 2000), exact, rtol=1e-3)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_the_exact_law_of_hadamard_response_restricted(epsilon: float) -> None:
    m = HadamardResponse(6, epsilon=epsilon)
    places = np.array([5, 0, 3])
    view, reports = m.restricted(places), m.every_report()
    scores = np.stack([view.debias(view.tally(reports[k : k + 1]), 1) for k in range(len(reports))])
    gap = float(m._gap)
    for x, row in enumerate(m.channel().exact):
        p = np.array([float(part) for part in row])
        truth = (places == x).astype(float)
        assert np.allclose(p @ scores, truth, atol=1e-12)
        in_block = np.array(
            [p[reports.columns["y"] // m.block_size == v % m.blocks].sum() for v in places]
        )
        exact = p @ scores**2 - truth
        assert np.allclose(exact, in_block / gap**2 - truth, atol=1e-9)
        # What is estimated has that as its value where the counts are the expected ones.
        n = 10**9
        agree = np.rint(n * (in_block + truth * gap) / 2).astype(np.int64)
        odd = np.rint(n * (in_block - truth * gap) / 2).astype(np.int64)
        spread = view.spread(truth, np.concatenate([agree, odd]), n)
        assert np.allclose(n * spread, exact, atol=1e-6)


@pytest.mark.parametrize("places", [[5, 0, 3], [1, 2, 0], [4, 10, 1, 7]])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_the_exact_covariance_of_hadamard_response_restricted(
    epsilon: float, places: list[int]
) -> None:
    m = HadamardResponse(11, epsilon=epsilon)
    view, reports, n = m.restricted(np.array(places)), m.every_report(), 10**12
    counted = [view.count(reports[k : k + 1]) for k in range(len(reports))]
    scores = np.stack([view.debias(tables[view.table], 1) for tables in counted])
    for x, row in enumerate(m.channel().exact):
        p = np.array([float(part) for part in row])
        truth = (np.array(places) == x).astype(float)
        exact = (scores * p[:, None]).T @ scores - np.outer(truth, truth)
        # What is estimated has that as its value where the counts are the expected ones.
        tables = {
            name: np.rint(n * sum(q * one[name] for q, one in zip(p, counted, strict=True)))
            for name in counted[0]
        }
        whole = {name: table.astype(np.int64) for name, table in tables.items()}
        counts = Aggregate(m.id, m.digest, whole, n, n, candidates=np.array(places))
        covariance = view.covariance_behind(truth, counts)
        assert np.allclose(n * covariance(), exact, atol=1e-6)


def test_hadamard_response_compares_candidates_out_of_two_billion() -> None:
    m = HadamardResponse(MOST, epsilon=3.0)
    u, v = 5, 5 + 6 * m.blocks
    third = ((u // m.blocks + 1) ^ (v // m.blocks + 1)) - 1
    w = third * m.blocks + u % m.blocks  # neither counted nor chosen, and what the two share
    with testing.seeded(1) as source:
        reports = m.randomise([u] * 20_000 + [v] * 30_000 + [w] * 50_000, source=source)
        few = m.estimate(m.aggregate(reports, values=[u, v, 6]))
    n, noise, gap = 100_000, few.variance, float(m._gap)
    shared = few.covariance[0, 1]
    assert shared == pytest.approx(0.5 / (n * gap), rel=0.1)
    assert few.covariance[0, 2] == few.covariance[1, 2] == 0  # another block
    assert few.simultaneous().method != "Bonferroni"
    difference = few.contrast({u: 1, v: -1})
    assert difference.variance[0] == pytest.approx(noise[0] + noise[1] - 2 * shared)
    assert abs(difference.values[0] + 0.1) < 6 * difference.std_error[0]


def test_counts_without_those_of_covariances_still_merge_and_have_none() -> None:
    m, places = HadamardResponse(300, epsilon=0.5), [7, 2, 5, 100]
    new = m.aggregate(some(m), values=places)
    old = replace(new, tables={"agreement": new.tables["agreement"]})
    assert new.tables["thirds"].size == 6
    assert Aggregate.from_bytes(old.to_bytes(), expect=m) == old
    assert m.estimate(old).covariance is None
    assert m.estimate(old).simultaneous().method == "Bonferroni"
    assert old + new == new + old == old + old
    for wrong in ([0] * 5, [-1] * 6, [new.reports + 1] * 6):
        bad = replace(new, tables={**new.tables, "thirds": np.array(wrong)})
        with pytest.raises(WireError, match="thirds"):
            Aggregate.from_bytes(bad.to_bytes(), expect=m)
    many = HadamardResponse(MOST, epsilon=0.5)
    assert set(many.aggregate(some(many), values=np.arange(50) ** 4).tables) == {"agreement"}
    stray = replace(many.aggregate(some(many), values=np.arange(50) ** 4), tables=new.tables)
    with pytest.raises(WireError):
        many.check_aggregate(stray)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_transform_of_all_outputs_gives_the_same_counts(epsilon: float, monkeypatch) -> None:
    m = HadamardResponse(300, epsilon=epsilon)
    reports = some(m)
    counted = []
    for many in (0, 1 << 26):
        monkeypatch.setattr("sottovoce.mechanisms.hadamard_candidates._MOST_OUTPUTS", many)
        counted.append(m.aggregate(reports, values=np.arange(299, 0, -1)))
    assert counted[0] == counted[1]


@pytest.mark.parametrize("word", [3, 4])
def test_any_two_codes_of_halves_collide_with_probability_one_in_g(word: int) -> None:
    size, half = 1 << word, word // 2
    every = np.arange(size)
    a1, a2, b = (x.reshape(-1) for x in np.meshgrid(every, every, every))
    codes = [(x >> half, x & ((1 << half) - 1)) for x in range(1 << 2 * half)]
    for bits in range(1, word - half + 1):
        hashed = [((a1 * c + a2 * d + b) % size) >> (word - bits) for c, d in codes]
        for first, second in combinations(hashed, 2):
            assert Fraction(int((first == second).sum()), a1.size) == Fraction(1, 1 << bits)


def test_codes_of_halves_are_a_bijection_that_the_digest_fixes() -> None:
    keys = np.array([1, 2, 3, 4], np.uint32)
    codes = np.empty((2, 1 << 16), np.uint32)
    kernels.draw.pair_codes(np.arange(1 << 16), keys, 8, codes)
    assert codes.max() < 1 << 8
    assert np.unique(codes[0] << 8 | codes[1]).size == 1 << 16
    m = OLH(MOST, epsilon=1.0, study=bytes(32))
    # Pinned: reports on devices and in files depend on them.
    pinned = m.codes_of(np.array([0, 1, MOST - 1])).T.tolist()
    assert pinned == PINNED
    other = replace(m, study=bytes(31) + b"\1").codes_of(np.array([0, 1, MOST - 1]))
    assert other.T.tolist() != pinned


PINNED = [[23163, 56581], [34293, 53492], [49157, 27251]]


@pytest.mark.parametrize("n", [0, 1, 63, 65, 4097, 9000])
@pytest.mark.parametrize("many", [1, 4, 7])
def test_the_kernels_count_what_their_formulas_say(n: int, many: int) -> None:
    rng = np.random.default_rng(n)
    reports, columns = (rng.integers(0, 1 << 32, size, np.uint32) for size in (n, many))
    counts = np.full(many, 5)
    kernels.count.odd_parities(reports, columns, counts)
    odd = np.bitwise_count(reports[:, None] & columns) % 2
    assert (counts - 5).tolist() == odd.sum(axis=0).tolist()
    a, b = rng.integers(0, 1 << 32, (2, n), np.uint32), reports
    codes = rng.integers(0, 1 << 16, (2, many), np.uint32)
    for mask in (2**32 - 1, 2**20 - 1):
        counts[:] = 5
        kernels.count.hash_support_pairs(
            a, b, codes, np.uint32(mask), np.uint32(mask // 8 + 1), counts
        )
        sums = (a[0][:, None] * codes[0] + a[1][:, None] * codes[1] + b[:, None]) & np.uint32(mask)
        assert (counts - 5).tolist() == (sums <= mask // 8).sum(axis=0).tolist()


@pytest.mark.parametrize("m", [OLH(MOST, epsilon=1.0), HadamardResponse(MOST, epsilon=4.0)])
def test_several_cores_count_the_same(m: LinearMechanism, monkeypatch) -> None:
    reports, values = m.randomise(np.arange(3000) % 5), np.arange(37)
    alone = m.aggregate(reports, values=values)
    monkeypatch.setenv("SOTTOVOCE_THREADS", "3")
    monkeypatch.setattr("sottovoce.parallel.WORTH_A_THREAD", 1)
    assert m.aggregate(reports, values=values) == alone


# --- merging and files --------------------------------------------------------------------------


@small
def test_parts_merge_to_the_whole_and_survive_their_stored_form(m: LinearMechanism) -> None:
    reports, places = some(m), chosen(m)
    whole = m.aggregate(reports, values=places)
    parts = [m.aggregate(reports[k::3], values=places) for k in range(3)]
    assert sum(parts) == whole
    assert Aggregate.from_bytes(whole.to_bytes(), expect=m) == whole
    assert whole != m.aggregate(reports, values=places[::-1])
    for other in (m.aggregate(reports), m.aggregate(reports, values=places[::-1])):
        with pytest.raises(MergeError, match="different values"):
            whole + other


@pytest.mark.parametrize("m", [OLH(MOST, epsilon=1.0), HadamardResponse(MOST, epsilon=4.0)])
def test_bytes_that_no_reports_can_have_given_are_refused(m: LinearMechanism) -> None:
    blocks = getattr(m, "blocks", 1)
    good = m.aggregate(m.randomise([7] * 50), values=[7, 7 + blocks, 9])
    data = good.to_bytes()
    for bad in [*(data[:k] for k in range(len(data))), data + b"\0"]:
        with pytest.raises(WireError):
            Aggregate.from_bytes(bad, expect=m)
    table = next(iter(good.tables))
    counts = good.dense(table).copy()
    many, short = counts.copy(), counts[:-1]
    many[0] = 51
    bad_tables = [short, many, -1 - counts]
    if blocks > 1:  # values 7 and 7 + blocks have the same block, hence as many reports in it
        uneven = counts.copy()
        uneven[0] += 1
        bad_tables.append(uneven)
    for wrong in bad_tables:
        with pytest.raises(WireError):
            Aggregate.from_bytes(replace(good, tables={table: wrong}).to_bytes(), expect=m)
    for places in ([7, 7, 9], [7, 8, MOST], []):
        wrong_places = replace(good, candidates=np.array(places, np.int64))
        with pytest.raises(WireError):
            Aggregate.from_bytes(wrong_places.to_bytes(), expect=m)


@pytest.mark.parametrize(
    ("m", "most"), [(sv.GRR(5, epsilon=1.0), 1), (sv.SubsetSelection(5, epsilon=0.5), 2)]
)
def test_chosen_counts_with_a_sum_that_no_reports_give_are_refused(m, most) -> None:
    assert m.marks_per_report == most
    for places in ([3, 0, 4], [0, 1, 2, 4]):
        good = m.aggregate(m.randomise([0] * 50), values=places)
        least = max(most - (5 - len(places)), 0)
        for total in [50 * most + 1, *[50 * least - 1] * (least > 0)]:
            counts = np.array([total - total // 2, total // 2, *[0] * (len(places) - 2)])
            with pytest.raises(WireError, match=f"sum to {total}|outside"):
                m.check_aggregate(replace(good, tables={m.table: counts}))


@pytest.mark.parametrize(
    ("collection", "answers"),
    [
        (sv.Duchi((0, 1), epsilon=1.0), [0.5]),
        (sv.LIP(prior=[0.5, 0.5], epsilon=1.0), [0]),
        (sv.ChooseAll(sv.Options("o", ["a", "b"], most=1), epsilon=1.0), [["a"]]),
        (sv.Records([Attribute("a", 2)], epsilon_average=1.0), {"a": [0]}),
        (sv.Levels({"a": sv.Duchi((0, 1), epsilon=1.0)}), [0.5]),
    ],
    ids=lambda item: getattr(item, "id", None),
)
def test_what_has_no_counts_of_values_is_refused(collection, answers) -> None:
    reports = collection.randomise(answers)
    with pytest.raises(ParameterError, match="cannot count some values alone"):
        collection.aggregate(reports, values=["a"])
    forged = replace(collection.aggregate(reports), candidates=np.array([0]))
    with pytest.raises(WireError, match="chosen values"):
        Aggregate.from_bytes(forged.to_bytes(), expect=collection)


# --- what may be chosen -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([5], "not in the domain: 5; it has the 5 values 0, 1"),
        ([0, "1"], "not in the domain: '1'"),
        ([True], "not in the domain: True"),
        ([1.0, 1.5, float("nan")], "not in the domain: 1.5, nan"),
        ([-1, 2**64], "not in the domain: -1, 18446744073709551616"),
        (np.array([2**63], np.uint64), "not in the domain: 9223372036854775808"),
        ([1, 2, 1], "more than once: 1"),
        ([], "is empty"),
        ("123", "give a list"),
        ({1, 2}, "give a list"),
        (3, "give a list"),
        (np.array([[1, 2]]), "2 dimensions"),
        (range(3, 7), "not in the domain: 5, 6"),
    ],
    ids=str,
)
def test_what_cannot_be_chosen(values, says: str) -> None:
    m = sv.GRR(5, epsilon=1.0)
    with pytest.raises(ParameterError, match=says):
        m.aggregate(m.randomise([0, 1]), values=values)


def test_values_are_chosen_by_what_people_answer() -> None:
    texts = sv.OUE(Attribute("q", ["a", "b", "c"], missing="value"), epsilon=1.0)
    part = texts.estimate(
        texts.aggregate(texts.randomise(["a", None] * 500), values=["no answer", "b"])
    )
    assert part.labels == ("no answer", "b")
    with pytest.raises(ParameterError, match="it has the 3 values 'a', 'b', 'c' and 'no answer'"):
        texts.positions(["d"])
    assert texts.positions(pyarrow.array(["c", "a"])).tolist() == [2, 0]
    numbers = sv.OLH(2**31, epsilon=1.0)  # a column with gaps, read by pandas, has floats
    for whole in ([7.0, 42.0], np.array([7, 42], np.float32), [np.float64(7), 42]):
        assert numbers.positions(whole).tolist() == [7, 42]
    worded = sv.GRR(sv.Domain([1, 2, 9], wording=["car", "bike", "foot"]), epsilon=1.0)
    part = worded.estimate(worded.aggregate(worded.randomise([1, 9] * 500), values=[9, 1]))
    assert part.labels == ("foot", "car")
    bins = sv.GRR(Attribute.bins("age", [0, 18, 65, 120]), epsilon=1.0)
    part = bins.estimate(bins.aggregate(bins.randomise([20, 70] * 500), values=["[65, 120]"]))
    assert part.labels == ("[65, 120]",)


# --- what needs all values ----------------------------------------------------------------------


def test_what_needs_all_values_is_refused() -> None:
    m = OLH(MOST, epsilon=1.0)
    reports = m.randomise([1, 2, 3] * 500)
    with pytest.raises(
        ParameterError, match=r"2,147,483,648 counters; .* values= \(--candidates\)"
    ):
        m.aggregate(reports)
    grr = sv.GRR(MOST, epsilon=1.0)
    for counted in (grr, sv.Sampled(grr, rate=[0.5, 1.0])):
        few = counted.randomise([1, 2], rate=[0.5, 1.0] if counted.sampled else None)
        with pytest.raises(ParameterError, match="which 'olh' and 'hadamard' can do without"):
            counted.aggregate(few, values=[1])
    h = HadamardResponse(MOST, epsilon=1.0)
    outputs = h.randomise([1])
    with pytest.raises(ParameterError, match="4,294,967,296 counters"):
        h.aggregate(outputs)
    counts = m.aggregate(reports, values=[1, 2])
    with pytest.raises(EstimateError, match="only 2 chosen values were counted"):
        m.estimate(counts, method="mle")
    for summary in ("mean", "median"):
        with pytest.raises(EstimateError, match="only chosen values were counted"):
            getattr(m.estimate(counts), summary)()
    with pytest.raises(EstimateError, match="depends on how many other answers"):
        HadamardResponse(300, epsilon=4.0).restricted(np.array([1, 2])).variance([0.5, 0.5], 10)


def test_projected_fractions_of_chosen_values_need_not_sum_to_one() -> None:
    m = sv.GRR(4, epsilon=1.0)
    estimate = m.estimate(m.aggregate(m.randomise([0, 1] * 50), values=[0, 1, 2]))
    few = replace(estimate, values=np.array([0.3, -0.1, 0.2])).project()
    assert few.values.tolist() == [0.3, 0.0, 0.2]
    many = replace(estimate, values=np.array([0.9, -0.1, 0.3])).project()
    assert np.allclose(many.values, [0.8, 0.0, 0.2])
    assert few.biased
    assert few.raw is not None
    assert estimate.error([0.3, 0.2, 0.1]).tv >= 0
    with pytest.raises(ParameterError, match="sum to"):
        estimate.error([0.7, 0.2, 0.2])


# --- levels and rates ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [sv.GRR, OLH, HadamardResponse])
def test_levels_and_rates_count_chosen_values_too(kind) -> None:
    menu = sv.Levels.of(kind, 12, {"a": 1.0, "b": 3.0})
    for m in (menu, sv.Sampled(kind(12, epsilon=2.0), rate=[0.3, 0.9]), sv.Sampled(menu, rate=0.5)):
        n = np.arange(6000)
        choices = {"level": np.where(n % 3, "a", "b")} if m.level_names else {}
        if len(m.rates) > 1:
            choices["rate"] = np.where(n % 5, 0.3, 0.9)
        with testing.seeded(3) as source:
            reports = m.randomise(n % 12, **choices, source=source)
        reports = replace(reports, seeded=False)  # which only a test can do
        counts = m.aggregate(reports, values=[7, 2, 5])
        assert Aggregate.from_bytes(counts.to_bytes(), expect=m) == counts
        # Estimates of levels are otherwise shrunk by how alike they are in all counted values.
        for method in ["post-stratified", *["horvitz-thompson"] * (not m.level_names)]:
            whole = m.estimate(m.aggregate(reports), method=method)
            part = m.estimate(counts, method=method)
            assert part.labels == (7, 2, 5)
            assert not part.complete
            assert np.allclose(part.values, whole.values[[7, 2, 5]])
            close = 0.5 if kind is HadamardResponse else 1e-9
            assert np.allclose(part.variance, whole.variance[[7, 2, 5]], rtol=close)
        assert m.estimate(counts).labels == (7, 2, 5)
        assert all(each.labels == (7, 2, 5) for each in m.estimates(counts).values())


# --- over 2^31 values ---------------------------------------------------------------------------

N = 100_000
HEAVY = {123_456_789: 0.3, MOST - 1: 0.15, 0: 0.01}
RARE = (np.arange(1, 300) * 7_158_278).tolist()  # nobody's answers


def largest_deviation(m: LinearMechanism, counted_as: LinearMechanism) -> float:
    """The largest |z| of 302 chosen values, of which three have answers."""
    answers = np.arange(N, dtype=np.int64) * 21_469 + 500_007
    start = 0
    for value, fraction in HEAVY.items():
        answers[start : start + round(fraction * N)] = value
        start += round(fraction * N)
    with testing.seeded(20) as source:
        reports = m.randomise(answers, source=source)
        own = sv.Reports(reports.collection, counted_as.digest, reports.columns, True)
        estimate = counted_as.estimate(counted_as.aggregate(own, values=[*HEAVY, *RARE]))
    truth = np.array([*HEAVY.values(), *[0.0] * len(RARE)])
    assert not np.isin(answers, RARE).any()
    return float(np.abs((estimate.values - truth) / estimate.std_error).max())


@pytest.mark.parametrize("kind", [OLH, HadamardResponse], ids=lambda kind: kind.id)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_chosen_values_out_of_two_billion(kind, epsilon: float) -> None:
    # P(|z| > 6.8) = 1e-11 for each of 302 values; seeded, so it never fails by chance.
    m = kind(MOST, epsilon=epsilon)
    assert largest_deviation(m, m) < 6.8


def test_codes_of_another_digest_are_noticed() -> None:
    m = OLH(MOST, epsilon=4.0)
    assert largest_deviation(m, m.bind(bytes(32))) > 20


@pytest.mark.parametrize("kind", [OLH, HadamardResponse], ids=lambda kind: kind.id)
def test_memory_goes_by_the_people_and_not_by_the_domain(kind) -> None:
    m = kind(MOST, epsilon=2.0)
    m.estimate(m.aggregate(m.randomise([1, 2] * 500), values=[1]))  # compiles
    answers = np.arange(20_000) * 100_000
    tracemalloc.start()
    reports = m.randomise(answers)
    m.outcomes(reports, 1, 2)
    m.estimate(m.aggregate(reports, values=np.arange(100)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


def test_contrasts_of_a_few_people_are_never_certain() -> None:
    """Whatever 1 to 4 people report, and with a coverage that is computed exactly."""
    response = HadamardResponse(4, epsilon=1.0)
    law = np.array(response.channel().exact, float)
    every = response.every_report()
    for people in ([0], [0, 1], [0, 1, 2], [0, 0, 1, 3]):
        n, truth = len(people), (people.count(0) - people.count(1)) / len(people)
        for values in (None, [0, 1, 2]):
            covered = 0.0
            for outputs in combinations_with_replacement(range(law.shape[1]), n):
                chance = sum(np.prod(law[people, order]) for order in set(permutations(outputs, n)))
                columns = {"y": every.columns["y"][list(outputs)]}
                reports = sv.Reports(every.collection, every.digest, columns)
                estimate = response.estimate(response.aggregate(reports, values=values))
                low, high = estimate.contrast({0: 1, 1: -1}).interval(0.95)
                assert high[0] - low[0] > 0.5
                covered += chance * (low[0] - 1e-9 <= truth <= high[0] + 1e-9)
            assert covered >= 0.93
