"""How an aggregate was produced, where a protocol did more than count reports.

Secure protocols add integer noise to counts, or keep each holder of a value with a
known probability. The aggregate carries what was done and the guarantee that it gives; estimators
read both from here and need to know nothing else about the protocol.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..errors import GuaranteeError, MergeError, ParameterError, WireError
from ..promise import Guarantee


@dataclass(frozen=True)
class AddedNoise:
    """Integer noise, independent in every cell.

    Attributes
    ----------
    law : str
        Name of its law, such as "discrete-laplace" or "binomial".
    variance : float
        Of one cell.
    bound : int, optional
        The largest absolute value that it can take; None where it is unbounded.
    mean: float
        Of one cell; the counts still contain it, and estimates subtract it.
    """

    law: str
    variance: float
    bound: int | None = None
    mean: float = 0.0

    def __post_init__(self) -> None:
        if not self.law or not (math.isfinite(self.variance) and self.variance >= 0):
            raise ParameterError(
                f"noise of law {self.law!r} and variance {self.variance!r}; name the law and give "
                "a variance of at least 0"
            )
        if self.bound is not None and self.bound < 0:
            raise ParameterError(
                f"the bound of noise is {self.bound!r}; it must be at least 0, or None"
            )
        if not math.isfinite(self.mean):
            raise ParameterError(f"the mean of noise is {self.mean!r}; it must be a number")

    def __add__(self, other: AddedNoise) -> AddedNoise:
        if self.law != other.law:
            raise MergeError(f"noise with the laws {self.law!r} and {other.law!r} does not merge")
        bounded = self.bound is not None and other.bound is not None
        bound = (self.bound or 0) + (other.bound or 0) if bounded else None
        mean = self.mean + other.mean
        return AddedNoise(self.law, self.variance + other.variance, bound, mean)


@dataclass(frozen=True)
class Route:
    """What a protocol did to counts, and what it promises.

    Attributes
    ----------
    protocol : str
        Its name.
    guarantee : Guarantee
        What is promised to the people behind the counts; it replaces that of the collection.
    noise : AddedNoise, optional
        Noise in every cell.
    kept : float
        Probability with which each holder of a value was counted, independently.
    threshold : int
        Counts below it were suppressed and read 0; 0 where none were. No total may be published
        beside them.
    """

    protocol: str
    guarantee: Guarantee
    noise: AddedNoise | None = None
    kept: float = 1.0
    threshold: int = 0

    def __post_init__(self) -> None:
        if not self.protocol or not 0 < self.kept <= 1:
            raise ParameterError(
                f"a route by protocol {self.protocol!r} that keeps holders with probability "
                f"{self.kept!r}; name the protocol and give a probability above 0 and at most 1"
            )
        if self.threshold < 0 or (self.threshold and self.noise is not None):
            raise ParameterError(
                f"counts below {self.threshold!r} are suppressed; a threshold is 0 or more, and "
                "counts with noise have none"
            )

    def __add__(self, other: Route) -> Route:
        """The route of merged counts; the noise adds up, everything else must be the same."""
        if self.threshold or other.threshold:
            raise MergeError(
                "suppressed counts do not merge: a sum would show what was suppressed; estimate "
                "them separately and use combine()"
            )
        if replace(self, noise=None) != replace(other, noise=None):
            raise MergeError(
                f"counts by {self.protocol!r} and by {other.protocol!r} were produced in different "
                "ways, or under different guarantees; estimate them separately and use combine()"
            )
        if self.noise is None or other.noise is None:
            if self.noise is not other.noise:
                raise MergeError("only some of these counts have noise; estimate them separately")
            return self
        return replace(self, noise=self.noise + other.noise)

    def allows(self, least: int, most: int, people: int) -> bool:
        """Whether counts from `least` to `most` are possible with this many people."""
        if self.noise is not None and self.noise.bound is None:
            return True
        slack = 0 if self.noise is None else self.noise.bound or 0
        return -slack <= least and most <= people + slack

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for the stored form and JSON."""
        noise = self.noise
        return {
            "protocol": self.protocol,
            "kept": self.kept,
            "threshold": self.threshold,
            "noise": None if noise is None else asdict(noise),
            "guarantee": _codes(self.guarantee.as_dict()),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Route:
        """Read `as_dict` back; everything else is refused."""
        noise = data["noise"] if _has(data, _ROUTE) else None
        if not _has(data, _ROUTE) or not (noise is None or _has(noise, _NOISE)):
            raise WireError("the route of an aggregate is malformed")
        try:
            added = None if noise is None else AddedNoise(**noise)
            guarantee = Guarantee.from_dict(data["guarantee"])
            return cls(data["protocol"], guarantee, added, data["kept"], data["threshold"])
        except (ParameterError, GuaranteeError) as error:
            raise WireError(f"the route of an aggregate is malformed: {error}") from error


_ROUTE = {"protocol": str, "kept": float, "threshold": int, "noise": object, "guarantee": object}
_NOISE = {"law": str, "variance": float, "bound": int | None, "mean": float}


def _has(data: Any, kinds: Mapping[str, Any]) -> bool:
    """Whether data are a table of exactly these fields, of these kinds."""
    return (
        isinstance(data, Mapping)
        and data.keys() == kinds.keys()
        and all(isinstance(data[name], kind) for name, kind in kinds.items())
        and not any(isinstance(value, bool) for value in data.values())
    )


def _codes(data: Any) -> Any:
    """The same data without sentences: files carry codes, whatever the words are."""
    if isinstance(data, list):
        return [_codes(item) for item in data]
    if isinstance(data, dict):
        return {key: _codes(item) for key, item in data.items() if key != "words"}
    return data
