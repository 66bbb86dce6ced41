"""Tables of pairs, in which LIP looks up its reports: exact, and their rare path word by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from sottovoce import LIP, kernels
from sottovoce.kernels.draw import tables as table_kernel
from sottovoce.mechanisms.prior_channels import WHOLE, IntegerChannel, drawing_tables, pairs
from sottovoce.randomness import Draws

from .crafted import ALL, Scripted, as_ints, seldom

KEEP = -1
RNG = np.random.default_rng(6)
MECHANISMS = [
    LIP(2, prior=0.1, epsilon=1.0),
    LIP(prior=[0.0, 0.7, 0.0, 0.3], epsilon=0.5),
    LIP(prior=[0.4, 0.3, 0.2, 0.1], epsilon=1.0, variant="a-optimal"),
    LIP(100, epsilon=20.0),
    LIP(300, epsilon=1e-6),
    LIP(prior=RNG.dirichlet(np.ones(1000)).tolist(), epsilon=3.0),
]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.domain.size}")


def outcomes(channel: IntegerChannel, row: int) -> Counter[int]:
    """Sizes out of 2^128 of the reports in one row, and of keeping the answer."""
    if channel.rows:
        return Counter(dict(enumerate(channel.rows[row])))
    return Counter({KEEP: channel.keep, **dict(enumerate(channel.rest))})


def cells_of(mechanism: LIP) -> list[list[tuple[int, int, int]]]:
    """The tables read back in plain integers: (bound, report below it, report from it on)."""
    table, upper, lower = drawing_tables(mechanism.integers)
    collected = []
    for r in range(len(table)):
        row = []
        for c in range(table.shape[1]):
            entry = int(table[r, c])
            bound = entry >> 32 << 96 | int(upper[r, c]) << 32 | int(lower[r, c])
            reports = (entry >> 16 & 0xFFFF, entry & 0xFFFF)
            row.append((bound, *(KEEP if v == table_kernel.KEEP else v for v in reports)))
        collected.append(row)
    return collected


@each
def test_the_table_holds_every_outcome_to_the_last_bit(mechanism: LIP) -> None:
    for r, row in enumerate(cells_of(mechanism)):
        size = WHOLE // len(row)
        total: Counter[int] = Counter()
        for bound, below, other in row:
            assert 0 <= bound <= size
            total[below] += bound
            total[other] += size - bound
        expected = outcomes(mechanism.integers, r)
        assert +total == +expected


def test_outcomes_of_every_shape_fit_into_pairs() -> None:
    rng = np.random.default_rng(1)
    for many in (2, 3, 4, 5, 16, 17, 100):
        bits = max(1, (many - 1).bit_length())
        for _ in range(20):
            cuts = sorted(int(c) << 64 for c in rng.integers(0, ALL, many - 1, np.uint64))
            sizes = np.diff([0, *cuts, WHOLE]).tolist()
            if rng.random() < 0.3:
                sizes = [WHOLE] + [0] * (many - 1)
            total: Counter[int] = Counter()
            for bound, one, other in pairs(list(enumerate(sizes)), bits):
                total[one] += bound
                total[other] += (WHOLE >> bits) - bound
            assert [total[k] for k in range(many)] == sizes


def reference(
    row: list[tuple[int, int, int]], word: int, code: int, fresh: Iterator[int]
) -> tuple[int, int]:
    """(report, words used): the first 32 of 128 bits are the word, and more only when they tie."""
    bits = len(row).bit_length() - 1
    cell, rest = word >> (32 - bits), word & ((1 << (32 - bits)) - 1)
    bound, below, other = row[cell]
    used = 0
    number = rest << 96
    if rest == bound >> 96:
        number |= next(fresh) << 32
        number |= next(fresh) >> 32
        used = 2
    label = below if number < bound else other
    return (code if label == KEEP else label), used


def special_words(row: list[tuple[int, int, int]]) -> list[int]:
    """Words that tie with a bound, and their neighbours."""
    bits = len(row).bit_length() - 1
    collected = []
    for cell, (bound, _, _) in enumerate(row[:64]):
        tie = min(bound >> 96, (1 << (32 - bits)) - 1)
        for rest in (tie - 1, tie, tie + 1):
            if 0 <= rest < 1 << (32 - bits):
                collected.append(cell << (32 - bits) | rest)
    return collected


def near(row: list[tuple[int, int, int]]) -> list[int]:
    """Further words at and around the bounds."""
    collected = []
    for bound, _, _ in row[:64]:
        first, second = bound >> 32 & ALL, (bound & 0xFFFFFFFF) << 32
        collected += [first, max(first - 1, 0), min(first + 1, ALL), second, max(second - 1, 0)]
    return collected


def run(mechanism: LIP, given: np.ndarray, codes: np.ndarray, extra: np.ndarray):
    out = np.full(codes.size, 251, codes.dtype)
    tables = drawing_tables(mechanism.integers)
    done, used = kernels.draw.table_response(given, codes, *tables, out, extra, 0)
    return out, done, used


@each
def test_each_report_alone_is_the_reference(mechanism: LIP) -> None:
    rng = np.random.default_rng(mechanism.domain.size)
    rows = cells_of(mechanism)
    d = mechanism.domain.size
    for code in sorted({0, 1, d // 2, d - 1}):
        row = rows[code if len(rows) > 1 else 0]
        for word in [*special_words(row), *as_ints(rng.integers(0, 1 << 32, 50))]:
            extra = seldom(rng, 4, near(row), 0.7)
            given, codes = np.array([word], np.uint32), np.array([code], mechanism.domain.dtype)
            out, done, used = run(mechanism, given, codes, extra)
            assert done == 1
            assert (int(out[0]), used) == reference(row, word, code, iter(as_ints(extra)))


@each
def test_many_reports_are_the_reference_through_refills(mechanism: LIP) -> None:
    # Half of all words tie, so that the reserve runs out again and again.
    rng = np.random.default_rng(mechanism.domain.size + 1)
    rows = cells_of(mechanism)
    d, n = mechanism.domain.size, 60_000
    codes = rng.integers(0, d, n).astype(mechanism.domain.dtype)
    ties = [word for row in rows for word in special_words(row)]
    further = [word for row in rows for word in near(row)]

    def script(call: int, count: int) -> np.ndarray:
        if call == 0:
            bits = seldom(rng, 2 * count, ties, 0.5) & np.uint64(0xFFFFFFFF)
            return bits.astype(np.uint32).view(np.uint64)
        return seldom(rng, count, further, 0.5)

    source = Scripted(script)
    out = np.full(n, 251, mechanism.domain.dtype)
    tables = drawing_tables(mechanism.integers)

    def step(given: np.ndarray, part: slice, extra: np.ndarray, used: int) -> tuple[int, int]:
        return kernels.draw.table_response(given, codes[part], *tables, out[part], extra, used)

    Draws(source).each(n, np.uint32, step)
    first, *reserves = source.filled
    given = as_ints(first.view(np.uint32)[:n])
    assert len(reserves) > 1
    left: list[int] = []
    for i, word in enumerate(given):
        row = rows[int(codes[i]) if len(rows) > 1 else 0]
        rest = word & ((1 << (33 - len(row).bit_length())) - 1)
        tied = rest == row[word >> (33 - len(row).bit_length())][0] >> 96
        if tied and len(left) < 2:
            left = as_ints(reserves.pop(0))
        report, used = reference(row, word, int(codes[i]), iter(left))
        left = left[used:]
        assert int(out[i]) == report
    assert not reserves


@pytest.mark.parametrize("reserve", range(6))
def test_running_out_of_words_does_not_change_the_odds(reserve: int) -> None:
    # Two lanes that tie, each decided by a fair coin from then on. All contents of a reserve that
    # may run out, and of the next one, are equally likely; so must the four outcomes be.
    size = WHOLE // 2
    half = (0x40000000 << 96) | (1 << 95)  # ties at 0x40000000, then a half
    channel = IntegerChannel(0, rows=((half, WHOLE - half), (half, WHOLE - half)))
    tables = drawing_tables(channel)
    bound, below, other = pairs([(0, half), (1, WHOLE - half)], 1)[0]
    assert bound % (1 << 96) == 1 << 95 or (size - bound) % (1 << 96) == 1 << 95
    given = np.full(2, bound >> 96, np.uint32)
    codes = np.zeros(2, np.uint8)
    found: Counter[tuple[int, ...]] = Counter()

    def respond(from_: int, words: tuple[int, ...]) -> tuple[np.ndarray, int]:
        out = np.full(2 - from_, 9, np.uint8)
        extra = np.array(words, np.uint64)
        done, _ = kernels.draw.table_response(given[from_:], codes[from_:], *tables, out, extra, 0)
        return out, done

    for first in product((0, ALL), repeat=reserve):
        out, done = respond(0, first)
        if done == 2:
            found[tuple(as_ints(out))] += 1 << 4
            continue
        for second in product((0, ALL), repeat=4):
            again, more = respond(done, second)
            assert done + more == 2
            found[tuple(as_ints(np.append(out[:done], again)))] += 1
    assert {below, other} == {0, 1}
    assert found == dict.fromkeys(product((0, 1), repeat=2), 1 << (reserve + 2))


def test_words_that_do_not_tie_use_no_reserve() -> None:
    mechanism = MECHANISMS[0]
    row = cells_of(mechanism)[0]
    ties = {cell << 30 | bound >> 96 for cell, (bound, _, _) in enumerate(row)}
    words = np.random.default_rng(3).integers(0, 1 << 32, 3000, np.uint32)
    words = words[~np.isin(words, list(ties))]
    codes = (np.arange(words.size) % 2).astype(np.uint8)
    out, done, used = run(mechanism, words, codes, np.zeros(0, np.uint64))
    assert (done, used) == (words.size, 0)
    expected = [
        reference(row, w, c, iter(()))[0]
        for w, c in zip(as_ints(words), as_ints(codes), strict=True)
    ]
    assert as_ints(out) == expected
