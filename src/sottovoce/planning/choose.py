"""Which mechanism for d values at ε.

The one with the lowest error, the shortest report or the cheapest decoding; the numbers come from
the mechanisms themselves.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ..checks import check_choice, checked_count, decimals_of, html_table
from ..domain.ranges import Range
from ..domain.values import Domain, Label
from ..errors import ParameterError
from ..mechanisms import Hybrid, Piecewise
from ..mechanisms.choose_all import ChooseAll
from ..mechanisms.linear import LinearMechanism
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.registry import compared_kinds

Prefer = Literal["error", "size", "decode"]
_TYPICAL_PEOPLE = 10_000
_CLOSE = 1.25
#: What defaults avoid where another mechanism has nearly the same error: long reports, and steps to
#: decode them. So many, or more, count as much as the variance itself.
_MOST_BYTES, _COSTLY_STEPS = 1 << 10, 1 << 33


@dataclass(frozen=True)
class Candidate:
    """A mechanism with what it costs.

    Attributes
    ----------
    mechanism : LinearMechanism
    std_error : float
        Root of the mean variance over all values, for n people.
    report_bytes : int
        Size of one report.
    decode_steps : float
        Elementary steps from n reports to the estimate.
    """

    mechanism: LinearMechanism
    std_error: float
    report_bytes: int
    decode_steps: float


@dataclass(frozen=True)
class Choice:
    """Candidates, the preferred one first."""

    candidates: tuple[Candidate, ...]
    n: int
    prefer: Prefer

    @property
    def mechanism(self) -> LinearMechanism:
        """The preferred one."""
        return self.candidates[0].mechanism

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    @property
    def title(self) -> str:
        """What was asked for, in one line."""
        d, epsilon = self.mechanism.domain.size, self.mechanism.epsilon
        return f"{d:,} values, ε = {epsilon:g}, {self.n:,} people; by {self.prefer}"

    def table(self) -> list[tuple[str, ...]]:
        """The titles, then a row of cells for each candidate, with equal digits."""
        decimals = decimals_of(c.std_error for c in self.candidates)
        rows = (
            (
                c.mechanism.id,
                f"{c.std_error:.{decimals}f}",
                f"{c.report_bytes:,}",
                f"{c.decode_steps:,.0f}",
            )
            for c in self.candidates
        )
        return [("mechanism", "std error", "bytes", "decode steps"), *rows]

    def __str__(self) -> str:
        lines = [self.title]
        lines += [
            f"{name:<10} {error:>9} {size:>7} {steps:>13}"
            for name, error, size, steps in self.table()
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For notebooks: the table."""
        return html_table(self.title, self.table(), head=True)


def choose(
    domain: Domain | int | Sequence[Label],
    epsilon: float,
    n: int | None = None,
    *,
    prefer: Prefer = "error",
) -> Choice:
    """Rank every mechanism for a set of values.

    Parameters
    ----------
    domain : int, Domain or sequence
        The values, or how many.
    epsilon : float
        Privacy parameter.
    n : int, optional
        How many people; 10,000 by default. It scales errors and decode steps.
    prefer : {"error", "size", "decode"}
        What to rank by. By size or decoding, mechanisms whose error is within a quarter of the
        lowest come first: a short report is worth nothing if the error is large.

    Returns
    -------
    Choice
        `.mechanism` is the preferred one; printing it shows the table.

    Examples
    --------
    >>> choose(4, epsilon=2.0).mechanism.id, choose(1000, epsilon=1.0).mechanism.id
    ('grr', 'subset')
    >>> choose(100_000, epsilon=1.0, prefer="decode").mechanism.id
    'hadamard'
    """
    check_choice(prefer, "prefer", get_args(Prefer))
    people = checked_count(_TYPICAL_PEOPLE if n is None else n, "n", 1)
    values = Domain.of(domain)
    candidates, refusals = [], []
    for kind in compared_kinds():
        if not issubclass(kind, LinearMechanism):
            continue
        try:
            mechanism = kind(values, epsilon=epsilon)
            mechanism.check_countable()
        except ParameterError as refusal:  # too many values for it, or for its counts
            refusals.append(refusal)
        else:
            candidates.append(_candidate(mechanism, people))
    if not candidates:
        raise refusals[0]
    enough = _CLOSE * min(candidate.std_error for candidate in candidates)

    def rank(c: Candidate) -> tuple[float, ...]:
        if prefer == "error":
            return (c.std_error, c.report_bytes, c.decode_steps)
        cost = c.report_bytes if prefer == "size" else c.decode_steps
        return (c.std_error > enough, cost, c.std_error)

    return Choice(tuple(sorted(candidates, key=rank)), people, prefer)


def has_distribution(mechanism: Mechanism) -> bool:
    """Whether reports on a number carry more information than its mean."""
    return "distribution" in mechanism.methods


def best_kind(domain: Domain, epsilons: Iterable[float], n: int | None = None) -> type[Mechanism]:
    """The kind with the lowest error for a menu of levels, with people spread evenly over them.

    Reports of more than a kilobyte and long decoding are avoided where the error of another kind is
    within a quarter of the lowest; with so many values, it mostly is within a percent or two. `n`
    is how many people there are, where that is known.

    One kind for all levels keeps a study short; `Levels` takes any mixture. For numbers it is the
    hybrid mechanism, except at a single epsilon so small that its reports have no distribution:
    the piecewise one has one at every epsilon, and its mean a standard error up to 15 % larger (as
    epsilon goes to 0). Of a menu of levels only the mean of numbers is estimated.
    """
    if isinstance(domain, Range):
        several = list(epsilons)
        one_bit = len(several) == 1 and not has_distribution(Hybrid(domain, epsilon=several[0]))
        return Piecewise if one_bit else Hybrid
    if not domain.exclusive:
        return ChooseAll
    costs: dict[type[Mechanism], tuple[float, ...]] = {}
    long: set[type[Mechanism]] = set()
    for epsilon in epsilons:
        for c in choose(domain, epsilon, n):
            kind = type(c.mechanism)
            own = (c.std_error**2, c.report_bytes, c.decode_steps)
            costs[kind] = tuple(map(operator.add, costs.get(kind, (0.0, 0.0, 0.0)), own))
            long |= {kind} if c.report_bytes > _MOST_BYTES else set()
    if not costs:
        raise ParameterError("a menu needs at least one level; none was given")
    enough = _CLOSE**2 * min(variance for variance, *_ in costs.values())
    close = [kind for kind in costs if costs[kind][0] <= enough]
    short = [kind for kind in close if kind not in long] or close

    def rank(kind: type[Mechanism]) -> tuple[float, ...]:
        variance, size, steps = costs[kind]
        return (variance * (1 + min(steps / _COSTLY_STEPS, 1)), size, steps)

    return min(short, key=rank)  # of equals the first in the registry


def _candidate(mechanism: LinearMechanism, n: int) -> Candidate:
    return Candidate(
        mechanism,
        math.sqrt(mechanism.total_variance(n) / mechanism.domain.size),
        mechanism.report_bytes,
        mechanism.decode_steps(n),
    )
