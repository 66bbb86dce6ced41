"""Audits of ours and of other libraries at the epsilon they claim; what faults audits notice.

``python -m benchmarks.audits`` prints the table of faults; it takes some minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.auditing.audit import AuditError, Finding
from sottovoce.mechanisms.grid import Grid
from sottovoce.promise import LDP, Promise

from .machine import EPSILON, Effort

D = 4
FAULT = 1.1  # the epsilon of a faulty mechanism is so many times the promised one


@dataclass(frozen=True)
class Foreign:
    """Another library's randomiser of one answer at a time, as an object with `randomise`."""

    one: Any

    def randomise(self, values: Sequence[int]) -> list[Any]:
        """Reports as they are, bit vectors as tuples."""
        reports = [self.one(value) for value in values]
        return [tuple(np.asarray(r).tolist()) if np.ndim(r) else r for r in reports]


@dataclass(frozen=True)
class Audited:
    """What an audit found about one randomiser."""

    library: str
    name: str
    finding: Finding


@dataclass(frozen=True)
class Noticed:
    """How often a fault was noticed, and how often the same mechanism without it was accused."""

    name: str
    epsilon: float
    audits: int
    faulty: float
    correct: float


class Loud:
    """Draws numbers at a larger epsilon than it promises."""

    @property
    def grids(self) -> Mapping[str, Grid]:
        """The grids of the mechanism, at the larger epsilon."""
        grids: Mapping[str, Grid] = super().grids  # type: ignore[misc]
        return {k: Grid(FAULT * g.epsilon, g.steps, g.window) for k, g in grids.items()}


class LoudHybrid(Loud, sv.Hybrid):
    """A faulty hybrid mechanism."""


class LoudPiecewise(Loud, sv.Piecewise):
    """A faulty piecewise mechanism."""


class LoudDuchi(Loud, sv.Duchi):
    """A faulty mechanism of one bit."""


def measure(effort: Effort) -> list[Audited]:
    """Audit every randomiser that is there."""
    trials = effort.people(300_000)
    audited = []
    for library, name, subject in _subjects():
        ours = isinstance(subject, sv.Mechanism)
        options: dict[str, Any] = {} if ours else {"inputs": list(range(D))}
        finding = _finding(subject, trials=trials, promise=Promise(LDP, EPSILON), **options)
        audited.append(Audited(library, name, finding))
    return audited


def power(audits: int = 200) -> list[Noticed]:
    """Audit faulty and correct mechanisms for numbers again and again, with the default trials."""
    noticed = []
    for loud, epsilon in ((LoudHybrid, 1.0), (LoudPiecewise, 0.5), (LoudDuchi, 0.5)):
        correct = loud.__mro__[2]
        fractions = [
            float(np.mean([_finding(kind((0, 1), epsilon=epsilon)).broken for _ in range(audits)]))
            for kind in (loud, correct)
        ]
        noticed.append(Noticed(correct.__name__, epsilon, audits, *fractions))
    return noticed


def _finding(subject: Any, **options: Any) -> Finding:
    try:
        (finding,) = sv.audit(subject, **options)
    except AuditError as error:
        finding = error.finding
    return finding


def _subjects() -> list[tuple[str, str, Any]]:
    short = (sv.OLH, sv.HadamardResponse, sv.ProjectiveGeometryResponse)
    kinds = (sv.GRR, sv.OUE, sv.SUE, sv.SubsetSelection, *short)
    subjects: list[tuple[str, str, Any]] = [
        ("sottovoce", kind.__name__, kind(D, epsilon=EPSILON)) for kind in kinds
    ]
    try:
        from pure_ldp.frequency_oracles import DEClient, UEClient
    except ImportError:
        pass
    else:
        same = {"index_mapper": lambda x: x}
        subjects += [
            ("pure-ldp", "DE", Foreign(DEClient(EPSILON, D, **same).privatise)),
            ("pure-ldp", "OUE", Foreign(UEClient(EPSILON, D, use_oue=True, **same).privatise)),
            ("pure-ldp", "SUE", Foreign(UEClient(EPSILON, D, use_oue=False, **same).privatise)),
        ]
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
    except ImportError:
        pass
    else:
        subjects += [
            ("multi-freq-ldpy", "GRR", Foreign(lambda x: GRR_Client(x, D, EPSILON))),
            ("multi-freq-ldpy", "OUE", Foreign(lambda x: UE_Client(x, D, EPSILON, True))),
            ("multi-freq-ldpy", "SUE", Foreign(lambda x: UE_Client(x, D, EPSILON, False))),
            (
                "multi-freq-ldpy",
                "SS",
                Foreign(lambda x: tuple(sorted(np.asarray(SS_Client(x, D, EPSILON)).tolist()))),
            ),
        ]
    return subjects


def section(audited: list[Audited]) -> str:
    """The part of the page."""
    first = audited[0].finding
    lines = [
        "## Audits",
        "",
        f"`sv.audit` on {D} values at a claimed ε = {EPSILON:g}: {first.trials:,} reports each,",
        "30 % to choose what to look at and the rest to test it; a correct mechanism is accused",
        f"with a probability of at most {first.false_alarms:g}. A bound below the claim proves",
        "nothing; and a generator that is not cryptographic, as the peers use, is a fault that no",
        "such test can see.",
        "",
        "| library | mechanism | ε is at least | claim |",
        "| --- | --- | ---: | --- |",
    ]
    for each in audited:
        verdict = "**broken**" if each.finding.broken else "not refuted"
        lines.append(f"| {each.library} | {each.name} | {each.finding.epsilon:.3f} | {verdict} |")
    return "\n".join(lines) + "\n"


def power_section(noticed: list[Noticed]) -> str:
    """A table of what audits notice, with the default number of reports."""
    percent = round(100 * (FAULT - 1))
    lines = [
        f"Faults in mechanisms for numbers: epsilon {percent} % larger than promised, "
        f"{noticed[0].audits} audits each.",
        "",
        "| mechanism | promised ε | faulty ones accused | correct ones accused |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines += [f"| {x.name} | {x.epsilon:g} | {x.faulty:.3f} | {x.correct:.3f} |" for x in noticed]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(power_section(power()))
