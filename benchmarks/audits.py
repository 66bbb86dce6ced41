"""Audits of ours and of other libraries at the epsilon they claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.auditing.audit import AuditError, Finding
from sottovoce.promise import LDP, Promise

from .machine import EPSILON, Effort

D = 4
CONFIDENCE = 0.999


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


def measure(effort: Effort) -> list[Audited]:
    """Audit every randomiser that is there."""
    trials = effort.people(200_000)
    found = []
    for library, name, subject in _subjects():
        ours = isinstance(subject, sv.Mechanism)
        options: dict[str, Any] = {} if ours else {"inputs": list(range(D))}
        try:
            (finding,) = sv.audit(
                subject,
                trials=trials,
                confidence=CONFIDENCE,
                promise=Promise(LDP, EPSILON),
                **options,
            )
        except AuditError as error:
            finding = error.finding
        found.append(Audited(library, name, finding))
    return found


def _subjects() -> list[tuple[str, str, Any]]:
    kinds = (sv.GRR, sv.OUE, sv.SUE, sv.OLH, sv.SubsetSelection, sv.HadamardResponse)
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


def section(found: list[Audited]) -> str:
    """The part of the page."""
    first = found[0].finding
    lines = [
        "## Audits",
        "",
        f"`sv.audit` on {D} values at a claimed ε = {EPSILON:g}: {first.trials:,} reports each,",
        f"half to choose what to look at and half to test it, confidence {first.confidence:g}. A",
        "bound above the claim would refute it. One below proves nothing; and a generator that is",
        "not cryptographic, as the peers use, is a fault that no such test can see.",
        "",
        "| library | mechanism | ε is at least | claim |",
        "| --- | --- | ---: | --- |",
    ]
    for each in found:
        verdict = "**broken**" if each.finding.broken else "not refuted"
        lines.append(f"| {each.library} | {each.name} | {each.finding.epsilon:.3f} | {verdict} |")
    return "\n".join(lines) + "\n"
