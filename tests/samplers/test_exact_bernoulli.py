"""The rare paths of the lazy comparison, lane by lane against a reference in plain integers."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import kernels
from sottovoce.randomness import BITS, Draws, Probability

from .crafted import Scripted, as_ints, below_threshold, seldom, threshold_words, words

pytestmark = pytest.mark.usefixtures("both_ways")

ONE = 1 << BITS
THRESHOLDS = {
    "a half": ONE // 2,
    "three eighths": 3 * ONE // 8,
    "a third": ONE // 3,
    "one": 1,
    "two": 2,
    "all but one": ONE - 1,
    "nine zeros": ONE >> 10,
    "nine ones": ONE - (ONE >> 9),
    "upper word only": 5 << 64,
    "lower word only": 5,
    "bit 64": 1 << 64,
    "ordinary": 0x4321_0FED_CBA9_8765_0123_4567_89AB_CDEF,
}
thresholds = pytest.mark.parametrize("numerator", THRESHOLDS.values(), ids=THRESHOLDS.keys())


def planes_near(rng: np.random.Generator, numerator: int, planes: int, size: int) -> np.ndarray:
    """Bit planes, most of whose lanes tie with the threshold."""
    made = np.empty((planes, size), np.uint64)
    for k in range(planes):
        bit = numerator >> (BITS - 1 - k) & 1
        noise = words(rng, size) & words(rng, size) & words(rng, size) & words(rng, size)
        made[k] = noise if bit == 0 else ~noise
    return made


def rest_of(numerator: int, planes: int) -> tuple[int, int]:
    rest = (numerator << planes) % ONE
    return rest >> 64, rest & ((1 << 64) - 1)


def reference(made: np.ndarray, numerator: int, extra: list[int]) -> list[int]:
    """Words of lanes; extra words are taken by word, then from the lowest lane up."""
    fresh = iter(extra)
    out = []
    for column in made.T.tolist():
        lanes = 0
        for lane in range(64):
            bits = "".join(str(word >> lane & 1) for word in column)
            lanes |= below_threshold(bits, numerator, fresh) << lane
        out.append(lanes)
    return out


@pytest.mark.parametrize("planes", [1, 2, 9, 63, 64])
@thresholds
def test_every_lane_is_the_reference(numerator: int, planes: int) -> None:
    rng = np.random.default_rng(planes)
    size = 12
    made = planes_near(rng, numerator, planes, size)
    upper, lower = threshold_words(numerator)
    # More than all lanes can use: two words for each.
    extra = seldom(rng, 128 * (size + 1), [*rest_of(numerator, planes), 0], 0.5)
    out, undecided = np.empty(size, np.uint64), np.empty(size, np.uint64)
    done, used = kernels.draw.bernoulli(
        made.ravel(), planes, upper, lower, out, undecided, extra, 0
    )
    assert done == size
    assert as_ints(out) == reference(made, numerator, as_ints(extra))
    assert used <= extra.size


@thresholds
def test_lanes_that_all_tie_are_settled_by_further_words(numerator: int) -> None:
    planes, size = 9, 5
    tie = [(1 << 64) - 1 if numerator >> (BITS - 1 - k) & 1 else 0 for k in range(planes)]
    made = np.repeat(np.array(tie, np.uint64)[:, None], size, axis=1)
    upper, lower = threshold_words(numerator)
    first, second = rest_of(numerator, planes)
    close = [first, max(first - 1, 0), min(first + 1, (1 << 64) - 1), second, max(second - 1, 0)]
    extra = np.resize(np.array(close, np.uint64), 128 * (size + 1))
    out, undecided = np.empty(size, np.uint64), np.empty(size, np.uint64)
    kernels.draw.bernoulli(made.ravel(), planes, upper, lower, out, undecided, extra, 0)
    assert as_ints(out) == reference(made, numerator, as_ints(extra))


@thresholds
def test_an_exhausted_reserve_is_refilled_and_nothing_is_lost(numerator: int) -> None:
    # The whole route, from a source that hands out many ties: what the source was asked for,
    # read in order, must explain every lane.
    rng = np.random.default_rng(5)
    size = 400
    planes = min(9, BITS - ((numerator & -numerator).bit_length() - 1))

    def script(call: int, count: int) -> np.ndarray:
        if call == 0:
            return planes_near(rng, numerator, planes, size).ravel()
        return seldom(rng, count, list(rest_of(numerator, planes)), 0.3)

    source = Scripted(script)
    lanes = np.empty(size, np.uint64)
    Draws(source).bernoulli(Probability(numerator), lanes)
    made, *reserves = source.filled
    assert as_ints(lanes) == explained(made.reshape(planes, size), numerator, reserves)
    # Ties on most lanes: one reserve of 4096 words is not enough unless ties are not redrawn.
    assert len(reserves) > 1 or any(rest_of(numerator, planes)) is False


def explained(made: np.ndarray, numerator: int, reserves: list[np.ndarray]) -> list[int]:
    """The reference, where a reserve is left for the next before a word that might exhaust it."""
    out: list[int] = []
    queue = [as_ints(reserve) for reserve in reserves]
    left: list[int] = []
    for column in made.T:
        one = column[:, None]
        tied = reference_ties(one, numerator)
        if tied and len(left) < 128:
            left = queue.pop(0)
        remaining = iter(left)
        out += reference(one, numerator, remaining)  # type: ignore[arg-type]
        left = list(remaining)
    assert not queue
    return out


def reference_ties(made: np.ndarray, numerator: int) -> bool:
    planes = made.shape[0]
    if not any(rest_of(numerator, planes)):
        return False
    head = numerator >> (BITS - planes)
    column = as_ints(made[:, 0])
    lanes = (
        int("".join(str(word >> lane & 1) for word in column), 2) == head for lane in range(64)
    )
    return any(lanes)


def test_the_reference_compares_whole_numbers() -> None:
    # With all 128 bits drawn beforehand the lazy reference is plain comparison.
    rng = np.random.default_rng(0)
    for numerator in THRESHOLDS.values():
        for near in (0, 1, -1, 1 << 64, -(1 << 64)):
            value = (numerator + near) % ONE
            drawn = format(value, "0128b")
            for split in (0, 1, 9, 63):
                rest = drawn[split:].ljust(128, "0")
                fresh = iter([int(rest[:64], 2), int(rest[64:], 2)])
                assert below_threshold(drawn[:split], numerator, fresh) == (value < numerator)
        value = int(rng.integers(1 << 62))
        assert below_threshold(format(value, "0128b"), numerator, iter([])) == (value < numerator)
