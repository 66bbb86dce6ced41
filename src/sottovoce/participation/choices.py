"""Who takes part in which way: from everyone's level and rate to positions of ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.columns import Coded, as_column, first_few
from ..domain.values import code_dtype
from ..errors import AnswerError, ParameterError
from .menu import EVERYONE, Level
from .rates import rate_codes, refuse_following


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
        ways[:] = chosen
        ways *= ways.dtype.type(len(grid.rates))
        ways += codes.astype(ways.dtype, copy=False)
        return ways
    for k, one in enumerate(levels):
        rows = np.flatnonzero(chosen == k)
        own_rate = None if one.rates == EVERYONE else _of_people(rate, coded, rows)
        codes = rate_codes(own_rate, one.rates, rows.size, one.epsilon)
        if len(one.rates) > 1:
            refuse_following(coded.take(rows), codes, one.rates, one.epsilon)
        ways[rows] = starts[k] + codes.astype(np.int64)
    return ways


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
            f"{int((codes < 0).sum())} people have no level; everyone needs one of "
            f"{first_few(names, 12)}"
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
