"""What is publicly known about answers before anyone answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from ..checks import number
from ..domain.values import Domain, Label
from ..errors import ParameterError

PUBLIC = (
    "the prior is public and was not learned from these answers; someone with a prior of their own "
    "reveals it to everyone who sees how their report was made"
)
UNARY = (
    "one bit per value is not offered: two bits change with the answer, and the LIP level of a "
    "bit bounds neither them nor the answer (accounting.information.unary_level adds up what they "
    "cost); variant 'optimal' sends one report for all values"
)
UNCLEAR = (
    "among fractions that would give the same reports, those nearest to the prior are right: the "
    "reports cannot decide this"
)
_ALLOWED = (
    "finite probabilities, one per value, such as {'yes': 0.1, 'no': 0.9}, a list of them, or one "
    "number for yes"
)
MOST_VALUES = 1 << 14
_CLOSE = 1e-9
_MOST_LISTED = 6
_Given = dict[Label, float] | list[float] | float | None


@dataclass(frozen=True)
class Prior:
    """A distribution over the values, or bounds of one."""

    point: tuple[float, ...] | None  # where it is known
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(
        cls, domain: Domain | int | Sequence[Label] | None, prior: Any, low: Any, high: Any
    ) -> tuple[Domain, Prior]:
        """The values and what is known about them, from the arguments of a mechanism."""
        if prior is not None and not (low is None and high is None):
            raise ParameterError("give prior, or prior_low and prior_high; not both")
        if (low is None) != (high is None):
            raise ParameterError("prior_low and prior_high are needed together; give both")
        point, a, b = _read(prior, "prior"), _read(low, "prior_low"), _read(high, "prior_high")
        if isinstance(a, float) and isinstance(b, float):
            low, high = a, b
            a, b = _yes_no(low, domain, other=1 - high), _yes_no(high, domain, other=1 - low)
        if isinstance(point, float):
            point = _yes_no(point, domain, other=1 - point)
        values = _values(domain, point if point is not None else a)
        if values.size > MOST_VALUES:
            raise ParameterError(
                f"{values.size:,} values; a prior is used for at most {MOST_VALUES:,}"
            )
        if point is not None:
            return values, cls._at_point(_in_order(point, values, "prior"))
        if a is None or b is None:  # both are
            return values, cls(None, (0.0,) * values.size, (1.0,) * values.size)
        return values, cls._from_bounds(
            _in_order(a, values, "prior_low"), _in_order(b, values, "prior_high")
        )

    @classmethod
    def _at_point(cls, point: tuple[float, ...]) -> Prior:
        if min(point) < 0 or abs(sum(point) - 1) > _CLOSE:
            raise ParameterError(
                f"prior is {list(point)!r:.120}; probabilities are at least 0 and sum to 1, these "
                f"sum to {sum(point):.12g}"
            )
        return cls(point, point, point)

    @classmethod
    def _from_bounds(cls, low: tuple[float, ...], high: tuple[float, ...]) -> Prior:
        if not all(0 <= a <= b <= 1 for a, b in zip(low, high, strict=True)):
            raise ParameterError(
                f"prior_low is {list(low)!r:.80} and prior_high {list(high)!r:.80}; each low must "
                "lie between 0 and its high, and each high must be at most 1"
            )
        if sum(low) > 1 + _CLOSE or sum(high) < 1 - _CLOSE:
            raise ParameterError(
                f"no distribution lies between these bounds: the lows sum to {sum(low):.6g} and "
                f"the highs to {sum(high):.6g}; 1 must lie between"
            )
        return cls(None, low, high)

    @property
    def free(self) -> bool:
        """Whether nothing is known."""
        return self.point is None and max(self.low) == 0 and min(self.high) == 1

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The distribution in fractions that sum to exactly one."""
        fractions = [Fraction(p) for p in self.middle]
        total = sum(fractions)
        return tuple(fraction / total for fraction in fractions)

    @property
    def bounds(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """The bounds in fractions, without corners that no distribution reaches."""
        if self.point is not None:
            return self.exact, self.exact
        if self.free:
            return (Fraction(0),) * len(self.low), (Fraction(1),) * len(self.low)
        low, high = [Fraction(x) for x in self.low], [Fraction(x) for x in self.high]
        # Bounds that are a distribution up to rounding must leave room for it.
        below, above = max(sum(low), Fraction(1)), min(sum(high), Fraction(1))
        low, high = [x / below for x in low], [x / above for x in high]
        sum_low, sum_high = sum(low), sum(high)
        pairs = list(zip(low, high, strict=True))
        lowest = tuple(max(a, 1 - (sum_high - b)) for a, b in pairs)
        return lowest, tuple(min(b, 1 - (sum_low - a)) for a, b in pairs)

    @property
    def middle(self) -> tuple[float, ...]:
        """The distribution, or one in the middle of the box."""
        if self.point is not None:
            return self.point
        low, high = np.array(self.low), np.array(self.high)
        room = (high - low).sum()
        fraction = (1 - low.sum()) / room if room > 0 else 0.0
        return tuple((low + min(max(fraction, 0.0), 1.0) * (high - low)).tolist())

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

    def words(self, labels: Sequence[Label]) -> str:
        """The assumption behind a promise under the prior."""
        pairs = zip(self.low, self.high, strict=True)
        ranges = [f"{a:.4g} to {b:.4g}" for a, b in pairs]
        likely = _list_words(labels, [f"{p:.4g}" for p in self.point] if self.point else ranges)
        return (
            f"whoever looks believes beforehand that the answer is {likely}, whatever others "
            "answer, and knows nothing more about this person; for any other belief only the "
            "promise without a prior holds"
        )

    def vouched(self, labels: Sequence[Label]) -> str:
        """What an estimate that relies on the prior assumes."""
        likely = _list_words(labels, [f"{p:.4g}" for p in self.middle])
        return (
            f"the fractions are those of the prior ({likely}): where it is wrong, the estimate is "
            "biased towards it, however many people report"
        )


def _list_words(labels: Sequence[Label], fractions: Sequence[str]) -> str:
    """Each value with its probability; only the first few if there are many."""
    some = zip(labels[:_MOST_LISTED], fractions, strict=False)
    more = len(fractions) - _MOST_LISTED
    rest = f", … ({more:,} more)" if more > 0 else ""
    listed = ", ".join(f"{str(label)!r} with {fraction}" for label, fraction in some) + rest
    return listed.replace("' with ", "' with probability ", 1)


def _values(domain: Domain | int | Sequence[Label] | None, prior: _Given) -> Domain:
    if domain is not None:
        return Domain.of(domain)
    if prior is None or isinstance(prior, float):
        raise ParameterError("give the values, or a prior that names or counts them")
    return Domain(list(prior) if isinstance(prior, dict) else len(prior))


def _yes_no(probability: float, domain: Any, *, other: float) -> _Given:
    """One probability, and that of the other of two values."""
    if not 0 <= probability <= 1:
        raise ParameterError(
            f"prior is {probability!r}; the probability of yes is a number from 0 to 1"
        )
    pair = [probability, other]
    return pair if domain is not None else {"yes": probability, "no": other}


def _read(entry: Any, what: str) -> _Given:
    """Numbers by value, in order, or a single one; anything else is refused."""
    if entry is None:
        return None
    if isinstance(entry, np.ndarray) and entry.ndim == 0:
        entry = entry.item()
    if isinstance(entry, Mapping):
        return {label: number(fraction, what, _ALLOWED) for label, fraction in entry.items()}
    if isinstance(entry, Real):
        return number(entry, what, _ALLOWED)
    refused = ParameterError(f"{what} is {entry!r:.80}; it must be {_ALLOWED}")
    if isinstance(entry, (str, bytes, set, frozenset)):
        raise refused
    try:
        return [number(fraction, what, _ALLOWED) for fraction in entry]
    except TypeError as error:
        raise refused from error


def _in_order(
    entry: dict[Label, float] | list[float] | float, values: Domain, what: str
) -> tuple[float, ...]:
    labels = list(values.labels)
    if isinstance(entry, dict):
        if set(entry) != set(labels):
            strange = sorted(map(str, set(entry) ^ set(labels)))[:6]
            raise ParameterError(f"{what} must name every value once; it differs in {strange}")
        entry = [entry[label] for label in labels]
    numbers = [entry] if isinstance(entry, float) else entry
    if len(numbers) != len(labels):
        raise ParameterError(f"{what} has {len(numbers)} numbers; there are {len(labels)} values")
    return tuple(numbers)
