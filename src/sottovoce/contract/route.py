"""How an aggregate came about, where a protocol did more than count reports.

Secure protocols and parties add integer noise to counts, or keep each holder of a value with a
known probability. The aggregate carries what was done and the guarantee that it gives; estimators
read both from here and need to know nothing else about the protocol.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import GuaranteeError, MergeError, ParameterError, WireError
from ..promise import Guarantee


@dataclass(frozen=True)
class AddedNoise:
    """Integer noise with mean zero, independent in every cell.

    Attributes
    ----------
    law : str
        Name of its law, such as "discrete-laplace" or "binomial".
    variance : float
        Of one cell.
    bound : int, optional
        The largest absolute value that it can take; None where there is none.
    """

    law: str
    variance: float
    bound: int | None = None

    def __post_init__(self) -> None:
        if not self.law or not (math.isfinite(self.variance) and self.variance >= 0):
            raise ParameterError(
                f"noise of law {self.law!r} and variance {self.variance!r}; name the law and give "
                "a variance from 0 on"
            )
        if self.bound is not None and self.bound < 0:
            raise ParameterError(f"the bound of noise is {self.bound!r}; it is from 0 on, or None")

    def __add__(self, other: AddedNoise) -> AddedNoise:
        if self.law != other.law:
            raise MergeError(f"noise of the laws {self.law!r} and {other.law!r} does not merge")
        bounded = self.bound is not None and other.bound is not None
        bound = (self.bound or 0) + (other.bound or 0) if bounded else None
        return AddedNoise(self.law, self.variance + other.variance, bound)


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
    """

    protocol: str
    guarantee: Guarantee
    noise: AddedNoise | None = None
    kept: float = 1.0

    def __post_init__(self) -> None:
        if not self.protocol or not 0 < self.kept <= 1:
            raise ParameterError(
                f"a route by protocol {self.protocol!r} that keeps holders with probability "
                f"{self.kept!r}; name the protocol and give a probability above 0 and at most 1"
            )

    def __add__(self, other: Route) -> Route:
        """The route of merged counts; the noise adds up, everything else must be the same."""
        if replace(self, noise=None) != replace(other, noise=None):
            raise MergeError(
                f"counts by {self.protocol!r} and by {other.protocol!r} came about in different "
                "ways, or under different guarantees; estimate them apart and use combine()"
            )
        if self.noise is None or other.noise is None:
            if self.noise is not other.noise:
                raise MergeError("only some of these counts have noise; estimate them apart")
            return self
        return replace(self, noise=self.noise + other.noise)

    def allows(self, least: int, most: int, people: int) -> bool:
        """Whether counts from `least` to `most` can come about with so many people."""
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
            "noise": None
            if noise is None
            else {"law": noise.law, "variance": noise.variance, "bound": noise.bound},
            "guarantee": _codes(self.guarantee.as_dict()),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Route:
        """Read `as_dict` back; everything else is refused."""
        if not isinstance(data, Mapping) or data.keys() != {
            "protocol",
            "kept",
            "noise",
            "guarantee",
        }:
            raise WireError("the route of an aggregate is malformed")
        noise, protocol, kept = data["noise"], data["protocol"], data["kept"]
        well_formed = isinstance(protocol, str) and isinstance(kept, float)
        if noise is not None:
            well_formed &= (
                isinstance(noise, Mapping)
                and noise.keys() == {"law", "variance", "bound"}
                and isinstance(noise["law"], str)
                and isinstance(noise["variance"], float)
                and (noise["bound"] is None or type(noise["bound"]) is int)
            )
        if not well_formed:
            raise WireError("the route of an aggregate is malformed")
        try:
            added = None if noise is None else AddedNoise(**noise)
            return cls(protocol, Guarantee.from_dict(data["guarantee"]), added, kept)
        except (ParameterError, GuaranteeError) as error:
            raise WireError(f"the route of an aggregate is malformed: {error}") from error


def _codes(data: Any) -> Any:
    """The same data without sentences: files carry codes, whatever the words are."""
    if isinstance(data, list):
        return [_codes(item) for item in data]
    if isinstance(data, dict):
        return {key: _codes(item) for key, item in data.items() if key != "words"}
    return data
