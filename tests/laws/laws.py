"""The laws of privacy, reports and counts; those of estimates are in `estimates`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce import Aggregate, HeavyHitters, Promise, Reports
from sottovoce.contract.codec import encode_reports
from sottovoce.contract.sparse import Sparse
from sottovoce.contract.way import Way
from sottovoce.promise import LDP, LIP

from .entries import IDEALISED_PAIRS, answers
from .law import (
    TIGHT,
    anything,
    each_report,
    has_a_channel,
    has_support,
    law,
    logarithm,
    numeric,
    power,
    require,
    same,
    says_something,
)

# --- privacy ------------------------------------------------------------------------------------


@law(has_a_channel)
def rows_sum_to_one(collection: Any, way: Way) -> None:
    channel = collection.channel(way)
    require(len(channel.exact) == len(channel.inputs), "a row for every answer")
    if isinstance(collection, HeavyHitters):
        require(list(channel.inputs) == answers(collection, 3), "rows are the texts")
    elif not numeric(collection):
        require(list(channel.inputs) == list(collection.domain.labels), "rows are the values")
    for row in channel.exact:
        require(len(row) == len(channel.outputs), "a cell for every report")
        require(all(isinstance(cell, Fraction) and cell >= 0 for cell in row), "probabilities")
        require(sum(row) == 1, f"a row sums to {float(sum(row))}")


def realised_ratio(collection: Any, way: Way) -> Fraction:
    columns = zip(*collection.channel(way).exact, strict=True)
    return max(max(column) / min(column) for column in columns)


def information_ratio(collection: Any, way: Way) -> Fraction:
    """The largest P(y|x) / P(y) or P(y) / P(y|x) under any prior within what is known.

    P(y) is linear in the prior: its ends are found by giving what is free to the smallest, or to
    the largest, entries of the column.
    """
    low, high = ([Fraction(p) for p in side] for side in known_prior(way.mechanism))
    worst = Fraction(1)
    for column in zip(*collection.channel(way).exact, strict=True):
        ends = []
        for order in (sorted, lambda cells, key: sorted(cells, key=key, reverse=True)):
            free, total = 1 - sum(low), sum(p * q for p, q in zip(low, column, strict=True))
            for x in order(range(len(column)), key=column.__getitem__):
                mass = min(free, high[x] - low[x])
                free, total = free - mass, total + mass * column[x]
            ends.append(total)
        worst = max(worst, max(column) / ends[0], ends[1] / min(column))
    return worst


def known_prior(mechanism: Any) -> tuple[list[Fraction], list[Fraction]]:
    """Bounds of the prior; a distribution that rounding kept from one is made one."""
    if mechanism.prior is None:
        return mechanism.prior_low, mechanism.prior_high
    masses = [Fraction(p) for p in mechanism.prior]
    return ([p / sum(masses) for p in masses],) * 2


RATIOS = {LDP: realised_ratio, LIP: information_ratio}


def promises_to(collection: Any, way: Way) -> list[Promise]:
    """What the collection's guarantee says to people who take part this way."""
    return [
        promise
        for promise in collection.guarantee.promises
        if way.level is None or promise.unit.level == way.level
    ]


@law(says_something)
def epsilon_is_kept_and_tight(collection: Any, way: Way) -> None:
    """Every promise, each by its own notion of privacy; the way and the whole promise the same."""
    promises = promises_to(collection, way)
    require(LDP in {promise.notion for promise in promises}, "nothing holds without a prior")
    stated = [(p.notion, p.epsilon, p.delta, p.assuming) for p in promises]
    of_way = [(p.notion, p.epsilon, p.delta, p.assuming) for p in way.guarantee.promises]
    require(stated == of_way, "the way promises something else than the collection")
    for promise in promises:
        ratio, promised = RATIOS[promise.notion](collection, way), promise.epsilon
        require(ratio <= power(promised), f"more {promise.notion} is lost than promised")
        realised = logarithm(ratio)
        require(realised <= promised, f"realised {realised!r}, promised {promised!r}")
        require(promised - realised <= TIGHT, f"only {realised!r} of {promised!r} is used")
    if len(promises) == 1:
        require(collection.channel(way).epsilon() <= promises[0].epsilon, "the channel disagrees")


# --- reports ------------------------------------------------------------------------------------


@law(has_a_channel)
def every_report_is_there_once(collection: Any, way: Way) -> None:
    outputs = collection.channel(way).outputs
    everything = collection.every_report(way)
    require(len(everything) == len(outputs), "one report per column of the channel")
    require(len(set(outputs)) == len(outputs), "outputs have different names")
    distinct = {report.to_bytes() for report in each_report(collection, way)}
    require(len(distinct) == len(outputs), "a report appears twice")
    collection.check(everything.columns)


