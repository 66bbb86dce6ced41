"""Records at privacy levels that people choose, and of which only some people report."""

import math
from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import ParameterError, WireError
from sottovoce.promise import LDP
from sottovoce.records.joint.evidence import ALIKE_LEVELS, UnlikeWarning
from sottovoce.study import Study

SCHEMA = [sv.Attribute("a", ["x", "y", "z"]), sv.Attribute("b", 2)]
MENU = {"strong": 1.0, "weak": 3.0}


def people(n: int, *, unlike: bool = False) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Answers and levels; with `unlike`, people at the strong level answer differently."""
    rng = np.random.default_rng(n)
    strong = rng.random(n) < 0.4
    a = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    if unlike:
        a = np.where(strong, rng.choice(3, n, p=[0.1, 0.2, 0.7]), a)
    b = (rng.random(n) < np.array([0.2, 0.5, 0.8])[a]).astype(int)
    return {"a": np.array(["x", "y", "z"])[a], "b": b}, np.where(strong, "strong", "weak")


def truth(table: dict[str, np.ndarray]) -> np.ndarray:
    return np.array([(table["a"] == value).mean() for value in ("x", "y", "z")])


@pytest.mark.fast
def test_every_level_has_its_own_promises() -> None:
    records = sv.Records(SCHEMA, levels=MENU)
    assert records.level_names == ("strong", "weak")
    by_level = {way.level: way.guarantee for way in records.ways()}
    assert [p.epsilon for p in by_level["strong"].promises] == [2.0, 2.0]
    assert [p.epsilon for p in by_level["weak"].promises] == [6.0, 6.0]
    equal = {way.level: records.undivided(way) for way in records.ways()}
    assert [p.epsilon for p in equal["weak"].promises] == [6.0, 3.0]
    assert [p.epsilon for p in records.undivided().promises] == [2.0, 1.0, 6.0, 3.0]
    assert {p.unit.level for p in records.guarantee.promises} == {"strong", "weak"}
    assert records.guarantee_at().epsilon == 6.0
    assert records.guarantee_at("strong").epsilon == 2.0
    assert records.guarantee_for([0.5, 1.5], "strong").promises[0].epsilon == 2.0
    with pytest.raises(ParameterError, match="it must be 2"):
        records.guarantee_for([1.5, 1.5], "strong")


@pytest.mark.fast
@pytest.mark.parametrize("allocation", ["equal", "random"])
def test_nobody_spends_more_than_their_level(allocation) -> None:
    records = sv.Records(SCHEMA, levels=MENU, public=True)
    table, level = people(2000)
    reports = records.randomise(table, level=level, allocation=allocation)
    spent = reports.columns["steps"].sum(axis=1) / 1024
    limit = np.where(level == "strong", 2.0, 6.0)
    assert (spent <= limit).all()
    assert (spent > limit - 0.01).all()
    moved = dict(reports.columns)
    moved["level"] = 1 - moved["level"]  # a weak person's epsilons under the strong level
    with pytest.raises(WireError, match="more than its total"):
        records.check(moved)
    moved["level"] = moved["level"] + 5
    with pytest.raises(WireError, match="there are 2"):
        records.check(moved)


@pytest.mark.statistical
def test_bits_follow_the_law_of_the_level() -> None:
    """q = 1/(e^ε + 1) at each level; 12 comparisons, each off by chance once in 10^8."""
    records = sv.Records([sv.Attribute("a", 3)], levels=MENU)
    n = 60_000
    for name, epsilon in MENU.items():
        with testing.seeded(5) as source:
            reports = records.randomise({"a": np.zeros(n, int)}, level=name, source=source)
        bits = np.unpackbits(reports.columns["bits"], axis=1, bitorder="little")[:, :3]
        q = 1 / (np.exp(epsilon) + 1)
        for share, p in zip(bits.mean(axis=0), (0.5, q, q), strict=True):
            assert abs(share - p) < 5.8 * np.sqrt(p * (1 - p) / n)
        other = 1 / (np.exp(4.0 - epsilon) + 1)  # the planted fault: the levels exchanged
        assert abs(bits.mean(axis=0)[1] - other) > 5.8 * np.sqrt(other * (1 - other) / n)


@pytest.mark.slow
@pytest.mark.parametrize("public", [False, True])
def test_marginals_are_right_even_if_levels_answer_differently(public) -> None:
    records = sv.Records(SCHEMA, levels=MENU, public=public)
    table, level = people(60_000, unlike=True)
    with testing.seeded(1) as source:
        aggregate = records.aggregate(records.randomise(table, level=level, source=source))
        estimate = records.marginal(aggregate, ["a"])
        with pytest.warns(UnlikeWarning, match="chose different levels"):
            joint = records.joint(aggregate, ["a", "b"])
    gap = np.abs(estimate.values - truth(table)) / estimate.std_error
    assert gap.max() < 5
    assert estimate.assuming == ""
    assert ALIKE_LEVELS in joint.assuming


@pytest.mark.slow
def test_joint_tables_use_every_level() -> None:
    table, level = people(30_000)
    errors = {}
    for name, menu in {"both": MENU, "strictest": {"strong": 1.0, "weak": 1.0}}.items():
        records = sv.Records(SCHEMA, levels=menu)
        with testing.seeded(2) as source:
            aggregate = records.aggregate(records.randomise(table, level=level, source=source))
            joint = records.joint(aggregate, ["a", "b"])
        cells = [
            np.mean((table["a"] == a) & (table["b"] == b)) for a in ("x", "y", "z") for b in (0, 1)
        ]
        errors[name] = joint.std_error.mean()
        assert (np.abs(joint.values - cells) < 5 * joint.std_error).all()
    assert errors["both"] < errors["strictest"]


@pytest.mark.slow
def test_a_rate_leaves_people_silent() -> None:
    records = sv.Records(SCHEMA, epsilon_average=3.0, rate=0.25)
    table, _ = people(40_000)
    with testing.seeded(3) as source:
        reports = records.randomise(table, source=source)
        aggregate = records.aggregate(reports)
        estimate = records.marginal(aggregate, ["a"])
    assert aggregate.people == 40_000
    assert abs(aggregate.reports - 10_000) < 6 * np.sqrt(40_000 * 0.25 * 0.75)
    silent = ~reports.columns["reported"].any(axis=1)
    assert silent.sum() == 40_000 - aggregate.reports
    assert not reports.columns["bits"][silent].any()
    assert (estimate.n, estimate.reports) == (aggregate.people, aggregate.reports)
    assert (np.abs(estimate.values - truth(table)) < 5 * estimate.std_error).all()
    back = sv.Aggregate.from_bytes(aggregate.to_bytes(), expect=records)
    assert back == aggregate


@pytest.mark.statistical
def test_intervals_cover_everyone_who_was_asked() -> None:
    """400 runs at 95 %: fewer than 88 % covered has a chance below 10^-8."""
    records = sv.Records([sv.Attribute("a", 3), sv.Attribute("b", 2)], levels=MENU, rate=0.5)
    table, level = people(1500)
    codes = {"a": np.searchsorted(["x", "y", "z"], table["a"]), "b": table["b"]}
    inside = 0
    with testing.seeded(4) as source:
        for _ in range(400):
            reports = records.randomise(codes, level=level, source=source)
            estimate = records.marginal(records.aggregate(reports), ["a"])
            low, high = estimate.interval()
            inside += bool(low[1] <= truth(table)[1] <= high[1])
    assert inside >= 352


@pytest.mark.fast
def test_a_study_file_has_them() -> None:
    records = sv.Records(SCHEMA, levels=MENU, rate=0.5, name="health")
    study = Study("Health", [records])
    again = Study.from_toml(study.to_toml())
    assert again.digest == study.digest
    assert again.collection("health").levels == records.levels
    assert again.collection("health").rate == 0.5


@pytest.mark.fast
def test_without_levels_nothing_changed() -> None:
    plain = sv.Records(SCHEMA, epsilon_average=2.0)
    assert "levels" not in plain.canonical()
    assert "rate" not in plain.canonical()
    assert [column.name for column in plain.layout] == ["reported", "bits"]


@pytest.mark.fast
@pytest.mark.parametrize("average", [0.7, 0.1, 1 / 3, 1.1, 2.0])
def test_the_total_is_the_least_float_that_is_not_below_the_exact_product(average) -> None:
    for many in range(1, 12):
        records = sv.Records([sv.Attribute(f"a{k}", 2) for k in range(many)], levels={"l": average})
        exact = many * Fraction(average)
        for total in (records.guarantee_at("l"), records.guarantee_for([average] * many, "l")):
            epsilon = total.promises[0].epsilon
            assert Fraction(math.nextafter(epsilon, 0)) < exact <= Fraction(epsilon)


@pytest.mark.fast
def test_a_question_with_several_options_is_not_an_attribute() -> None:
    with pytest.raises(ParameterError, match="several options may be chosen"):
        sv.Records([*SCHEMA, sv.Options("c", ["x", "y"], most=1)], epsilon_average=1.0)


BAD = {
    "nothing": ({}, "epsilon_average, or levels"),
    "both": ({"epsilon_average": 1.0, "levels": MENU}, "both given"),
    "text": ({"levels": "strong"}, "names and epsilons"),
    "no name": ({"levels": {" ": 1.0}}, "cannot name a level"),
    "twice": ({"levels": [("a", 1.0), ("a", 2.0)]}, "cannot name a level"),
    "zero": ({"levels": {"a": 0}}, "epsilon"),
    "rates": ({"levels": MENU, "rate": [0.1, 0.5]}, "one rate"),
    "rate": ({"levels": MENU, "rate": 2}, "probability"),
    "floor": ({"levels": MENU, "floor": 2.0}, "from 0 to epsilon_average = 1"),
}


@pytest.mark.fast
@pytest.mark.parametrize(("settings", "says"), BAD.values(), ids=BAD)
def test_what_is_refused(settings, says) -> None:
    with pytest.raises(ParameterError, match=says):
        sv.Records(SCHEMA, **settings)


@pytest.mark.fast
def test_refused_calls() -> None:
    records = sv.Records(SCHEMA, levels=MENU)
    table, level = people(50)
    with pytest.raises(ParameterError, match="no levels were given"):
        records.randomise(table)
    with pytest.raises(ParameterError, match="there is no level 'none'"):
        records.randomise(table, level="none")
    with pytest.raises(ParameterError, match="one rate for everyone"):
        records.randomise(table, level=level, rate=0.5)
    aggregate = records.aggregate(records.randomise(table, level=level))
    with pytest.raises(ParameterError, match="these records have levels"):
        records.marginal(aggregate, ["a"], method="published")
    with pytest.raises(ParameterError, match="these records have levels"):
        records.joint(aggregate, ["a", "b"], method="lopub-1")
    assert LDP in {promise.notion for promise in records.guarantee.promises}


@pytest.mark.fast
def test_the_error_includes_how_many_of_each_level_report() -> None:
    """Everyone at one level says yes, at the other no: the fraction is that of the reports."""
    records = sv.Records([sv.Attribute("s", 2)], levels={"strong": 3.0, "weak": 8.0}, rate=0.1)
    level = np.repeat(["strong", "weak"], 50_000)
    with testing.seeded(5) as source:
        reports = records.randomise({"s": np.repeat([0, 1], 50_000)}, level=level, source=source)
        aggregate = records.aggregate(reports)
        e = records.marginal(aggregate, ["s"])
    s = e.reports
    whole = sv.Records([sv.Attribute("s", 2)], levels={"strong": 3.0, "weak": 8.0})
    kept = reports.columns["reported"].any(axis=1)  # the same reports, of people who all report
    same = sv.Reports(
        whole.id, whole.digest, {k: c[kept] for k, c in reports.columns.items()}, False
    )
    own = whole.marginal(whole.aggregate(same), ["s"])
    np.testing.assert_allclose(own.values, e.values)
    assert e.variance[0] - own.variance[0] == pytest.approx(0.9 * 0.25 / s, rel=0.2)


@pytest.mark.parametrize(
    "levels", [[("a", 1.0, 2.0)], [3], [([], 1.0)]], ids=["three", "one", "list"]
)
def test_levels_that_are_no_pairs_of_a_name_and_an_epsilon_are_refused(levels):
    with pytest.raises(sv.SottovoceError, match="name"):
        sv.Records([sv.Attribute("smokes", 2)], levels=levels)


def test_the_message_about_a_wrong_total_names_the_function_that_keeps_it():
    records = sv.Records([sv.Attribute("smokes", 2)], epsilon_average=1.0)
    with pytest.raises(ParameterError, match=r"sottovoce\.records\.allocation\.slide"):
        records.randomise({"smokes": [0]}, allocation=[[2.0]])
