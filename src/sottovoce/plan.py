"""From a requirement to ranked designs: how wrong, how large, how slow; and how many people.

Every room that knows designs offers ``designs(requirement)``; this one collects and ranks them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import ParameterError
from .guarantee import checked_epsilon
from .mechanism import Design, Requirement
from .mechanisms import designs as local_designs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What each room offers; a new room adds its function here.
ROOMS: tuple[Callable[[Requirement], Iterable[Design]], ...] = (local_designs.designs,)


@dataclass(frozen=True)
class Plan:
    """Designs for a requirement, the best first."""

    requirement: Requirement
    designs: tuple[Design, ...]

    @property
    def best(self) -> Design:
        """The design with the least predicted error; of those that need people, the fewest."""
        return self.designs[0]

    def __iter__(self) -> Iterator[Design]:
        return iter(self.designs)

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary per design, for tables and JSON."""
        return [design.as_dict() for design in self.designs]

    def __str__(self) -> str:
        lines = [self.requirement.words()]
        lines.append(f"{'design':<10} {'people':>12} {'epsilon':>8} {'std error':>10} {'bytes':>8}")
        lines += [
            f"{x.name:<10} {x.n:>12,} {x.epsilon_words:>8} {x.std_error:>10.3g} "
            f"{x.report_bytes:>8,}"
            for x in self.designs
        ]
        return "\n".join(lines)

    def plot(self, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
        """Error against epsilon and against n; see `sottovoce.plot.plan`."""
        from . import plot

        drawn: Sequence[Axes] = plot.plan(self, axes=axes)
        return drawn


def plan(
    *,
    d: int | None = None,
    bounds: tuple[float, float] | None = None,
    n: int | None = None,
    epsilon: float | None = None,
    levels: Mapping[str, float] | None = None,
    error: float | None = None,
    delta: float = 0.0,
) -> Plan:
    """Rank designs, or answer how many people or which epsilon is needed.

    Two of people, privacy and error must be given; the third is worked out. All three ask which
    designs are good enough.

    Parameters
    ----------
    d : int, optional
        How many values a question has; or
    bounds : tuple of float, optional
        The bounds of a number whose mean is asked.
    n : int, optional
        How many people report.
    epsilon : float, optional
        Everyone's privacy parameter; or
    levels : mapping of str to float, optional
        A menu of them, chosen by equally many people, each level estimated on its own and put
        together by size.
    error : float, optional
        Wanted standard error: of an average share, or of the mean in its own units.
    delta : float
        Probability with which a promise may fail; the local designs promise with 0 in any case.

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
    """
    requirement = _requirement(d, bounds, n, epsilon, levels, error, delta)
    found = [design for room in ROOMS for design in room(requirement)]
    good = [x for x in found if error is None or x.std_error <= error * (1 + 1e-9)]
    if not good:
        least = min((x.std_error for x in found), default=math.inf)
        raise ParameterError(
            f"no design reaches a standard error of {error!r}; the least is {least:.3g}: "
            "ask more people, or a larger epsilon"
        )
    return Plan(requirement, tuple(sorted(good, key=_rank)))


def _rank(design: Design) -> tuple[float, ...]:
    return (design.n, design.most_epsilon, design.std_error, design.report_bytes)


def _requirement(
    d: int | None,
    bounds: tuple[float, float] | None,
    n: int | None,
    epsilon: float | None,
    levels: Mapping[str, float] | None,
    error: float | None,
    delta: float,
) -> Requirement:
    if (d is None) == (bounds is None):
        raise ParameterError(
            "give d, the number of values, or bounds, those of a number; one of them"
        )
    if epsilon is not None and levels is not None:
        raise ParameterError("give epsilon for everyone, or levels to choose from; not both")
    private = epsilon is not None or levels is not None
    if (n is not None) + private + (error is not None) < 2:
        raise ParameterError(
            "give two of n, epsilon (or levels) and error; the third is worked out"
        )
    if d is not None and (isinstance(d, bool) or not isinstance(d, int) or d < 2):
        raise ParameterError(f"d is {d!r}; a question has two values or more")
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ParameterError(f"n is {n!r}; it must be a whole number of people from 1 on")
    if error is not None and not (isinstance(error, (int, float)) and 0 < error < math.inf):
        raise ParameterError(f"error is {error!r}; it must be a positive standard error")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta is {delta!r}; it must be at least 0 and below 1")
    if levels is not None and not levels:
        raise ParameterError("levels is empty; name at least one level with its epsilon")
    menu = {"everyone": epsilon} if epsilon is not None else dict(levels or {})
    checked = {str(name): checked_epsilon(value) for name, value in menu.items()}
    return Requirement(d=d, bounds=bounds, n=n, levels=checked, error=error, delta=delta)
