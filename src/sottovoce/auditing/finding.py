"""What an audit found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import SottovoceError
from ..promise import Promise


class AuditError(SottovoceError):
    """Evidence that a promise is broken.

    Attributes
    ----------
    finding : Finding
        The one that exceeds its promise most.
    findings : tuple of Finding
        All findings of the audit, also those that refute nothing.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        broken = [finding for finding in findings if finding.broken]
        super().__init__("\n".join(map(str, broken)))
        self.finding = max(broken, key=lambda finding: finding.epsilon - finding.promise.epsilon)
        self.findings = tuple(findings)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.findings,)


@dataclass(frozen=True)
class Finding:
    """What an audit found about one promise to people who take part in one way.

    Attributes
    ----------
    epsilon : float
        The empirical lower bound; 0 where nothing was learned.
    promise : Promise
        What was promised.
    confidence : float
        Probability with which all bounds of the audit hold together.
    trials : int
        How many reports were drawn for this finding.
    pair : tuple
        The two answers that were distinguished best.
    event : str
        The reports that distinguished them, in words.
    seen : tuple of (int, int)
        (hits, trials) of the event under each of the two answers, in the testing part.
    choice : str
        The public level and rate of the people whose reports were drawn, where there are any.
    question : str
        The name of the question, or of records in a study, where there is one.
    comparisons : int
        How many findings the audit has; the probability of a false alarm is divided among them.
    """

    epsilon: float
    promise: Promise
    confidence: float
    trials: int
    pair: tuple[Any, Any]
    event: str
    seen: tuple[tuple[int, int], tuple[int, int]]
    choice: str = ""
    question: str = ""
    comparisons: int = 1

    @property
    def broken(self) -> bool:
        """Whether the bound exceeds the promise."""
        return self.epsilon > self.promise.epsilon

    @property
    def false_alarms(self) -> float:
        """At most this fraction of audits accuses a mechanism that keeps all its promises."""
        return float(f"{1 - self.confidence:.6g}")

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "epsilon_at_least": self.epsilon,
            "promise": self.promise.as_dict(),
            "question": self.question,
            "choice": self.choice,
            "broken": self.broken,
            "confidence": self.confidence,
            "false_alarms": self.false_alarms,
            "comparisons": self.comparisons,
            "trials": self.trials,
            "pair": [str(value) for value in self.pair],
            "event": self.event,
            "seen": [list(hits) for hits in self.seen],
        }

    def __str__(self) -> str:
        (a, n), (b, m) = self.seen
        rarely = int(1 / self.false_alarms * (1 + 1e-9))  # the probability is rounded up
        alarms = f"a correct mechanism would be accused in at most 1 of {rarely:,} audits"
        verdict = (
            f"The promise is BROKEN, up to the chance of a false alarm: {alarms}."
            if self.broken
            else f"No violation was found, which proves nothing; {alarms}."
        )
        where = f"At {self.choice}: " if self.choice else ""
        evidence = (
            f"Distinguished best: {_words(self.pair[0])} from {_words(self.pair[1])} by "
            f"{self.event}, seen {a:,} of {n:,} times against {b:,} of {m:,} times."
        )
        return (
            f"{where}epsilon is at least {self.epsilon:.4f} with confidence {self.confidence:.10g};"
            f" the promise is {self.promise.epsilon:g} for {self.promise.unit}. {verdict}\n"
            + (evidence if self.epsilon > 0 else "Nothing distinguished the answers.")
        )


def _words(answer: Any) -> str:
    """An answer as people write it; of records, with the attributes' names."""
    if not isinstance(answer, Mapping):
        return repr(answer)
    return f"({', '.join(f'{name}: {value!r}' for name, value in answer.items())})"
