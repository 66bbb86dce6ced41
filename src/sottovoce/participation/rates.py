"""Public rates: what is allowed, who takes part at which level and rate, and which are best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..checks import rounded_up
from ..domain.columns import Coded, as_column, first_few
from ..domain.values import code_dtype
from ..errors import AnswerError, GuaranteeError, ParameterError
from ..estimate.intervals import Floats
from ..mechanisms.categorical import PureMechanism
from ..mechanisms.linear import LinearMechanism
from ..mechanisms.mechanism import Mechanism
from ..randomness import BITS, Probability

if TYPE_CHECKING:
    from .menu import Level

EVERYONE = (1.0,)
MOST_CHOICES = 1024  # of a study's grid: aggregates stay small tables of counts
_LEAST = 1e-9
_SURE = 60.0  # nats: rates that follow the answers by chance once in 1e26 collections
_PIECES = 16
_MOST_CODES = 1 << 22  # 32 MiB; above, memory goes by the people


def checked_rates(grid: Any, epsilon: float) -> tuple[float, ...]:
    """One rate or a grid of them, as floats; rates per value are refused with what they cost."""
    if isinstance(grid, Mapping) or callable(grid):
        raise _follows(list(grid.values()) if isinstance(grid, Mapping) else [], epsilon)
    rates = tuple(float(rate) + 0.0 for rate in np.atleast_1d(_numbers(grid)))  # no -0.0
    if not rates or not all(rate == 0 or _LEAST <= rate <= 1 for rate in rates):
        raise ParameterError(
            f"rate is {grid!r:.80}; a rate is a probability: 0, or from {_LEAST:g} to 1"
        )
    if len(set(rates)) != len(rates) or len(rates) > MOST_CHOICES:
        raise ParameterError(
            f"the grid has {len(rates)} rates, {len(set(rates))} of them different; give each "
            f"once, and at most {MOST_CHOICES}"
        )
    if max(rates) == 0:
        raise ParameterError("every rate is 0, so nobody would ever report; give a positive one")
    return rates


def _numbers(rate: Any) -> Floats:
    """One number or a column of them; text and booleans are not accepted as numbers."""
    mixed = isinstance(rate, (list, tuple)) and any(isinstance(x, bool) for x in rate)
    try:
        array = np.asarray(None if mixed else rate)
        if array.dtype.kind == "O" and all(
            isinstance(x, Real) and not isinstance(x, bool) for x in array.flat
        ):
            array = array.astype(float)
    except (OverflowError, TypeError, ValueError):  # too large, or ragged
        array = np.asarray(None)
    if array.dtype.kind not in "iuf" or array.ndim > 1:
        raise ParameterError(
            f"rate is {rate!r:.80}; it must be a number from 0 to 1, or a column of them"
        )
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:  # 0.3 of 32 bits is meant as 0.3
        few, which = np.unique(array, return_inverse=True)
        array = few.astype(str)[which].reshape(array.shape)
    return array.astype(float)


def coin(rate: float) -> Probability:
    """A rate strictly between 0 and 1 as it is drawn: exactly, for a float has few enough bits."""
    return Probability(int(Fraction(rate) * (1 << BITS)))


def rate_codes(rate: Any, rates: Sequence[float], people: int, epsilon: float) -> NDArray[Any]:
    """Positions in the grid of each person's rate."""
    if isinstance(rate, Mapping) or callable(rate):
        raise _follows(list(rate.values()) if isinstance(rate, Mapping) else [], epsilon)
    dtype = code_dtype(len(rates))
    if rate is None:
        if len(rates) > 1:
            raise ParameterError(
                f"no rates were given; say rate=…, one of {_few(rates)} per person"
            )
        return np.zeros(people, dtype)
    asked = _numbers(rate)
    if asked.ndim == 0:
        asked = np.full(people, float(asked))
    codes = np.empty(asked.size, dtype)
    exact = (asked + 0.0).view(np.uint64)  # which makes -0.0 the 0.0 that it is
    if kernels.draw.positions(exact, np.array(rates).view(np.uint64), codes) >= 0:
        strange = asked[~np.isin(asked, rates)]
        raise ParameterError(
            f"the rate {strange[0]:g} is outside the public grid, as are {strange.size:,} in all; "
            f"allowed are {_few(rates)}"
        )
    return codes


