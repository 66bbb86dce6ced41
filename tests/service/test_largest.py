"""The analyst's page shows the largest values, and what it costs does not grow with the others."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate import display
from sottovoce.estimate.display import to_csv
from sottovoce.estimate.estimate import Estimate
from sottovoce.service.estimating import Estimates
from sottovoce.service.largest import MOST_ROWS, largest, largest_places
from sottovoce.service.results_questions import question_section


class Counts:
    """A collector of one question that has been counted."""

    def __init__(self, mechanism, values):
        self.uncounted = frozenset()
        self.counts = mechanism.aggregate(mechanism.randomise(values))

    def people(self, name):
        return self.counts.people

    def aggregate(self, name):
        return self.counts


@pytest.fixture
def many():
    return sv.OLH(sv.Attribute("city", 5000), epsilon=1.0)


@pytest.mark.parametrize("size", [1, 59, 60, 61, 1000])
def test_the_largest_are_those_that_sorting_finds_also_among_equal_ones(size):
    values = np.random.default_rng(size).integers(0, 7, size) / 7
    sorted_ones = sorted(sorted(range(size), key=lambda k: -values[k])[:MOST_ROWS])
    assert largest_places(values, MOST_ROWS).tolist() == sorted_ones


def test_a_value_without_a_number_is_not_the_largest():
    values = np.array([0.1, np.nan, 0.3, 0.2])
    assert largest_places(values, 2).tolist() == [2, 3]


def test_the_rows_are_those_of_the_estimate(many):
    result = many.estimate(Counts(many, np.arange(300)).counts)
    shown = largest(result)
    rows = result.rows()
    assert len(shown.rows) == MOST_ROWS
    assert shown.hidden == 5000 - MOST_ROWS
    wanted = {row["value"]: row for row in rows}
    for row in shown.rows:
        assert row.items() <= wanted[row["value"]].items()
    assert min(row["estimate"] for row in shown.rows) >= sorted(r["estimate"] for r in rows)[-60]
    low, high = result.interval()
    assert shown.widest == float((high - low).max())


def test_the_page_makes_no_row_for_every_value_and_computes_once_for_each_state(many, monkeypatch):
    asked = []
    interval = Estimate.interval
    monkeypatch.setattr(Estimate, "rows", None)
    monkeypatch.setattr(Estimate, "interval", lambda self: asked.append(1) or interval(self))
    collector = Counts(many, np.arange(300))
    estimates = Estimates(collector)
    page = question_section(1, many, estimates, "")
    assert "The 60 largest; the files have 4,940 more." in page
    assert page.count('role="rowheader"') == 60
    assert question_section(1, many, estimates, "") == page
    assert len(asked) == 1
    collector.counts = many.aggregate(many.randomise(np.arange(200)))
    assert question_section(1, many, estimates, "") != page
    assert len(asked) == 2


def test_a_long_table_is_written_in_pieces_and_is_the_same(monkeypatch):
    columns = {"value": list(range(10)), "estimate": np.arange(10) / 7, "low": np.full(10, np.nan)}
    whole = to_csv(columns)
    monkeypatch.setattr(display, "_CSV_ROWS", 3)
    assert to_csv(columns) == whole
    assert whole.splitlines()[:3] == [b"value,estimate,low", b"0,0.0,", b"1,0.14285714285714285,"]
