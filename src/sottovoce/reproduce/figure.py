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
    """One point of one panel, at which every series is measured."""

    panel: str  # of the figure, or the rows of a table that belong together
    x: float | str  # on the axis, or the row of a table; a series that is a curve has its own
    setting: Mapping[str, Any] = field(default_factory=dict)  # all it needs, as JSON values
    people: int | None = None  # records or parties, where these take part
    needs: tuple[str, ...] = ()  # data sets without which the job is left out
    fast: bool = True  # also in the short run
    repeats: int | None = None  # in the full run, instead of the figure's
    same_seed: bool = False  # as other such jobs of the panel, so that they can share reports

    @property
    def key(self) -> tuple[str, float | str]:
        """What identifies the job within a figure."""
        return self.panel, self.x


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
    """One figure or table of a paper."""

    name: str  # such as figure-1 or table-2
    title: str  # what it shows, in one line
    jobs: tuple[Job, ...]
    measure: Measure
    x: Axis
    y: Axis
    repeats: int  # independent ones of each job, in the full run
    fast_repeats: int  # and in the short one
    claims: tuple[Claim, ...] = ()
    differences: str = ""  # where the run differs from the paper, and why
    kind: Literal["lines", "points", "table"] = "lines"  # over numbers, over names, no picture
    shared_y: bool = False  # whether all panels have the same y axis
    styles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of series: `errorbar`
    timing: bool = False  # values depend on the machine, and are not compared with earlier ones
    seed: int = 1  # from which each job derives its own

    def __post_init__(self) -> None:
        if len({job.key for job in self.jobs}) != len(self.jobs):
            raise ParameterError(f"{self.name} has two jobs with the same panel and x")
        if not any(job.fast for job in self.jobs):
            raise ParameterError(f"{self.name} has no job for the short run")

    def jobs_of(self, *, fast: bool) -> list[Job]:
        """The jobs of the full or of the short run."""
        return [job for job in self.jobs if job.fast or not fast]

    def repeats_of(self, job: Job, *, fast: bool) -> int:
        """How often a job is repeated."""
        return self.fast_repeats if fast else job.repeats or self.repeats


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
