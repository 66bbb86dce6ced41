"""What is publicly known of answers before anyone answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..domain import Domain, Label
from ..errors import ParameterError

_CLOSE = 1e-9


@dataclass(frozen=True)
class Prior:
    """A distribution over the values, or bounds of one.

    Attributes
    ----------
    point : tuple of float, optional
        The distribution, where it is known.
    low, high : tuple of float
        Its bounds.
    """

    point: tuple[float, ...] | None
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(
        cls, domain: Domain | int | Sequence[Label] | None, prior: Any, low: Any, high: Any
    ) -> tuple[Domain, Prior]:
        """The values and what is known of them, from what people naturally write."""
        if prior is not None and not (low is None and high is None):
            raise ParameterError("give prior, or prior_low and prior_high; not both")
        if (low is None) != (high is None):
            raise ParameterError("prior_low and prior_high go together; give both")
        if isinstance(prior, (int, float)) and not isinstance(prior, bool):
            prior = {"yes": prior, "no": 1 - prior} if domain is None else [prior, 1 - prior]
        given = prior if prior is not None else low
        if domain is None:
            if given is None:
                raise ParameterError("give the values, or a prior that names them")
            domain = list(given) if isinstance(given, Mapping) else len(_numbers(given, "prior"))
        values = Domain.of(domain)
        size = values.size
        if prior is not None:
            point = _in_order(prior, values, "prior")
            if min(point) < 0 or abs(sum(point) - 1) > _CLOSE:
                raise ParameterError(
                    f"prior is {prior!r:.120}; probabilities are from 0 on and sum to 1, these "
                    f"sum to {sum(point):.12g}"
                )
            return values, cls(point, point, point)
        if low is None:
            return values, cls(None, (0.0,) * size, (1.0,) * size)
        a, b = _in_order(low, values, "prior_low"), _in_order(high, values, "prior_high")
        if not all(0 <= x <= y <= 1 for x, y in zip(a, b, strict=True)):
            raise ParameterError(
                f"prior_low is {low!r:.80} and prior_high {high!r:.80}; each low must be from 0 to "
                "its high, and each high at most 1"
            )
        if sum(a) > 1 + _CLOSE or sum(b) < 1 - _CLOSE:
            raise ParameterError(
                f"no distribution lies between these bounds: the lows sum to {sum(a):.6g} and the "
                f"highs to {sum(b):.6g}; 1 must lie between"
            )
        return values, cls(None, a, b)

    @property
    def free(self) -> bool:
        """Whether nothing is known."""
        return self.point is None and max(self.low) == 0 and min(self.high) == 1

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The distribution in fractions that sum to exactly one."""
        shares = [Fraction(p) for p in (self.point or self.middle)]
        total = sum(shares)
        return tuple(share / total for share in shares)

    @property
    def bounds(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """The bounds in fractions, without corners that no distribution reaches."""
        if self.point is not None:
            return self.exact, self.exact
        low, high = [Fraction(x) for x in self.low], [Fraction(x) for x in self.high]
        sum_low, sum_high = sum(low), sum(high)
        pairs = list(zip(low, high, strict=True))
        return (
            tuple(max(a, 1 - (sum_high - b)) for a, b in pairs),
            tuple(min(b, 1 - (sum_low - a)) for a, b in pairs),
        )

    @property
    def middle(self) -> tuple[float, ...]:
        """The distribution, or one in the middle of the box."""
        if self.point is not None:
            return self.point
        low, high = np.array(self.low), np.array(self.high)
        room = (high - low).sum()
        share = (1 - low.sum()) / room if room > 0 else 0.0
        return tuple((low + share * (high - low)).tolist())

    def first(self, size: int) -> dict[str, Any]:
        """The same for the first few values, as parameters."""
        if self.free:
            return {"prior": None, "prior_low": None, "prior_high": None}
        if self.point is not None:
            some = np.array(self.point[:size])
            some = some / some.sum() if some.sum() > 0 else np.full(size, 1 / size)
            return {"prior": tuple(some.tolist())}
        low, high = np.array(self.low[:size]), np.array(self.high[:size])
        short = max(0.0, 1 - high.sum())
        high = np.minimum(high + short, 1.0)
        return {"prior_low": tuple(low.tolist()), "prior_high": tuple(high.tolist())}

    @property
    def words(self) -> str:
        """The assumption behind a promise under the prior."""
        if self.point is not None:
            return f"before the report an answer is believed to be {_listed(self.point)}"
        ranges = zip(self.low, self.high, strict=True)
        some = ", ".join(f"{a:g} to {b:g}" for a, b in list(ranges)[:6])
        more = ", …" if len(self.low) > 6 else ""
        return f"before the report an answer is believed likely within the bounds {some}{more}"

    @property
    def vouched(self) -> str:
        """What an estimate that leans on the prior assumes."""
        return f"the prior is right ({_listed(self.middle)}): where it is wrong, so is the estimate"


def _listed(shares: Sequence[float]) -> str:
    some = ", ".join(f"{p:.3g}" for p in shares[:6])
    return f"likely by {some}{', …' if len(shares) > 6 else ''}, in the order of the values"


def _numbers(given: Any, what: str) -> list[float]:
    if isinstance(given, (str, bytes)):
        raise ParameterError(f"{what} is {given!r}; it must be numbers, one per value")
    try:
        numbers = [float(x) for x in given]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{what} is {given!r:.80}; it must be numbers, one per value"
        ) from error
    if not all(np.isfinite(numbers)):
        raise ParameterError(f"{what} is {given!r:.80}; it must be finite numbers")
    return numbers


def _in_order(given: Any, values: Domain, what: str) -> tuple[float, ...]:
    labels = list(values.labels)
    if isinstance(given, Mapping):
        if set(given) != set(labels):
            strange = sorted(map(str, set(given) ^ set(labels)))[:6]
            raise ParameterError(f"{what} must name every value once; it differs in {strange}")
        given = [given[label] for label in labels]
    numbers = _numbers(given, what)
    if len(numbers) != len(labels):
        raise ParameterError(f"{what} has {len(numbers)} numbers; there are {len(labels)} values")
    return tuple(numbers)