def refuse_following(
    coded: Coded, group: NDArray[Any], rates: Sequence[float], epsilon: float
) -> None:
    """Refuse rates that are a function of the answers, beyond what chance could do.

    If everyone with the same answer has the same rate, then whether someone reports gives the
    answer away. Were rates assigned regardless of answers, this would happen with probability
    about Π fraction(rate)^(people − 1) over the answers. Numbers seldom repeat: for them a function
    is also one of a few pieces, each of one rate.
    """
    codes = coded.codes
    if codes.size < 2 or (group == group[0]).all():
        return
    numbers = codes.dtype.kind == "f"
    if numbers or int(codes.max()) > _MOST_CODES:
        codes = np.unique(codes, return_inverse=True)[1]
    size = int(codes.max()) + 1
    first = np.full(size, -1, np.int64)
    for some in (slice(0, 4096), slice(None)):  # usually the first people already show it
        first[codes[some][::-1]] = group[some][::-1]
        if (first[codes[some]] != group[some]).any():
            return
    people = np.bincount(codes, minlength=size)
    present = people > 0
    of_rate = np.bincount(group, minlength=len(rates))
    fraction = of_rate / group.size
    chance = float(((people[present] - 1) * -np.log(fraction[first[present]])).sum())
    pieces = 1 + int((np.diff(first[present]) != 0).sum())
    if numbers and pieces <= _PIECES:
        used = of_rate[of_rate > 0]
        orders = float(-(used * np.log(used / group.size)).sum())
        cuts = math.lgamma(group.size) - math.lgamma(pieces) - math.lgamma(group.size - pieces + 1)
        chance = max(chance, orders - cuts - pieces * math.log(used.size))
    if chance > _SURE:
        raise _follows([rates[h] for h in np.flatnonzero(of_rate).tolist()], epsilon)


def _follows(rates: Sequence[Any], epsilon: float) -> GuaranteeError:
    from ..accounting.sampling import value_dependent_loss

    try:
        loss = value_dependent_loss(epsilon, [float(rate) for rate in rates])
        true = f"the true epsilon is {rounded_up(loss, 3)}, not {epsilon:.3g}"
    except (ParameterError, TypeError, ValueError):
        true = "the true loss is max(ε + ln(π_max/π_min), ln((1 − π_min)/(1 − π_max)))"
    return GuaranteeError(
        "these rates depend on people's own answers: whether someone reports then reveals the "
        f"answer, and {true}; set rates by something public, such as a region"
    )


def _few(rates: Sequence[float]) -> str:
    shown = ", ".join(f"{rate:g}" for rate in rates[:8])
    return shown + (", …" if len(rates) > 8 else "")


def way_codes(levels: Sequence[Level], coded: Coded, level: Any, rate: Any) -> NDArray[Any]:
    """The position of the way of everyone who answered."""
    chosen = level_positions([one.name for one in levels], coded, level)
    sampled = any(one.rates != EVERYONE for one in levels)
    if rate is not None and not sampled:
        raise ParameterError(
            f"rate is {rate!r:.80}, but everyone reports here; leave it out, or sample people "
            "with Sampled(…, rate=…)"
        )
    starts = np.cumsum([0, *(len(one.rates) for one in levels)])
    ways = np.zeros(len(coded), code_dtype(int(starts[-1])))
    if len({one.rates for one in levels}) == 1:  # one grid for all, so that it is read once
        grid = levels[0]
        epsilon = max(one.epsilon for one in levels)
        codes = _answering(rate_codes(rate, grid.rates, _people(coded), epsilon), "rate", coded)
        if len(grid.rates) > 1:
            refuse_following(coded, codes, grid.rates, epsilon)
        if len(levels) == 1:
            return codes.astype(ways.dtype, copy=False)
        if len(grid.rates) > 1:  # at one level alone they may follow the answers, too
            for one, rows in zip(levels, _rows_by_level(chosen, len(levels)), strict=True):
                refuse_following(coded.take(rows), codes[rows], grid.rates, one.epsilon)
        ways[:] = chosen
        ways *= ways.dtype.type(len(grid.rates))
        ways += codes.astype(ways.dtype, copy=False)
        return ways
    for k, rows in enumerate(_rows_by_level(chosen, len(levels))):
        one = levels[k]
        own_rate = None if one.rates == EVERYONE else _of_people(rate, coded, rows)
        codes = rate_codes(own_rate, one.rates, rows.size, one.epsilon)
        if len(one.rates) > 1:
            refuse_following(coded.take(rows), codes, one.rates, one.epsilon)
        ways[rows] = starts[k] + codes.astype(np.int64)
    # Where levels have rates of their own, choosing a level by the answer is choosing a rate by it.
    every, which = np.unique([r for one in levels for r in one.rates], return_inverse=True)
    refuse_following(coded, which[ways], every.tolist(), max(one.epsilon for one in levels))
    return ways


def _rows_by_level(chosen: NDArray[Any], many: int) -> list[NDArray[np.intp]]:
    """Who chose each of the levels."""
    ends = np.cumsum(np.bincount(chosen, minlength=many))
    return np.split(np.argsort(chosen, kind="stable"), ends[:-1])


