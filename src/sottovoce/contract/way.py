"""A way to take part: what is public about how someone's report comes about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..promise import Guarantee

if TYPE_CHECKING:
    from .collection import Collection


@dataclass(frozen=True, eq=False)
class Way:
    """One public way to take part in a collection.

    Attributes
    ----------
    index : int
        Position among the collection's ways; it is what a report carries.
    level : str, optional
        The privacy level that was chosen; None where there is no menu.
    rate : float
        Probability with which someone who takes part this way reports; 1 where everyone does.
    mechanism : Collection
        Makes the reports.
    guarantee : Guarantee
        What is promised to people who take part this way.
    """

    index: int
    level: str | None
    rate: float
    mechanism: Collection
    guarantee: Guarantee

    @property
    def label(self) -> str:
        """The level and rate in words, empty where there is nothing to choose."""
        level = [] if self.level is None else [f"level {self.level!r}"]
        rate = [] if self.rate == 1 else [f"rate {self.rate:g}"]
        return ", ".join(level + rate)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"level": self.level, "rate": self.rate}
