"""Requirements and designs: what a plan asks of the rooms, and what they answer.

A room offers ``designs(requirement)``; `sottovoce.plan` collects them, and no room imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError
from ..guarantee import Guarantee


@dataclass(frozen=True)
class Requirement:
    """What a plan must meet: a question, and two of people, privacy and error.

    `d` is the number of values of a question, or `bounds` are those of a number; `levels` maps
    names to epsilons and is empty where epsilon is what is asked for.
    """

    d: int | None
    bounds: tuple[float, float] | None
    n: int | None
    levels: Mapping[str, float]
    error: float | None
    delta: float = 0.0

    def words(self) -> str:
        """The requirement in one line."""
        question = f"{self.d:,} values" if self.d is not None else f"a number in {self.bounds}"
        people = "" if self.n is None else f", {self.n:,} people"
        menu = "".join(f", {name} ε = {e:g}" for name, e in self.levels.items())
        wanted = "" if self.error is None else f", standard error at most {self.error:g}"
        return question + people + menu + wanted


@dataclass(frozen=True)
class Design:
    """One way to meet a requirement, with what it costs and promises.

    Attributes
    ----------
    name : str
        Of the mechanism or protocol.
    n : int
        People who report.
    levels : mapping of str to float
        Epsilon of each level; "everyone" where there is one.
    std_error : float
        Predicted standard error of an average share, or of the mean.
    report_bytes : int
        Size of the largest report.
    decode_steps : float
        Elementary steps from reports to estimate.
    guarantee : Guarantee
        What is promised, one promise per level.
    """

    name: str
    n: int
    levels: Mapping[str, float]
    std_error: float
    report_bytes: int
    decode_steps: float
    guarantee: Guarantee

    @property
    def epsilon(self) -> float:
        """The epsilon of everyone; refused where there are levels."""
        if len(self.levels) != 1:
            raise ParameterError(f"there is no single epsilon; the levels are {dict(self.levels)}")
        return self.most_epsilon

    @property
    def most_epsilon(self) -> float:
        """The largest epsilon among the levels."""
        return max(self.levels.values())

    @property
    def epsilon_words(self) -> str:
        """One epsilon, or the range of the levels."""
        least, most = min(self.levels.values()), self.most_epsilon
        return f"{most:.3g}" if least == most else f"{least:.3g}–{most:.3g}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "name": self.name,
            "people": self.n,
            "levels": dict(self.levels),
            "std_error": self.std_error,
            "report_bytes": self.report_bytes,
            "decode_steps": self.decode_steps,
            "guarantee": self.guarantee.as_dict(),
        }
