"""From a requirement to ranked designs: error, size, speed, and number of people.

Modules that know designs offer ``designs(requirement)``; this one collects and ranks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..checks import (
    checked_count,
    checked_epsilon,
    decimals_of,
    html_table,
    number,
    printable,
)
from ..contract.design import Design, Requirement
from ..domain.ranges import Range
from ..errors import ParameterError
from ..mechanisms import by_id
from ..mechanisms import designs as local_designs
from ..participation import designs as personal_designs
from ..records import designs as record_designs
from ..secure import designs as secure_designs
from .checking import check
from .choose import has_distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The designs of each module; a new one adds its function here.
ROOMS: tuple[Callable[[Requirement], Iterable[Design]], ...] = (
    local_designs.designs,
    personal_designs.designs,
    record_designs.offered,
    secure_designs.designs,
)


@dataclass(frozen=True)
class Plan:
    """Designs for a requirement, the best first."""

    requirement: Requirement
    designs: tuple[Design, ...]

    @property
    def best(self) -> Design:
        """The design with the lowest predicted error, or the one that needs the fewest people."""
        return self.designs[0]

    def __iter__(self) -> Iterator[Design]:
        return iter(self.designs)

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary per design, for tables and JSON."""
        return [design.as_dict() for design in self.designs]

    @property
    def decimals(self) -> int:
        """Of the standard errors, so that all have equal digits."""
        return decimals_of(design.std_error for design in self.designs)

    def columns(self) -> list[tuple[str, Callable[[Design], str]]]:
        """Titles of a table of the designs, and the format of each cell; only relevant columns."""
        asked = self.requirement
        decimals = self.decimals
        columns: list[tuple[str, Callable[[Design], str]]] = [
            ("design", lambda x: x.name),
            ("people", lambda x: f"{x.n:,}"),
            ("epsilon", lambda x: x.epsilon_words),
            ("std error", lambda x: f"{x.std_error:.{decimals}f}"),
        ]
        if asked.attributes:
            columns[2] = ("record epsilon", columns[2][1])
        if len(asked.levels) > 1:
            columns.append(("if alike", lambda x: f"{x.std_error_alike:.{decimals}f}"))
        columns.append(("bytes", lambda x: f"{x.report_bytes:,}"))
        if asked.rate < 1 or asked.traffic is not None:
            columns.append(("reports", lambda x: f"{x.reports:,}"))
            columns.append(("bytes sent", lambda x: f"{x.traffic:,}"))
        return columns

    def by_level(self) -> str:
        """People and rate of each level in the best design, in words; empty where all are alike."""
        best = self.best
        if len(best.people) < 2 and self.requirement.traffic is None:
            return ""
        each = (
            f"{printable(name)} {people:,}"
            + (f" at rate {best.rates[name]:.3g}" if name in best.rates else "")
            for name, people in best.people.items()
        )
        return f"{best.name}, people of each level: " + ", ".join(each)

    def verdict(self) -> str:
        """Which design is best here and by how much; empty without secure protocols.

        It speaks of this requirement only: which kind of noise is best depends on it.
        """
        best, others = self.best, self.designs[1:]
        if not others or not any(design.costs for design in self.designs):
            return ""
        fixed = self.requirement.n is not None
        shown = [x for k, x in enumerate(others) if k == 0 or x.costs]
        local = [x for x in others if not x.costs]
        shown += [x for x in local[:1] if x not in shown]
        times = [x.std_error / best.std_error if fixed else x.n / best.n for x in shown]
        ratios = [f"{x.name} {ratio:.3g}" for x, ratio in zip(shown, times, strict=True)]
        what = "has the lowest error" if fixed else "needs the fewest people"
        words = f"Here {best.name} {what}; in multiples of it: {', '.join(ratios)}."
        sampled = [x for x in (best, *shown) if x.provided]
        if sampled:
            names = " and ".join(x.name for x in sampled)
            words += f" What {names} promise holds only if {sampled[0].provided}."
        return words

    def mean_only(self) -> str:
        """Which designs for a number estimate its mean and nothing else; empty for values."""
        bounds = self.requirement.bounds
        if bounds is None:
            return ""
        if self.requirement.personal:
            return "With levels or rates, only the mean of a number is estimated."
        asked = Range.of(bounds)
        bits = [
            design.name
            for design in self.designs
            if not has_distribution(by_id(design.name)(asked, epsilon=design.epsilon))
        ]
        if not bits:
            return ""
        rest = " The others also give a distribution and a median." * (
            len(bits) < len(self.designs)
        )
        return f"Only the mean: {' and '.join(bits)} (here a report is one bit).{rest}"

    def by_role(self) -> list[list[str]]:
        """What one member of each role of the secure protocols sends and adds, title first."""
        rows = [
            [x.name, role, *(f"{v:,.0f}" for v in (cost.elements, cost.sent, cost.additions))]
            for x in self.designs
            for role, cost in x.costs.items()
        ]
        return [["design", "role", "elements sent", "bytes sent", "additions"], *rows] * bool(rows)

    def table(self) -> list[list[str]]:
        """The titles, then a row of cells for each design."""
        columns = self.columns()
        rows = [[title for title, _ in columns]]
        return rows + [[cell(design) for _, cell in columns] for design in self.designs]

    def _repr_html_(self) -> str:
        """For notebooks: the table, and the verdict beneath."""
        end = " ".join(filter(None, [self.by_level(), self.mean_only(), self.verdict()]))
        return html_table(self.requirement.words(), self.table(), head=True, end=end)

    def __str__(self) -> str:
        parts = [self.requirement.words(), *_align(self.table())]
        parts += [self.by_level(), self.mean_only(), self.verdict()]
        return "\n".join(filter(None, [*parts, *_align(self.by_role())]))

    def plot(self, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
        """Error against epsilon and against n; see `sottovoce.plot.plan`."""
        from .. import plot

        if self.requirement.attributes:
            raise ParameterError("plans for records have no picture; print the plan")

        panels: Sequence[Axes] = plot.plan(self, axes=axes)
        return panels


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: names to the left, numbers to the right."""
    least = {"design": 10, "people": 12, "epsilon": 8, "std error": 10, "bytes": 8}
    widths = [
        max(least.get(title, 0), *(len(row[k]) for row in rows))
        for k, title in enumerate(rows[0] if rows else ())
    ]
    return [
        " ".join(
            f"{cell:{'<' if k == 0 or rows[0][k] == 'role' else '>'}{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def plan(
    *,
    d: int | None = None,
    bounds: tuple[float, float] | None = None,
    n: int | None = None,
    epsilon: float | None = None,
    levels: Mapping[str, float] | None = None,
    fractions: Mapping[str, float] | None = None,
    rate: float = 1.0,
    traffic: float | None = None,
    error: float | None = None,
    delta: float = 0.0,
    attributes: Sequence[int] | None = None,
    count: int | None = None,
    collusion: int = 0,
) -> Plan:
    """Rank designs, or answer how many people or which epsilon is needed.

    Two of people, privacy and error must be given; the third is computed. With all three, the plan
    says which designs are good enough.

    Parameters
    ----------
    d : int, optional
        How many values a question has; or
    bounds : tuple of float, optional
        The bounds of a number whose mean is asked.
    n : int, optional
        How many people there are.
    epsilon : float, optional
        Everyone's privacy parameter; or
    levels : mapping of str to float, optional
        A menu of them. Designs are ranked by the error of the post-stratified estimate, which
        holds whatever the people of each level answer; next to it is that of the default,
        `james-stein`, if they all answer alike.
    fractions : mapping of str to float, optional
        The fraction of people who choose each level; by default equal. Only their
        proportions matter.
    rate : float
        Probability with which each person reports.
    traffic : float, optional
        Or the bytes that all reports may take together: the best rate of each level is computed,
        see `sottovoce.participation.best_rates`.
    error : float, optional
        Target standard error: of an average fraction, or of the mean in its own units.
    delta : float
        Delta of the promises, 0 or more; the local designs promise with 0 in any case. Above 0, and
        with one epsilon for everyone, secure protocols are ranked beside them.
    attributes : sequence of int, optional
        Instead of `d`: how many values each attribute of a record has; `epsilon` is then that of
        an attribute on average, and the designs promise different things (see their guarantees).
    count : int, optional
        A public lower bound on how many people hold each value, not read from the data. Without it
        no protocol that samples is offered: its promise would rest on nothing.
    collusion : int
        How many people may work together with a recipient of a secure protocol's result.

    Returns
    -------
    Plan

    Examples
    --------
    >>> plan(d=4, n=10_000, epsilon=1.0).best.name
    'grr'
    >>> plan(d=4, epsilon=1.0, error=0.01).best.n
    18891
    >>> round(plan(d=4, n=10_000, error=0.01).best.epsilon, 2)
    1.29

    With levels, how many people of each?

    >>> menu, fractions = {"strong": 0.5, "normal": 2}, {"strong": 30, "normal": 70}
    >>> dict(plan(d=4, levels=menu, fractions=fractions, error=0.01).best.people)
    {'strong': 8919, 'normal': 20810}

    With a delta, secure protocols as well:

    >>> plan(d=30, n=1000, epsilon=1.0, delta=1e-5, count=33).best.name
    'dpdg'
    """
    menu = _menu(epsilon, levels)
    requirement = Requirement(
        d=None if d is None else checked_count(d, "d (a question has two values or more)", 2),
        bounds=bounds,
        n=None if n is None else checked_count(n, "n", 1),
        levels=menu,
        error=error,
        delta=delta,
        fractions=_fractions(fractions, menu),
        rate=rate,
        traffic=traffic,
        attributes=_attributes(attributes),
        count=count,
        collusion=collusion,
    )
    check(requirement)
    designs = [design for room in ROOMS for design in room(requirement)]
    good = [x for x in designs if error is None or x.std_error <= error * (1 + 1e-9)]
    if not good:
        aim = "can be drawn" if error is None else f"reaches a standard error of {error!r}"
        least = f"; the lowest is {min(x.std_error for x in designs):.3g}" if designs else ""
        remedies = {
            "ask more people": n is not None,
            "choose a larger epsilon": bool(menu),
            "allow a larger error": error is not None,
        }
        advice = ", or ".join(words for words, stated in remedies.items() if stated)
        raise ParameterError(f"no design {aim}{least}: {advice}")
    return Plan(requirement, tuple(sorted(good, key=_rank)))


def _rank(design: Design) -> tuple[float, ...]:
    return (design.n, design.most_epsilon, design.std_error, design.report_bytes)


def _menu(epsilon: float | None, levels: Mapping[str, float] | None) -> dict[str, float]:
    """Levels and their epsilons; empty where epsilon is the unknown."""
    if epsilon is not None and levels is not None:
        raise ParameterError("give epsilon for everyone, or levels to choose from; not both")
    if levels is not None and not levels:
        raise ParameterError("levels is empty; name at least one level with its epsilon")
    menu = {"everyone": epsilon} if epsilon is not None else dict(levels or {})
    return {str(name): checked_epsilon(value) for name, value in menu.items()}


def _fractions(chosen: Mapping[str, float] | None, menu: Mapping[str, float]) -> dict[str, float]:
    """The fraction of people of each level, in the menu's order."""
    if chosen is None:
        return {name: 1 / len(menu) for name in menu}
    if not isinstance(chosen, Mapping) or set(chosen) != set(menu):
        raise ParameterError(
            f"fractions is {chosen!r}; give a positive fraction for each of the levels {list(menu)}"
        )
    allowed = "a positive fraction"
    parts = {k: number(chosen[k], f"fraction {k!r}", allowed, lambda part: part > 0) for k in menu}
    return {name: part / sum(parts.values()) for name, part in parts.items()}


def _attributes(asked: Sequence[int] | None) -> tuple[int, ...]:
    """The numbers of values of a record's attributes."""
    if asked is None:
        return ()
    sizes = tuple(asked) if isinstance(asked, Iterable) else ()
    if not sizes or not all(type(size) is int and size >= 2 for size in sizes):
        raise ParameterError(
            f"attributes is {asked!r}; give how many values each has, two or more, such as [4, 2]"
        )
    return sizes
