"""The kernel draws every bit exactly as a slow reference does, reserve exhausted or not."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import kernels
from sottovoce.records.allocation import UNREPORTED, thresholds

pytestmark = pytest.mark.usefixtures("both_ways")

SIZES = np.array([3, 5, 2])
STARTS = np.array([0, 3, 8, 10])


def reference(words, codes, steps, extra):
    """Bits of each record as integers, and how many extra words were used after each."""
    found, used, spent = [], 0, []
    for i in range(len(codes)):
        bits = [0] * 10
        for a, size in enumerate(SIZES):
            if steps[i, a] == UNREPORTED:
                continue
            upper, lower = (int(x) for x in thresholds()[steps[i, a]])
            for j in range(size):
                place = STARTS[a] + j
                drawn = int(words[i * 10 + place])
                if j == codes[i, a]:
                    bits[place] = int(drawn < 1 << 15)
                    continue
                threshold = upper << 64 | lower
                if drawn == threshold >> 112:
                    more = int(extra[used]) << 48 | int(extra[used + 1]) >> 16
                    used += 2
                    bits[place] = int(more < threshold & ((1 << 112) - 1))
                else:
                    bits[place] = int(drawn < threshold >> 112)
        found.append(bits)
        spent.append(used)
    return np.array(found), spent


@pytest.fixture
def case():
    rng = np.random.default_rng(5)
    n = 400
    codes = np.stack([rng.integers(0, size, n) for size in SIZES], axis=1)
    steps = rng.integers(0, 20 * 1024 + 1, (n, 3)).astype(np.uint16)
    steps[rng.random((n, 3)) < 0.2] = UNREPORTED
    words = rng.integers(0, 1 << 16, n * 10).astype(np.uint16)
    # Many ties, so that the reserve matters; some of its words tie as well.
    for i in range(n):
        for a in range(3):
            if steps[i, a] != UNREPORTED and rng.random() < 0.5:
                words[i * 10 + STARTS[a]] = thresholds()[steps[i, a], 0] >> np.uint64(48)
    extra = rng.integers(0, 1 << 63, 4000).astype(np.uint64) * np.uint64(2)
    tied = rng.random(2000) < 0.3
    some = thresholds()[rng.integers(0, 20 * 1024, 2000)]
    middle = (some[:, 0] << np.uint64(16)) | (some[:, 1] >> np.uint64(48))
    extra[::2][tied] = middle[tied]
    return words, codes, steps, extra


def run(words, codes, steps, extra, used=0):
    bits = np.zeros((len(codes), 2), np.uint8)
    some = (codes, steps, SIZES, STARTS, thresholds(), bits)
    done, after = kernels.draw.record_bits(words, *some, extra, used)
    return np.unpackbits(bits, axis=1, bitorder="little")[:, :10], done, after


def test_every_bit_is_the_references(case) -> None:
    words, codes, steps, extra = case
    wanted, spent = reference(*case)
    bits, done, used = run(words, codes, steps, extra)
    assert done == len(codes)
    assert used == spent[-1] > 200
    np.testing.assert_array_equal(bits, wanted)


@pytest.mark.parametrize("reserve", [0, 2, 3, 50, 51])
def test_a_record_that_runs_out_is_left_for_the_next_call(case, reserve: int) -> None:
    words, codes, steps, extra = case
    wanted, spent = reference(*case)
    bits, done, used = run(words, codes, steps, extra[:reserve])
    assert done == next(i for i, s in enumerate(spent) if s > reserve)
    assert used == (spent[done - 1] if done else 0)
    np.testing.assert_array_equal(bits[:done], wanted[:done])
    assert not bits[done:].any()
