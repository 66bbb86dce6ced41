"""How often intervals between parties include the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from sottovoce.parties.design import Design
from sottovoce.parties.methods import Method
from sottovoce.parties.methods.evidence import Margin
from sottovoce.parties.methods.numbers import ratio_interval, reach
from sottovoce.parties.methods.registry import ROWS
from sottovoce.promise import Neighbours

from .parties_data import Floats, Integers, noise, row_sums

_SIZES = {"A": 400, "B": 300, "C": 300, "D": 500}
_STRESS = {"A": Fraction(1, 10), "B": Fraction(1, 2), "C": Fraction(1), "D": Fraction(1)}


def stress_cases(neighbours: Neighbours) -> Iterator[tuple[Design, dict[str, Integers]]]:
    """Designs and tables 2 × 3 in which one party differs, a little or a lot."""
    base = np.array([0.34, 0.22, 0.04, 0.3, 0.1, 0.0])
    other = np.array([0.0, 0.02, 0.38, 0.05, 0.15, 0.4])
    rows = _SIZES if neighbours is Neighbours.SUBSTITUTION else None
    for scale in (1, 8):
        budgets = {party: budget * scale for party, budget in _STRESS.items()}
        design = Design((2, 3), budgets, 2, neighbours=neighbours, rows=rows)
        for differs in ("A", "D"):
            for by in (0.02, 0.1, 0.3, 1.0):
                tables = {}
                for party, size in _SIZES.items():
                    p = (1 - by) * base + by * other if party == differs else base
                    tables[party] = np.round(size * p).astype(np.int64)
                    tables[party][0] += size - tables[party].sum()
                yield design, tables


def coverage_section(repeats: int, few: int) -> str:
    """How often intervals of split rows include the truth."""
    rng = np.random.default_rng(145)
    lines = [
        "## Coverage of 95 % intervals",
        "",
        "Four parties, 1,500 rows, a 2 × 3 table; one party differs from the others by a fraction "
        "of .02, .1, .3 or 1 of its rows; ε = .1, .5, 1, 1 or eight times as much; t = 2. The "
        "lowest coverage of any cell, fraction of one attribute, or conditional fraction, over all "
        f"these splits (target: ≥ .93); {repeats:,} repeats for each split, and {few:,} for `sth`, "
        "`sah` and `product`, where one figure has a standard error of "
        f"{math.sqrt(0.95 * 0.05 / few):.3f} (of {repeats:,}: "
        f"{math.sqrt(0.95 * 0.05 / repeats):.4f}) and the lowest of many lies below the true one. "
        "Before the widening to the released value, which can "
        "only raise it.",
        "",
        "| method | neighbours | cells | marginal | conditional |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for name in ("sjs", "independent", "sth", "sah", "product"):
        for neighbours in (Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE):
            lowest = np.ones(3)
            for design, tables in stress_cases(neighbours):
                if name in ("sjs", "independent"):
                    part = _coverage_at_once(ROWS[name], design, tables, repeats, rng)
                else:
                    whole = Margin.whole((2, 3))
                    part = _coverage(ROWS[name], design, tables, whole, few, rng)
                lowest = np.minimum(lowest, part)
            label = "`sjs`, `mhst`, `mh`" if name == "sjs" else f"`{name}`"
            cells = " | ".join(f"{value:.3f}" for value in lowest)
            lines.append(f"| {label} | {neighbours.value} | {cells} |")
    return "\n".join([*lines, ""])


def _coverage_at_once(
    method: Method,
    design: Design,
    tables: dict[str, Integers],
    repeats: int,
    rng: np.random.Generator,
) -> Floats:
    """The same as `_coverage` for unbiased sums, all repeats at once."""
    counts = np.asarray(sum(tables.values()), float)
    releases = method.releases(design)[: 1 if method.name == "sjs" else None]
    drawn = sum(noise(r.scale, r.shares / r.honest, (repeats, 6), rng) for r in releases)
    variance = sum(r.variance for r in releases)
    y = (counts + drawn).reshape(repeats, 2, 3)
    truth = counts.reshape(2, 3)
    h = reach(0.95)

    def count_coverage(noisy: Floats, true: Floats, cells: int) -> float:
        if design.neighbours is Neighbours.SUBSTITUTION:
            half = math.ceil(h * math.sqrt(cells * variance))
            return float((np.abs(noisy - true) <= half).mean(axis=0).min())
        total = np.broadcast_to(y.sum(axis=(1, 2)).reshape(-1, *(1,) * true.ndim), noisy.shape)
        return ratio_coverage(noisy, total, true / truth.sum(), cells, 6)

    def ratio_coverage(
        part: Floats, whole: Floats, ratio: Floats, part_cells: int, whole_cells: int
    ) -> float:
        ends = ratio_interval(
            part, whole, part_cells * variance, part_cells * variance, whole_cells * variance, h
        )
        covers = (ends.low <= ratio + 1e-9) & (ratio <= ends.high + 1e-9)
        return float(covers.mean(axis=0).min())

    side = y.sum(axis=1)
    side_totals = np.broadcast_to(side[:, None], y.shape)
    return np.array(
        [
            count_coverage(y, truth, 1),
            count_coverage(side, truth.sum(axis=0), 2),
            ratio_coverage(y, side_totals, truth / truth.sum(axis=0), 1, 2),
        ]
    )


def _coverage(
    method: Method,
    design: Design,
    tables: dict[str, Integers],
    whole: Margin,
    repeats: int,
    rng: np.random.Generator,
) -> Floats:
    """The lowest coverage of a cell, a fraction of attribute 1, and of attribute 0 given 1."""
    truth = sum(tables.values()) / sum(int(t.sum()) for t in tables.values())
    side = truth.reshape(2, 3).sum(axis=0)
    ratio = (truth.reshape(2, 3) / side).T.reshape(-1)
    inside: list[list[Any]] = [[], [], []]
    for _ in range(repeats):
        evidence = method.solve(design, row_sums(method, design, tables, rng)).evidence
        if evidence is None:
            raise SystemExit(f"{method.name} gave no evidence")
        ends = (
            (evidence.interval(whole, 0.95), truth),
            (evidence.interval(whole.of((1,)), 0.95), side),
            (evidence.conditional(whole.of((1, 0)), 1, 0.95), ratio),
        )
        for place, ((low, high), true) in enumerate(ends):
            inside[place].append((low <= true + 1e-9) & (true <= high + 1e-9))
    return np.array([np.mean(part, axis=0).min() for part in inside])