def level_positions(names: Sequence[str | None], coded: Coded, level: Any) -> NDArray[Any]:
    """The position of the level of everyone who answered."""
    dtype = code_dtype(len(names))
    if names == [None]:
        if level is not None:
            raise ParameterError(f"level is {level!r:.80}, but there are no levels to choose from")
        return np.zeros(len(coded), dtype)
    if level is None and len(names) == 1:
        level = names[0]
    if level is None:
        raise ParameterError(f"no levels were given; say level=…, one of {list(names)} per person")
    if isinstance(level, str):
        if level not in names:
            raise ParameterError(
                f"there is no level {level!r}; the menu has {first_few(names, 12)}"
            )
        return np.full(len(coded), names.index(level), dtype)
    try:
        codes, unknown = as_column(level).positions(names)
    except AnswerError as error:
        raise ParameterError(
            f"level is {level!r:.80}; give one of {first_few(names, 12)}, or a column of "
            "them with one entry for everyone"
        ) from error
    if unknown:
        raise ParameterError(
            f"there is no level {unknown[0]!r}; the menu has {first_few(names, 12)}"
        )
    if (codes < 0).any():
        raise ParameterError(
            f"{int((codes < 0).sum()):,} of {codes.size:,} levels are missing; everyone needs one "
            f"of {first_few(names, 12)}"
        )
    return _answering(codes.astype(dtype), "level", coded)


def _people(coded: Coded) -> int:
    """How many people were asked, whether or not they answered."""
    return len(coded) if coded.present is None else int(coded.present.size)


def _answering(codes: NDArray[Any], what: str, coded: Coded) -> NDArray[Any]:
    """The choices of those who answered, checked to be one per person."""
    if codes.shape != (_people(coded),):
        raise ParameterError(
            f"{what} has {codes.size} entries for {_people(coded)} people; give one column, "
            "with one entry for everyone"
        )
    return codes if coded.present is None else codes[coded.present]


def _of_people(rate: Any, coded: Coded, rows: NDArray[np.intp]) -> Any:
    """The rates of some of those who answered, or the one for all."""
    column = np.asarray(rate)
    return rate if column.ndim == 0 else _answering(column, "rate", coded)[rows]


def best_rates(
    mechanisms: Sequence[Mechanism],
    people: ArrayLike,
    *,
    traffic: float,
    costs: ArrayLike | None = None,
) -> Floats:
    """Rates with the lowest error by inverse rates, for a given total cost of reports.

    π_h = min(1, λ √(V_h / c_h)), with λ such that Σ n_h c_h π_h = traffic, where
    V_h = d q (1 − q) / (p − q)² + (1 − 2q) / (p − q) for a pure protocol: the noise of one report
    and the answer itself, total over the values.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        One per group of people.
    people : array-like
        How many people each group has.
    traffic : float
        What all reports may take together: bytes, or with `costs` in their unit.
    costs : array-like, optional
        Of one report of each group; by default its bytes.

    Examples
    --------
    >>> import sottovoce as sv
    >>> strong, weak = sv.OUE(8, epsilon=0.5), sv.OUE(8, epsilon=4)
    >>> best_rates([strong, weak], [500, 500], traffic=200, costs=[1, 1]).round(3).tolist()
    [0.35, 0.05]
    """
    n = np.asarray(people, float)
    v = np.array([_second_moment(mechanism) for mechanism in mechanisms])
    c = (
        np.array([m.report_bytes for m in mechanisms], float)
        if costs is None
        else np.asarray(costs, float)
    )
    if not (n.shape == v.shape == c.shape and (n > 0).all() and (c > 0).all()):
        raise ParameterError(
            f"{len(mechanisms)} mechanisms, people {people!r} and costs {costs!r}; give one "
            "positive number per mechanism"
        )
    if not (isinstance(traffic, (int, float)) and 0 < traffic < math.inf):
        raise ParameterError(f"traffic is {traffic!r}; it must be a positive number")
    if traffic >= float(n @ c):
        return np.ones(n.size)
    shape = np.sqrt(v / c)
    low, high = 0.0, 1 / float(shape.min())
    for _ in range(200):
        middle = (low + high) / 2
        spent = float((n * c) @ np.minimum(1.0, middle * shape))
        low, high = (middle, high) if spent <= traffic else (low, middle)
    return np.asarray(np.minimum(1.0, low * shape))


def _second_moment(mechanism: Mechanism) -> float:
    """E‖U‖² of one report's score, averaged over a uniform population."""
    if isinstance(mechanism, PureMechanism):
        p, q, d = float(mechanism.p), float(mechanism.q), mechanism.domain.size
        return d * q * (1 - q) / (p - q) ** 2 + (1 - 2 * q) / (p - q)
    if isinstance(mechanism, LinearMechanism):
        return mechanism.total_variance(1) + 1
    noise = getattr(mechanism, "variance_at", None)
    if noise is None:
        raise ParameterError(f"{mechanism!r} has no variance to plan with")
    places = (np.arange(1024) + 0.5) / 1024
    return float((noise(places) + places**2).mean())
