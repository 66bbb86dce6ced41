"""How often intervals of combinations of values cover the truth.

A section of docs/coverage.md, which ``python -m benchmarks.coverage --only combinations`` measures
alone. A row is the lowest coverage over populations and combinations; a population whose lowest is
low is measured again with more runs. Equal counts have equal intervals, so each table of counts is
estimated once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice, product
from typing import Any

import numpy as np

from sottovoce import (
    GRR,
    LIP,
    OLH,
    OUE,
    Estimate,
    HadamardResponse,
    Levels,
    ProjectiveGeometryResponse,
    Sampled,
    SubsetSelection,
)
from sottovoce.contract.aggregate import Aggregate
from sottovoce.mechanisms.mechanism import Mechanism

from .coverage_cells import LONG, LOW, Row, is_refused, measure, patterns, table

KINDS: tuple[Any, ...] = (
    GRR,
    OUE,
    OLH,
    SubsetSelection,
    HadamardResponse,
    ProjectiveGeometryResponse,
    LIP,
)
WAYS = ("plain", "levels ε and 4ε", "rates .3 and .8")
REPORTS = (1, 3, 10, 21, 201, 500)
#: Epsilon and number of values, which take turns: every design meets each of them once.
SETTINGS = tuple(product((0.5, 1.0, 4.0), (3, 10)))
NAMES = ("first two", "last two", "scores", "weights 1 and 10")
_SLACK = 1e-9


def design(kind: type[Mechanism], way: str, epsilon: float, d: int) -> Mechanism:
    """A mechanism, inside levels or rates."""
    about: dict[str, Any] = {"domain": d}
    if kind is LIP:
        about = {"domain": list(range(d)), "prior": [0.5, *[0.5 / (d - 1)] * (d - 1)]}
    base = kind(epsilon=epsilon, **about)
    if way == WAYS[1]:
        return Levels({"a": base, "b": kind(epsilon=4 * epsilon, **about)})
    return Sampled(base, rate=[0.3, 0.8]) if way == WAYS[2] else base


def ways_of(mechanism: Mechanism, n: int) -> dict[str, Any]:
    """Levels and rates of the people, which do not follow their answers."""
    rng = np.random.default_rng(n)
    options: dict[str, Any] = {}
    for name, choices in (("level", list(mechanism.menu)), ("rate", list(mechanism.rates))):
        if len(choices) > 1:
            each = list(islice(cycle(choices), n))
            rng.shuffle(each)
            options[name] = each
    return options


def weights_of(d: int) -> np.ndarray:
    """A row for each of `NAMES`."""
    rows = np.zeros((len(NAMES), d))
    rows[0, :2] = rows[1, -2:] = 1, -1
    rows[2] = np.arange(d)
    rows[3, [0, d - 1]] = 1, 10
    return rows


def covers(estimate: Estimate, weights: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Whether the interval of each combination contains its true value."""
    inside = np.zeros(len(weights), bool)
    for k, (row, true) in enumerate(zip(weights, weights @ truth, strict=True)):
        used = {v: w for v, w in enumerate(row.tolist()) if w}
        one = estimate.mean(row.tolist()) if NAMES[k] == "scores" else estimate.contrast(used)
        low, high = one.interval()
        inside[k] = low[0] - _SLACK <= true <= high[0] + _SLACK
    return inside


def content(aggregate: Aggregate) -> tuple[Any, ...]:
    """What estimates depend on."""
    tables = tuple(np.asarray(each).tobytes() for each in aggregate.tables.values())
    return aggregate.reports, tables


def coverage(
    mechanism: Mechanism, answers: np.ndarray, options: dict[str, Any], runs: int
) -> np.ndarray:
    """Of each combination, where anybody reported at every rate."""
    d = mechanism.domain.size
    truth, weights = np.bincount(answers, minlength=d) / answers.size, weights_of(d)
    known: dict[tuple[Any, ...], np.ndarray] = {}
    inside, done = np.zeros(len(weights)), 0
    for _ in range(runs):
        aggregate = mechanism.aggregate(mechanism.randomise(answers, **options))
        if options and is_refused(mechanism, aggregate):
            continue
        counts = content(aggregate)
        if counts not in known:
            known[counts] = covers(mechanism.estimate(aggregate), weights, truth)
        inside += known[counts]
        done += 1
    return inside / done


def lowest(
    mechanism: Mechanism, answers: np.ndarray, options: dict[str, Any], runs: int
) -> tuple[float, int]:
    """The lowest coverage of a combination, and which one it is."""
    each = coverage(mechanism, answers, options, runs)
    return float(each.min()), int(each.argmin())


def rows(runs: int) -> Iterator[Row]:
    """One for each design and number of reports; of people at rates, about half report."""
    for (i, (kind, way)), (j, n) in product(enumerate(product(KINDS, WAYS)), enumerate(REPORTS)):
        epsilon, d = SETTINGS[(i + j) % len(SETTINGS)]
        mechanism, people = design(kind, way, epsilon, d), n * (2 if way == WAYS[2] else 1)
        options = ways_of(mechanism, people)
        cells = []
        for name, answers in patterns(people, d):
            least, which = measure(partial(lowest, mechanism, answers, options), runs)
            cells.append((least, f"{NAMES[int(which)]}, {name}"))
        about = f"{kind.id}, d={d}, ε={epsilon:g}" + (f", {way}" if way != WAYS[0] else "")
        least, where = min(cells)
        yield about, str(people), f"{least:.3f}", where


def section(runs: int) -> str:
    """The section of the page, from its heading on."""
    started, every = time.monotonic(), []
    for row in rows(runs):
        every.append(row)
        print(row, file=sys.stderr, flush=True)
    body = table(("design", "people", "lowest coverage", "lowest at"), every)
    took = round(time.monotonic() - started)
    return TEXT.format(runs=runs, seconds=took, low=LOW, long=LONG, table=body)


HEADING = "## Combinations of values, simulated"
TEXT = f"""{HEADING}

The lowest coverage over three populations (as above: all alike, spread, one in seven) and four
combinations: the difference of the first two values, that of the last two, the mean of the scores
0 to d − 1, and a sum in which the first value has the weight 1 and the last one 10. Each design is
measured with every epsilon and number of values once, at different numbers of people. At 20 or 200
reports the computation changes (see above), so 21 and 201 people are just beyond; where people
report at rates, there are twice as many.

`python -m benchmarks.coverage --only combinations` measures this section without the others, which
were measured together; its latest run took {{seconds}} s, with {{runs}} runs for each population. A
population with a coverage below {{low}} was measured again with {{long:,}} runs.

{{table}}
"""
