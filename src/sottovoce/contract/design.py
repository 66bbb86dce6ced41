"""Requirements and designs: what a plan asks of other modules, and what they offer.

A module offers ``designs(requirement)``; `sottovoce.plan` collects them, and no module imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import ParameterError
from ..promise import Guarantee


@dataclass(frozen=True)
class Requirement:
    """What a plan must meet: a question, and two of people, privacy and error.

    `d` is the number of values of a question, or `bounds` are those of a number, or `attributes`
    the numbers of values of a record's attributes, epsilon then being that of each; `levels` maps
    names to epsilons and is empty where epsilon is what is asked for; `fractions` are
    those of the people who choose each level. Each person reports with probability `rate`, or as
    often as `traffic`, the bytes that may be sent in all, allows. `delta` above 0 admits secure
    protocols, whose promises allow for `collusion` people who work together with a recipient of
    the result; those that sample also need `count`, a public lower bound on the holders of every
    value.
    """

    d: int | None
    bounds: tuple[float, float] | None
    n: int | None
    levels: Mapping[str, float]
    error: float | None
    delta: float = 0.0
    fractions: Mapping[str, float] = field(default_factory=dict)
    rate: float = 1.0
    traffic: float | None = None
    attributes: tuple[int, ...] = ()
    count: int | None = None
    collusion: int = 0

    @property
    def personal(self) -> bool:
        """Whether people differ: by level, or because not everyone reports."""
        return len(self.levels) > 1 or self.rate < 1 or self.traffic is not None

    def words(self) -> str:
        """The requirement in one line."""
        low, high = self.bounds or (0.0, 1.0)
        question = (
            f"{self.d:,} values" if self.d is not None else f"a number from {low:g} to {high:g}"
        )
        if self.attributes:
            question = f"records of {len(self.attributes)} attributes"
        people = "" if self.n is None else f", {self.n:,} people"
        alike = len(set(self.fractions.values())) < 2
        menu = "".join(
            f", {name} ε = {e:g}" + ("" if alike else f" for {100 * self.fractions[name]:.3g} %")
            for name, e in self.levels.items()
        )
        if self.attributes and self.levels:
            each = max(self.levels.values())
            menu += f" for each attribute, {each * len(self.attributes):g} for the record"
        menu += f", δ = {self.delta:g}" if self.delta else ""
        menu += "" if self.count is None else f", at least {self.count:,} holders of each value"
        menu += f", {self.collusion:,} may collude" if self.collusion else ""
        sent = "" if self.rate == 1 else f", rate {self.rate:g}"
        sent += "" if self.traffic is None else f", {self.traffic:,.0f} bytes"
        wanted = "" if self.error is None else f", standard error at most {self.error:g}"
        return question + people + menu + sent + wanted


@dataclass(frozen=True)
class RoleCost:
    """What one member of a role of a secure protocol sends and computes.

    Field elements as expected, bytes of everything sent, these elements included, and additions of
    field elements.
    """

    elements: float
    sent: float
    additions: float


@dataclass(frozen=True)
class Design:
    """One way to meet a requirement, with its cost and its guarantee.

    Attributes
    ----------
    name : str
        Of the mechanism or protocol.
    n : int
        People, whether all of them report or not.
    levels : mapping of str to float
        Epsilon of each level; "everyone" where there is one.
    std_error : float
        Predicted standard error of an average fraction, or of the mean: with levels, that of the
        post-stratified estimate, which holds whatever the people of each level answer.
    report_bytes : int
        Size of the largest report.
    decode_steps : float
        Elementary steps from reports to estimate.
    guarantee : Guarantee
        What is promised, one promise per level.
    people : mapping of str to int
        People of each level; empty where there are no levels and everyone reports.
    rates : mapping of str to float
        Probability with which people of each level report; empty where everyone does.
    std_error_alike : float, optional
        Predicted standard error of the default estimate, `james-stein`, if the people of all
        levels answer alike.
    costs : mapping of str to RoleCost
        What one member of each role of a secure protocol sends and computes; empty for reports
        of local mechanisms.
    provided : str
        What must be known about people's answers for the guarantee to hold; empty where it holds
        whatever they answer.
    """

    name: str
    n: int
    levels: Mapping[str, float]
    std_error: float
    report_bytes: int
    decode_steps: float
    guarantee: Guarantee
    people: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    std_error_alike: float | None = None
    costs: Mapping[str, RoleCost] = field(default_factory=dict)
    provided: str = ""

    @property
    def reports(self) -> int:
        """How many reports are expected."""
        return round(self._expected)

    @property
    def traffic(self) -> int:
        """How many bytes of reports are expected, without the envelopes of batches."""
        return round(self._expected * self.report_bytes)

    @property
    def _expected(self) -> float:
        if not self.rates:
            return self.n
        return sum(self.people[name] * rate for name, rate in self.rates.items())

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
        """Plain data, for JSON; levels and rates only where people differ."""
        personal: dict[str, Any] = {}
        if self.people:
            personal["people_by_level"] = dict(self.people)
            personal["std_error_alike"] = self.std_error_alike
        if self.rates:
            personal |= {"rates": dict(self.rates), "reports": self.reports}
        if self.costs:
            personal["costs"] = {role: asdict(cost) for role, cost in self.costs.items()}
        if self.provided:
            personal["provided"] = self.provided
        return {
            "name": self.name,
            "people": self.n,
            "levels": dict(self.levels),
            "std_error": self.std_error,
            "report_bytes": self.report_bytes,
            "traffic": self.traffic,
            "decode_steps": self.decode_steps,
            **personal,
            "guarantee": self.guarantee.as_dict(),
        }
