"""Levels whose tables differ are counted in one pass, with the counts of each on its own."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.contract.reports import Reports
from sottovoce.errors import WireError
from sottovoce.participation.counting import passes_of
from sottovoce.participation.reports import inner_reports

D = 12
RATES = [0.3, 0.8]


def had(e):
    return sv.HadamardResponse(D, epsilon=e)


def pgr(e):
    return sv.ProjectiveGeometryResponse(D, epsilon=e)


def sets(e):
    return sv.SubsetSelection(D, epsilon=e)


def grr(e):
    return sv.GRR(D, epsilon=e)


# What is at each level, and which of the classes are counted in one pass.
MENUS = {
    "sets of different sizes": ([sets(0.5), sets(1), sets(4)], [[0, 1, 2]]),
    "blocks": ([had(0.5), had(2), had(4)], [[2, 0, 1]]),
    "numbers of outputs": ([pgr(6), pgr(0.1), pgr(2)], [[1, 0, 2]]),
    "two kinds of bits": ([sets(1), sv.OUE(D, epsilon=1), sv.SUE(D, epsilon=1)], [[0, 1, 2]]),
    "one column": ([had(4), pgr(1)], [[0, 1]]),
    "one class in turn with others": ([grr(1), had(1), grr(2), pgr(1)], [[0], [1, 2]]),
    "hashes are alone": ([sv.OLH(D, epsilon=1), had(1), had(2)], [[0], [1, 2]]),
}


def counted_alone(levels, reports):
    """The counts of the reports of each way, picked out and counted by its own mechanism."""
    columns = reports.columns
    silent = columns.get("silent", np.zeros(len(reports), int))
    for way in levels.ways():
        rows = np.flatnonzero((columns["way"] == way.index) & (silent == 0))
        mechanism = levels.way_mechanisms[way.index]
        part = inner_reports(columns, rows, mechanism, reports.seeded)
        (counts,) = mechanism.count(part).values()
        yield way, rows.size, counts


@pytest.mark.parametrize("rates", [None, RATES], ids=["everyone reports", "rates"])
@pytest.mark.parametrize("name", MENUS)
def test_counts_are_those_of_each_way_on_its_own(name, rates):
    kinds, passes = MENUS[name]
    menu = {str(k): kind for k, kind in enumerate(kinds)}
    if rates is not None:
        menu = {level: sv.Sampled(kind, rate=rates) for level, kind in menu.items()}
    levels = sv.Levels(menu)
    assert passes_of([mechanism for mechanism, _ in levels.classes]) == passes
    rng = np.random.default_rng(1)
    chosen = {"level": rng.choice(list(menu), 3_000)}
    if rates is not None:
        chosen["rate"] = rng.choice(rates, 3_000)
    answers = rng.integers(0, D, 3_000)
    for n in (3_000, 5, 1):  # many reports for a row of the table, and few
        some = {key: column[:n] for key, column in chosen.items()}
        reports = levels.randomise(answers[:n], **some)
        aggregate = levels.aggregate(reports)
        for way, people, counts in counted_alone(levels, reports):
            k, rows = levels.place([way.index])
            (table,) = (t for t in aggregate.tables if t.startswith(f"{k}/"))
            assert aggregate.dense(table)[rows[0]].tolist() == counts.tolist()
            assert aggregate.dense("reported")[way.index] == people
        assert aggregate == sv.Aggregate.from_bytes(aggregate.to_bytes(), expect=levels)


def test_a_table_is_shared_by_those_that_fill_a_quarter_of_it():
    many, half, few = (sv.HadamardResponse(d, epsilon=1) for d in (4_000, 2_000, 500))
    assert [m.cells for m in (many, half, few)] == [4_096, 2_048, 512]
    assert passes_of([few, many, half]) == [[1, 2], [0]]


def test_chosen_values_are_counted_level_by_level():
    levels = sv.Levels({"a": had(1), "b": had(4)})
    answers, names = np.arange(3_000) % D, np.array(["a", "b"] * 1_500)
    reports = levels.randomise(answers, level=names)
    some = levels.aggregate(reports, values=[3, 5])
    every = levels.estimate(levels.aggregate(reports), method="post-stratified")
    chosen = levels.estimate(some, method="post-stratified")
    assert chosen.values == pytest.approx(every.values[[3, 5]])


@pytest.mark.parametrize("n", [1, 10_000])
def test_an_output_that_only_another_level_has_is_refused(n):
    levels = sv.Levels({"few": pgr(6), "many": pgr(0.1)})
    few, many = (level.mechanism.cells for level in levels.levels)
    assert few < many
    reports = levels.randomise(np.zeros(n, int), level="few")
    y = reports.columns["y"].copy()
    y[-1] = few
    forged = Reports(levels.id, levels.digest, {**reports.columns, "y": y})
    with pytest.raises(WireError, match=f"not one of 0 to {few - 1}"):
        levels.aggregate(forged)
