"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import SottovoceError
from ..promise import Promise


class AuditError(SottovoceError):
    """A promise is broken; `.finding` has the evidence."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


@dataclass(frozen=True)
class Finding:
    """What an audit found about one promise.

    Attributes
    ----------
    epsilon : float
        The empirical lower bound; 0 where nothing was learned.
    promise : Promise
        What was promised.
    confidence : float
        Probability with which the bound holds.
    trials : int
        How many reports were drawn in all.
    pair : tuple
        The two answers that were told apart best.
    event : str
        The reports that told them apart, in words.
    seen : tuple of (int, int)
        (hits, trials) of the event under each of the two answers, in the testing half.
    choice : str
        The public level and rate of those who were looked at, where there are any.
    """

    epsilon: float
    promise: Promise
    confidence: float
    trials: int
    pair: tuple[Any, Any]
    event: str
    seen: tuple[tuple[int, int], tuple[int, int]]
    choice: str = ""

    @property
    def broken(self) -> bool:
        """Whether the promise is refuted."""
        return self.epsilon > self.promise.epsilon

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "epsilon_at_least": self.epsilon,
            "promise": self.promise.as_dict(),
            "choice": self.choice,
            "broken": self.broken,
            "confidence": self.confidence,
            "trials": self.trials,
            "pair": [str(value) for value in self.pair],
            "event": self.event,
            "seen": [list(hits) for hits in self.seen],
        }

    def __str__(self) -> str:
        (a, n), (b, m) = self.seen
        verdict = (
            "The promise is BROKEN." if self.broken else "No violation found, which proves nothing."
        )
        where = f"At {self.choice}: " if self.choice else ""
        return (
            f"{where}epsilon is at least {self.epsilon:.4f} with confidence {self.confidence:g}; "
            f"promised is {self.promise.epsilon:g}. {verdict}\n"
            f"Told apart best: {self.pair[0]!r} from {self.pair[1]!r} by {self.event}, seen "
            f"{a:,} of {n:,} times against {b:,} of {m:,} times."
        )
