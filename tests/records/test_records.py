"""Tables in, reports out; aggregates merge and are stored; what is refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce import Aggregate, testing
from sottovoce.contract.reports import Reports
from sottovoce.errors import (
    AnswerError,
    DigestError,
    EstimateError,
    MergeError,
    ParameterError,
    SeededError,
    WireError,
)
from sottovoce.randomness import SYSTEM
from sottovoce.records.allocation import described_epsilon, equal, random, slide

A = sv.Attribute("a", ["x", "y", 3])
B = sv.Attribute.bins("b", [0, 1, 2])
C = sv.Attribute("c", 4, missing="public")
TABLE = {"a": ["x", "y", 3, "x"], "b": [0.5, 1.5, 2.0, 0.0], "c": [0, 3, None, 1]}


@pytest.fixture
def records() -> sv.Records:
    return sv.Records([A, B, C], epsilon_average=2.0)


@pytest.mark.parametrize(
    "make",
    [
        dict,
        lambda t: pd.DataFrame(t, index=[9, 9, 1, 0]),
        lambda t: {k: tuple(v) for k, v in t.items()},
    ],
    ids=["mapping", "pandas", "tuples"],
)
def test_the_same_reports_whatever_holds_the_table(records, make) -> None:
    with testing.seeded(3) as source:
        wanted = records.randomise(TABLE, source=source)
    with testing.seeded(3) as source:
        assert records.randomise(make(TABLE), source=source).to_bytes() == wanted.to_bytes()


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_typed_tables(make) -> None:
    r = sv.Records([sv.Attribute("a", ["x", "y"]), B, C], epsilon_average=2.0)
    table = {**TABLE, "a": ["x", "y", "x", "x"]}
    for allocation in ("equal", "random"):
        with testing.seeded(3) as source:
            wanted = r.randomise(table, allocation=allocation, source=source)
        with testing.seeded(3) as source:
            reports = r.randomise(make(table), allocation=allocation, source=source)
        assert reports.to_bytes() == wanted.to_bytes()


def test_missing_public_answers_are_unreported(records) -> None:
    reports = records.randomise(TABLE)
    assert reports.columns["reported"][:, 0].tolist() == [7, 7, 3, 7]


def test_allocations_as_numbers_and_tables(records) -> None:
    rows = [[1.0, 2.0, 3.0], [6.0, 0.0, 0.0], [3.5, 0.5, np.nan], [2.0, 2.0, 2.0]]
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])[["c", "a", "b"]]
    reports = [
        records.randomise(TABLE, allocation=given) for given in (rows, np.array(rows), frame)
    ]
    assert {r.columns["reported"].tobytes() for r in reports} == {bytes([7, 7, 3, 7])}
    public = sv.Records([A, B, C], epsilon_average=2.0, public=True, floor=0.0)
    sent = public.randomise(TABLE, allocation=frame).columns["steps"]
    assert sent[:2].tolist() == [[1024, 2048, 3072], [6144, 0, 0]]


REFUSED = {
    "a name": ({"allocation": "most"}, "'equal', 'random' or numbers"),
    "rows": ({"allocation": [[2.0, 2.0, 2.0]]}, "1 rows for 4 people"),
    "no table": ({"allocation": 2.0}, "no rows for 4 people"),
    "columns": ({"allocation": [[2.0, 2.0]] * 4}, r"\(4, 2\)"),
    "text": ({"allocation": [["p", 2.0, 2.0]] * 4}, "must be numbers"),
    "too much": ({"allocation": [[2.0, 2.0, 2.5]] * 4}, "person 0 divides 6.5 among 3 attributes"),
    "too little": ({"allocation": [[2.0, 2.0, 1.0]] * 4}, "it must be 6"),
    "negative": ({"allocation": [[-1.0, 3.0, 4.0]] * 4}, "floor=0"),
    "nothing": ({"allocation": [[np.nan] * 3] * 4}, "person 0 reports nothing"),
    "other names": ({"allocation": {"a": [1], "b": [2]}}, "it needs"),
    "ragged": ({"allocation": [[2.0, 2.0, 2.0]] * 3 + [[6.0]]}, "one per person and attribute"),
    "a set": ({"allocation": {2.0}}, "no rows for 4 people"),
    "a number for an array": ({"allocation": np.array(2.0)}, "no rows for 4 people"),
    "source": ({"source": 5}, "source is 5; leave it out"),
    "both": (
        {"allocation": [[2.0] * 3] * 4, "reported": np.ones((4, 3), bool)},
        "NaN marks what is not reported",
    ),
    "reported shape": ({"reported": np.ones((4, 2), bool)}, r"\(4, 2\)"),
    "reported type": ({"reported": np.ones((4, 3))}, "true or false"),
}


@pytest.mark.parametrize(("given", "says"), REFUSED.values(), ids=REFUSED)
def test_refused_allocations(records, given, says) -> None:
    with pytest.raises(ParameterError, match=says):
        records.randomise(TABLE, **given)


BAD_TABLES = {
    "no column": ({"a": ["x"], "b": [1]}, "no column 'c'"),
    "lengths": ({"a": ["x"], "b": [1, 2], "c": [0]}, "different lengths"),
    "a value": ({"a": ["x", "q"], "b": [1, 1], "c": [0, 0]}, "'a': .*'q'"),
    "missing": ({"a": ["x", None], "b": [1, 1], "c": [0, 0]}, "'a': .*missing"),
    "outside": ({"a": ["x"], "b": [7], "c": [0]}, "outside the bins"),
    "an array": (np.zeros((3, 3)), "a name for each column"),
    "a number": (3, "a table is"),
    "a text": ("abc", "a table is"),
    "a text column": ({"a": "x", "b": [1], "c": [0]}, "one answer per person"),
    "a set as a column": ({"a": {"x"}, "b": [1], "c": [0]}, "'a' is set; .* in order"),
    "a dict as a column": ({"a": {0: "x"}, "b": [1], "c": [0]}, "'a' is dict"),
    "a view as a column": ({"a": {0: "x"}.values(), "b": [1], "c": [0]}, "'a' is dict_values"),
    "no dimension": ({"a": np.array("x"), "b": [1], "c": [0]}, "'a' is ndarray"),
    "two dimensions": ({"a": np.array([["x"]]), "b": [1], "c": [0]}, "'a' is ndarray"),
    "a lazy table": (pl.LazyFrame({"a": ["x"]}), r"LazyFrame .* \.collect\(\)"),
}


@pytest.mark.parametrize(("table", "says"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_refused_tables(records, table, says) -> None:
    with pytest.raises(AnswerError, match=says):
        records.randomise(table)


def test_a_wrong_answer_is_named_by_its_row_in_the_whole_table() -> None:
    r = sv.Records([sv.Attribute("a", ["x", "y"]), B, C], epsilon_average=2.0)
    n = 20_000  # more than a block
    table = {"a": ["x"] * n, "b": [0.5] * n, "c": np.zeros(n)}
    sent = np.ones((n, 3), bool)
    sent[:6] = [False, False, True]
    for row in (9, 17_000):
        for name, bad in (("a", "BAD"), ("b", -5), ("a", None), ("c", 9)):
            wrong = {**table, name: list(table[name])}
            wrong[name][row] = bad
            for also, first in (({}, 0), ({"first_row": 100}, 100)):
                for reported in (None, sent):
                    with pytest.raises(AnswerError, match=rf"{name!r}: .*row {first + row}\b"):
                        r.randomise(wrong, reported=reported, **also)
    shares = np.full((n, 3), 2.0)
    shares[17_000, 0] = 3.0
    with pytest.raises(ParameterError, match="person 17100 divides 7 among"):
        r.randomise(table, allocation=shares, first_row=100)
    gaps = {**table, "c": np.where(np.arange(n) == 17_000, np.nan, 0.0)}
    with pytest.raises(AnswerError, match=r"'c': 1 people .*row 17100"):
        r.randomise(gaps, reported=np.ones((n, 3), bool), first_row=100)


def test_a_column_of_lists_is_not_one_of_missing_answers() -> None:
    r = sv.Records([sv.Attribute("a", ["x", "y"], missing="value")], epsilon_average=2.0)
    for column in (pa.array([["x"]] * 5), pd.Series([np.array(["x"])] * 5)):
        with pytest.raises(AnswerError, match=r"'a': .*(list<|array)"):
            r.randomise({"a": column})


def test_reported_without_an_answer(records) -> None:
    with pytest.raises(AnswerError, match="NaN in the allocation"):
        records.randomise(TABLE, allocation=[[2.0, 2.0, 2.0]] * 4)


BAD_RECORDS = {
    "epsilon": ({"epsilon_average": 0}, "epsilon"),
    "public": ({"epsilon_average": 1.0, "public": 1}, "True or False"),
    "floor": ({"epsilon_average": 1.0, "floor": 1.5}, "from 0 to epsilon_average"),
    "a floor of text": ({"epsilon_average": 1.0, "floor": "x"}, "a number"),
    "study": ({"epsilon_average": 1.0, "study": b"short"}, "32 bytes"),
}


@pytest.mark.parametrize(("given", "says"), BAD_RECORDS.values(), ids=BAD_RECORDS)
def test_refused_parameters(given, says) -> None:
    with pytest.raises(ParameterError, match=says):
        sv.Records([A, B], **given)


@pytest.mark.parametrize("given", [None, 5, "ab", A, [A, "b"], {"a": A}], ids=str)
def test_what_is_no_list_of_attributes(given) -> None:
    with pytest.raises(ParameterError, match="give a list of them"):
        sv.Records(given, epsilon_average=1.0)


def test_people_who_report_nothing_are_counted_and_named() -> None:
    r = sv.Records([C], epsilon_average=2.0)
    codes = np.zeros(40_000)
    codes[[17_000, 39_000]] = np.nan
    with pytest.raises(ParameterError, match=r"2 of these 40000 .* row 17000.* leave these rows"):
        r.randomise({"c": codes})
    with pytest.raises(ParameterError, match=r"40000 of these 40000 people .* row 7"):
        r.randomise({"c": codes}, reported=np.zeros((40_000, 1), bool), first_row=7)
    assert len(r.randomise({"c": codes[~np.isnan(codes)]})) == 39_998


def test_a_range_needs_bins() -> None:
    with pytest.raises(ParameterError, match="public bins"):
        sv.Records([sv.Range("weight", 0, 100)], epsilon_average=1.0)


def test_floors() -> None:
    hidden, public = (sv.Records([A, B], epsilon_average=2.0, public=p) for p in (False, True))
    assert (hidden.floor, public.floor) == (0.0, 0.5)
    assert sv.Records([A, B], epsilon_average=0.3, public=True).floor == 0.3
    with pytest.raises(ParameterError, match=r"0\.5 to 20"):
        public.randomise({"a": ["x"], "b": [1]}, allocation=[[3.9, 0.1]])
    sent = public.randomise({"a": ["x"] * 200, "b": [1] * 200}, allocation="random")
    assert sent.columns["steps"].min() >= 0.5 * 1024 - 1


@pytest.mark.parametrize("public", [False, True])
def test_wire_forms_and_merging(public: bool, tmp_path) -> None:
    r = sv.Records([A, B, C], epsilon_average=2.0, public=public)
    many = {k: v * 20 for k, v in TABLE.items()}
    first, second = (r.randomise(many, allocation="random") for _ in range(2))
    assert Reports.from_bytes(first.to_bytes(), expect=r).to_bytes() == first.to_bytes()
    one, two = r.aggregate(first), r.aggregate(second)
    both = one + two
    assert both == two + one == sum([one, two])
    assert both.people == both.reports == 160
    assert both.sparse("patterns").counts.sum() == 160
    assert Aggregate.from_bytes(both.to_bytes(), expect=r) == both
    both.save(tmp_path / "x.sva")
    assert Aggregate.load(tmp_path / "x.sva", expect=r) == both


def test_what_does_not_belong_together(records) -> None:
    other = sv.Records([A, B, C], epsilon_average=1.0)
    mine, theirs = (r.aggregate(r.randomise(TABLE)) for r in (records, other))
    with pytest.raises(MergeError, match="one study"):
        mine + theirs
    with pytest.raises(DigestError, match="other values, another epsilon"):
        records.marginal(theirs, ["a"])
    with pytest.raises(DigestError, match="other values, another epsilon"):
        records.aggregate(other.randomise(TABLE))
    with pytest.raises(ParameterError, match="Aggregate expected"):
        records.joint("x", ["a"])
    with pytest.raises(ParameterError, match="Reports expected"):
        records.aggregate(mine)
    assert records.bind(bytes(32)).digest != records.digest


def test_an_aggregate_is_expected_by_its_records(records) -> None:
    data = records.aggregate(records.randomise(TABLE)).to_bytes()
    for wrong in (None, 5):
        with pytest.raises(ParameterError, match="expect is"):
            Aggregate.from_bytes(data, expect=wrong)
    with pytest.raises(DigestError, match="'pmoue', but 'grr' is expected"):
        Aggregate.from_bytes(data, expect=sv.GRR(3, epsilon=1.0))


def corrupted(records: sv.Records, how: str) -> bytes:
    data = bytearray(records.aggregate(records.randomise(TABLE)).to_bytes())
    start = data.index(b"patterns") + len("patterns") + 4 + 8  # the first row
    if how == "short":
        return bytes(data[:-1])
    if how == "trailing":
        return bytes(data) + b"\0"
    if how == "magic":
        data[0] = 0
    if how == "version":
        data[4] = 9
    if how == "order":
        width = 3
        rows = np.frombuffer(data, np.uint8, offset=start)[: width * 4].reshape(4, width)[::-1]
        data[start : start + 12] = rows.tobytes()
    if how == "count":
        data[-8:] = bytes(8)
    if how == "bits":
        data[start + 2] |= 0x80 | 0x40 | 0x20
        data[start] = 1
    return bytes(data)


@pytest.mark.parametrize("how", ["short", "trailing", "magic", "version", "order", "count", "bits"])
def test_broken_aggregates_are_refused(records, how: str) -> None:
    with pytest.raises(WireError):
        Aggregate.from_bytes(corrupted(records, how), expect=records)


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("reported", 0, "reports no attribute"),
        ("reported", 0b1001, "unused reported"),
        ("reported", 0b010, "does not report"),
        ("steps", 0xFFFF, "do not agree"),
        ("steps", 21 * 1024, "0.5 to 20"),
        ("steps", 10 * 1024, "more than its total"),
        ("steps", 3, "0.5 to 20"),
    ],
)
def test_reports_nobody_can_have_sent(column, value, says) -> None:
    r = sv.Records([A, B, C], epsilon_average=2.0, public=True)
    columns = {k: v.copy() for k, v in r.randomise(TABLE).columns.items()}
    columns["bits"][0, 0] |= 1
    columns[column][0, 0] = value
    with pytest.raises(WireError, match=says):
        r.check(columns)


def test_seeded_reports_are_refused_outside(records) -> None:
    with testing.seeded(1) as source:
        reports = records.randomise(TABLE, source=source)
        aggregate = records.aggregate(reports)
    with pytest.raises(SeededError):
        records.aggregate(reports)
    with pytest.raises(SeededError):
        records.marginal(aggregate, ["a"])


def test_nobody_and_nothing(records) -> None:
    empty = records.aggregate(records.randomise({"a": [], "b": [], "c": []}))
    assert empty.people == empty.reports == 0
    with pytest.raises(EstimateError, match="no records"):
        records.marginal(empty, ["a"])
    sent = np.ones((4, 3), bool)
    sent[:, 0] = False
    table = {**TABLE, "c": [0, 0, 0, 0]}
    some = records.aggregate(records.randomise(table, reported=sent))
    with pytest.raises(EstimateError, match="nobody reported 'a'"):
        records.joint(some, ["a", "b"])


def test_memory_stays_near_that_of_the_reports(monkeypatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_THREADS", "2")  # every thread has room of its own
    r = sv.Records([sv.Attribute(f"a{i}", 8) for i in range(8)], epsilon_average=2.0)
    rng = np.random.default_rng(0)
    table = {f"a{i}": rng.integers(0, 8, 1_000_000) for i in range(8)}
    r.randomise({k: v[:100] for k, v in table.items()}, allocation="random")
    tracemalloc.start()
    reports = r.randomise(table, allocation="random")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * sum(column.nbytes for column in reports.columns.values())


def test_helpers_of_allocation() -> None:
    sent = np.array([[True, True, False], [True, True, True]])
    np.testing.assert_array_equal(equal(sent, 2.0)[0], [2.0, 2.0, np.nan])
    drawn = random(np.ones((5000, 3), bool), 2.0, 0.5, SYSTEM)
    np.testing.assert_allclose(drawn.sum(axis=1), 6.0)
    assert drawn.min() >= 0.5
    assert random(np.ones((500, 3), bool), 15.0, 0.0, SYSTEM).max() <= 20.0
    assert slide([2.0, 2.0, 2.0], 1, 0.0).tolist() == [3.0, 0.0, 3.0]
    np.testing.assert_array_equal(slide([3.0, np.nan, 1.0], 2, 4.0), [0.0, np.nan, 4.0])
    assert described_epsilon([[3.9, 0.1], [2.0, 2.0]]).round(3).tolist() == [0.295, 4.0]


@pytest.mark.parametrize(("floor", "most"), [(0.0, 6.0), (0.5, 5.0), (1.5, 3.0)])
def test_designs_know_the_floor(floor: float, most: float) -> None:
    records = sv.Records(
        [sv.Attribute(name, 3) for name in "abc"], epsilon_average=2.0, public=True, floor=floor
    )
    design = next(d for d in records.designs(1000) if d.name == "public, random")
    assert design.guarantee.promises[1].epsilon == most
