"""What a reproduction consists of: papers, their figures, the jobs of a figure, and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import ParameterError

if TYPE_CHECKING:
    from .data import Data
    from .results import Results

#: Of one series: an exact number, or the numbers that the repeats gave.
Measured: TypeAlias = float | Sequence[float]
#: Of one series at many points, where one run gives a whole curve: what it measured at each x.
Curve: TypeAlias = Mapping[float | str, Measured]
#: (setting of the job, repeats, seed, data sets) → what each series measured.
Measure: TypeAlias = "Callable[[Mapping[str, Any], int, int, Data], Mapping[str, Measured | Curve]]"
Outcome: TypeAlias = Literal["holds", "holds in part", "does not hold", "cannot be checked"]


@dataclass(frozen=True)
class Axis:
    """The label of an axis, with its unit, and whether it is logarithmic."""

    label: str
    log: bool = False


@dataclass(frozen=True)
class Job:
    """One point of one panel, at which every series is measured.

    Parameters
    ----------
    panel : str
        The panel of the figure, or the rows of a table that belong together.
    x : float or str
        The position on the axis, or the row of a table. A series that is a curve has its own.
    setting : mapping
        Everything that the measurement needs, as JSON values.
    people : int, optional
        How many people, records or parties take part.
    needs : tuple of str
        The data sets without which the job is left out.
    fast : bool
        Whether the job also belongs to the short run.
    repeats : int, optional
        Overrides the figure's number of repeats in the full run.
    same_seed : bool
        Whether such jobs of a panel have the same seed, so that they can share their reports.
    """

    panel: str
    x: float | str
    setting: Mapping[str, Any] = field(default_factory=dict)
    people: int | None = None
    needs: tuple[str, ...] = ()
    fast: bool = True
    repeats: int | None = None
    same_seed: bool = False


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and the numbers that say so."""

    outcome: Outcome
    because: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper about a figure, and how to judge it from our results."""

    text: str
    where: str
    judge: Callable[[Results], Verdict]


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper.

    Parameters
    ----------
    name : str
        Such as ``figure-1`` or ``table-2``.
    title : str
        What it shows, in one line.
    jobs : tuple of Job
        The points at which it is measured.
    measure : callable
        Measures one job; see `Measure`.
    x, y : Axis
        The axes.
    repeats, fast_repeats : int
        Independent repeats of each job in the full and in the short run.
    claims : tuple of Claim
        What the paper says about it.
    differences : str
        Where the run differs from the paper, and why.
    kind : {"lines", "points", "table"}
        How it is drawn: lines over numbers, points over names, or no picture at all.
    shared_y : bool
        Whether all panels have the same y axis.
    styles : mapping
        Of a series: keywords of matplotlib's `errorbar` instead of the usual ones.
    timing : bool
        Whether values depend on the machine, so that they are not compared with earlier ones.
    seed : int
        The seed of the first job; each job derives its own from it.
    """

    name: str
    title: str
    jobs: tuple[Job, ...]
    measure: Measure
    x: Axis
    y: Axis
    repeats: int
    fast_repeats: int
    claims: tuple[Claim, ...] = ()
    differences: str = ""
    kind: Literal["lines", "points", "table"] = "lines"
    shared_y: bool = False
    styles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    timing: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        places = [(job.panel, job.x) for job in self.jobs]
        if len(set(places)) != len(places):
            raise ParameterError(f"{self.name} has two jobs with the same panel and x")
        if not any(job.fast for job in self.jobs):
            raise ParameterError(f"{self.name} has no job for the short run")


@dataclass(frozen=True)
class Paper:
    """A paper: where it was published, and its figures and tables in the paper's order."""

    name: str
    title: str
    citation: str
    figures: tuple[Figure, ...]

    def figure(self, name: str) -> Figure:
        """The figure of this name."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        names = ", ".join(figure.name for figure in self.figures)
        raise ParameterError(f"{self.name} has no {name!r}; there are {names}")
