"""The smallest epsilon, or noise, that keeps a delta: always the upper end of a bracket."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..checks import checked_count, positive_delta
from ..errors import GuaranteeError

MARGIN = 1 + 1e-6  # far above the round-off of any delta here
_CLOSE = 1e-8
_STEP = 4.0
_FAR = 40.0  # a delta of 0 has no logarithm; this far below the wanted one suffices


def upper_end(delta_at: Callable[[float], float], delta: float, most: float) -> float:
    """The smallest x from 0 to `most` with delta_at(x) ≤ delta, where delta_at falls; rounded up.

    The bracket shrinks by steps until it has the right size. Then the secant through the logarithms
    is followed (with Illinois' remedy), because each delta may take a while; every fourth step
    halves the bracket, so that it always closes.
    """

    def excess(x: float) -> float:
        reached = delta_at(x) * MARGIN
        return max(-_FAR, math.log(reached) - math.log(delta)) if reached > 0 else -_FAR

    if excess(0.0) <= 0:
        return 0.0
    high, below = most, excess(most)
    if below > 0:
        return most
    low, above = high, below
    while above <= 0:
        high, below = low, above
        low = high / _STEP
        above = excess(low)
    step, moved = 0, 0
    while high - low > _CLOSE * high:
        step += 1
        secant = high - below * (high - low) / (below - above)
        guess = secant if step % 4 and low < secant < high else (low + high) / 2
        value = excess(guess)
        if value <= 0:
            high, below = guess, value
            above, moved = (above / 2 if moved > 0 else above), 1
        else:
            low, above = guess, value
            below, moved = (below / 2 if moved < 0 else below), -1
    return high


def from_zero(delta_at: Callable[[float], float], delta: float, limit: float = math.inf) -> float:
    """The same without a known end; infinite where none up to about `limit` keeps the delta."""
    most = 1.0
    while delta_at(most) > delta:
        most *= 2
        if most > limit:
            return math.inf
    return upper_end(delta_at, delta, 2 * most)


def fewest(suffices: Callable[[int], bool], most: int) -> int | None:
    """The smallest whole number from 1 on that suffices, where all larger ones do as well.

    None where no power of two up to `most` does.
    """
    high = 1
    while not suffices(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def smallest(
    what: str,
    delta_at: Callable[[int], float],
    most: int,
    *,
    epsilon: float,
    delta: float,
    insiders: int,
    rate: float | None = None,
) -> int:
    """The smallest whole number with delta_at(x) ≤ delta, where delta_at falls; plus insiders.

    Refused where no power of two up to `most` does; the rest is for the sentence that says so.
    """
    delta, insiders = positive_delta(delta), checked_count(insiders, "insiders", 0)
    number = fewest(lambda many: delta_at(many) <= delta, most)
    if number is None:
        larger = f" at rate {rate:g}; choose a smaller rate or a larger epsilon"
        raise GuaranteeError(
            f"no {what} up to {most:,} keeps epsilon = {epsilon:g} with delta = {delta:g}"
            + ("; choose larger ones" if rate is None else larger)
        )
    return number + insiders