@law(has_support)
def support_has_p_and_q(mechanism: Any, way: Way) -> None:
    """In exact numbers: a report supports the truth with p, another value with q, pairs with s, t.

    This also ties the order of `every_report` to that of the channel's columns.
    """
    d = mechanism.domain.size
    (s, t), p, q = mechanism.pair, mechanism.p, mechanism.q
    counted = [mechanism.aggregate(report) for report in each_report(mechanism, way)]
    support = [aggregate.dense("support").tolist() for aggregate in counted]
    for x, row in enumerate(mechanism.channel(way).exact):
        for u in range(d):
            one = sum(cell for cell, has in zip(row, support, strict=True) if has[u])
            require(one == (p if u == x else q), f"P(support {u} | {x}) is {float(one)}")
            for v in range(0 if mechanism.id in IDEALISED_PAIRS else u):
                both = sum(c for c, has in zip(row, support, strict=True) if has[u] and has[v])
                require(both == (s if x in (u, v) else t), f"P(support {u}, {v} | {x}) is wrong")


def some_reports(collection: Any, way: Way) -> Reports:
    """Every report once, or where there are too many to write down, those of some people."""
    if has_a_channel(collection, way):
        return collection.every_report(way)
    return collection.randomise(answers(collection, 50), way=way)


def decoding_inverts_encoding(collection: Any, sizes: Sequence[int], **choice: Any) -> None:
    """For a few people, in one envelope and in several."""
    for n in sizes:
        reports = collection.randomise(answers(collection, n), **choices(choice, n))
        counted = collection.aggregate(reports).people
        require(counted == n, f"{n} answers gave reports of {counted} people")
        same(reports, Reports.from_bytes(reports.to_bytes(), expect=collection))
        rows = len(reports)
        parts = [reports[: rows // 3], reports[rows // 3 : rows // 2], reports[rows // 2 :]]
        envelopes = [encode_reports(part, more=k < 2) for k, part in enumerate(parts)]
        same(reports, Reports.from_bytes(b"".join(envelopes), expect=collection))


def parquet_inverts_too(collection: Any, sizes: Sequence[int], folder: Path, **choice: Any) -> None:
    for n in sizes:
        reports = collection.randomise(answers(collection, n), **choices(choice, n))
        path = folder / f"{n}.parquet"
        reports.to_parquet(path)
        same(reports, Reports.from_parquet(path, expect=collection))


def choices(menus: dict[str, Sequence[Any]], n: int) -> dict[str, np.ndarray]:
    """Everyone's own choice from each menu, the same for the same n."""
    rng = np.random.default_rng(n)
    return {name: rng.choice(np.array(menu), n) for name, menu in menus.items()}


# --- aggregates ---------------------------------------------------------------------------------


def is_empty(table: Any) -> bool:
    return table.n == 0 if isinstance(table, Sparse) else not table.any()


@law(anything)
def merging_is_a_commutative_monoid(collection: Any, way: Way) -> None:
    everything = some_reports(collection, way)
    cut = sorted([0, 1, len(everything) // 2, len(everything)])
    a, b, c = (collection.aggregate(everything[i:j]) for i, j in pairwise(cut))
    zero = collection.aggregate(everything[:0])
    whole = collection.aggregate(everything)
    require((zero.people, zero.reports) == (0, 0), "zero has people")
    require(all(map(is_empty, zero.tables.values())), "zero is not empty")
    require(a + zero == a and zero + a == a, "zero is not neutral")
    require(a + b == b + a, "merging depends on the order")
    require((a + b) + c == a + (b + c), "merging depends on the grouping")
    require(a + b + c == whole, "parts do not merge to the whole")
    require(sum([a, b, c]) == whole, "sum() does not merge")


@law(anything)
def stored_aggregates_come_back(collection: Any, way: Way) -> None:
    everything = some_reports(collection, way)
    for reports in (everything, everything[:0], everything[:1]):
        aggregate = collection.aggregate(reports)
        back = Aggregate.from_bytes(aggregate.to_bytes(), expect=collection)
        require(back == aggregate, "an aggregate changed when it was stored")


@law(anything)
def turnout_counts_everyone(collection: Any, way: Way) -> None:
    """People asked and reports received, by way; what is not this way is zero."""
    reports = some_reports(collection, way)
    aggregate = collection.aggregate(reports)
    asked, reported = collection.turnout(aggregate)
    require(len(asked) == len(reported) == len(collection.ways()), "one number for each way")
    require(asked[way.index] == asked.sum() == aggregate.people, "people of another way")
    require(reported[way.index] == reported.sum() == aggregate.reports, "reports of another way")
    silent = reports.columns.get("silent")
    rows = len(reports) if silent is None else int(np.maximum(silent, 1).sum())
    require(aggregate.people == rows, f"{rows} people became {aggregate.people}")
    speak = rows if silent is None else int((silent == 0).sum())
    if "reported" in reports.columns:  # silent people have a row of their own, without an answer
        speak = int(reports.columns["reported"].any(axis=1).sum())
    require(aggregate.reports == speak, f"{speak} reports became {aggregate.reports}")
