"""Does a randomiser keep its promise? An empirical lower bound on epsilon.

Reports are drawn for several answers. On one half of the trials the pair of answers and the event
(a set of reports) that tell them apart best are chosen; on the other half, with fresh reports, the
event's probabilities are bounded by Clopper–Pearson intervals. Then, with the stated confidence,

    ε  ≥  ln( (P(event | x) − δ) / P(event | x') )

at the lower end of the one probability and the upper end of the other. A bound above the promised
ε is proof, at that confidence, that the promise is broken. A bound below it proves nothing: an
audit can refute privacy, it cannot show it.

It runs on any object with `randomise(values)`, so other libraries can be audited too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ParameterError, SottovoceError
from .guarantee import LIP, Promise
from .mechanism import LinearMechanism, Mechanism
from .mechanisms.numeric import NumericMechanism
from .report import Reports

Outcomes = NDArray[Any]
_MOST_INPUTS = 4
_BATCH = 1 << 16


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
    """

    epsilon: float
    promise: Promise
    confidence: float
    trials: int
    pair: tuple[Any, Any]
    event: str
    seen: tuple[tuple[int, int], tuple[int, int]]

    @property
    def broken(self) -> bool:
        """Whether the promise is refuted."""
        return self.epsilon > self.promise.epsilon

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "epsilon_at_least": self.epsilon,
            "promise": self.promise.as_dict(),
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
        return (
            f"epsilon is at least {self.epsilon:.4f} with confidence {self.confidence:g}; promised "
            f"is {self.promise.epsilon:g}. {verdict}\n"
            f"Told apart best: {self.pair[0]!r} from {self.pair[1]!r} by {self.event}, seen "
            f"{a:,} of {n:,} times against {b:,} of {m:,} times."
        )


def audit(
    mechanism: Any,
    *,
    trials: int = 200_000,
    confidence: float = 0.95,
    inputs: Sequence[Any] | None = None,
    promise: Promise | None = None,
    outcomes: Callable[[Any, Any, Any], Outcomes] | None = None,
) -> list[Finding]:
    """Try to refute every promise of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism, or any object with ``randomise(values)``
        What to audit. A foreign object must also be given `inputs` and `promise`.
    trials : int
        Reports to draw in all: half choose, half test.
    confidence : float
        Of each bound.
    inputs : sequence, optional
        Answers to tell apart; by default up to four spread over the domain.
    promise : Promise, optional
        The promise to test; by default each of the mechanism's own, but those under a prior.
    outcomes : callable, optional
        ``outcomes(reports, x, x')`` turns reports into one number, text or row per report; by
        default what tells the two answers apart for our mechanisms, and the report itself
        otherwise.

    Returns
    -------
    list of Finding
        One per promise.

    Raises
    ------
    AuditError
        When a lower bound exceeds what is promised.

    Examples
    --------
    >>> import sottovoce as sv
    >>> finding, = sv.audit(sv.GRR(4, epsilon=1.0), trials=20_000, confidence=0.999999)
    >>> finding.broken
    False
    """
    _check(mechanism, trials, confidence)
    promises = _promises(mechanism, promise)
    answers = _inputs(mechanism, inputs)
    look = outcomes or _look_of(mechanism)
    findings = []
    for each in promises:
        finding = _examine(mechanism, each, answers, look, trials, confidence)
        if finding.broken:
            raise AuditError(finding)
        findings.append(finding)
    return findings


def _examine(
    mechanism: Any,
    promise: Promise,
    answers: Sequence[Any],
    look: Callable[[Any, Any, Any], Outcomes],
    trials: int,
    confidence: float,
) -> Finding:
    many = trials // 2 // len(answers)
    drawn = {k: _drawn(mechanism, answer, many) for k, answer in enumerate(answers)}
    best: tuple[float, int, int, set[Any]] = (-math.inf, 0, 1, set())
    for i in drawn:
        for j in drawn:
            if i != j:
                x, y = answers[i], answers[j]
                here, there = (_counted(look, drawn[k], x, y) for k in (i, j))
                score, event = _best_event(here, there, many, promise.delta, confidence)
                if score > best[0]:
                    best = (score, i, j, event)
    _, i, j, event = best
    x, y = answers[i], answers[j]
    rest = (trials - trials // 2) // 2
    hits = []
    for k in (i, j):
        counts = _counted(look, _drawn(mechanism, answers[k], rest), x, y)
        hits.append(sum(counts.get(outcome, 0) for outcome in event))
    bound = _bound(np.array([hits[0]]), np.array([hits[1]]), rest, promise.delta, confidence)
    seen = ((hits[0], rest), (hits[1], rest))
    epsilon = max(0.0, float(bound[0]))
    return Finding(epsilon, promise, confidence, trials, (x, y), _words(event), seen)


def _best_event(
    here: Mapping[Any, int], there: Mapping[Any, int], n: int, delta: float, confidence: float
) -> tuple[float, set[Any]]:
    """The set of outcomes, by falling ratio, with the highest bound on the choosing half."""
    found = sorted(here, key=lambda outcome: -(here[outcome] + 1) / (there.get(outcome, 0) + 1))
    a = np.cumsum([here[outcome] for outcome in found])
    b = np.cumsum([there.get(outcome, 0) for outcome in found])
    bounds = _bound(a, b, n, delta, confidence)
    k = int(np.argmax(bounds))
    return float(bounds[k]), set(found[: k + 1])


def _bound(
    a: NDArray[np.int64], b: NDArray[np.int64], n: int, delta: float, confidence: float
) -> NDArray[np.float64]:
    """Lower bounds on epsilon from hits a and b of n trials; the error is shared by both ends."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = np.where(a > 0, betaincinv(np.maximum(a, 1), n - a + 1, tail), 0.0)
    high = np.where(b < n, betaincinv(b + 1, np.maximum(n - b, 1), 1 - tail), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds: NDArray[np.float64] = np.where(low > delta, np.log((low - delta) / high), -np.inf)
    return bounds


def _drawn(mechanism: Any, answer: Any, n: int) -> list[Any]:
    """n reports of one answer, in batches so that wide reports fit in memory."""
    sizes = [min(_BATCH, n - start) for start in range(0, n, _BATCH)]
    return [mechanism.randomise([answer] * size) for size in sizes]


def _counted(
    look: Callable[[Any, Any, Any], Outcomes], batches: Iterable[Any], x: Any, y: Any
) -> dict[Any, int]:
    total: dict[Any, int] = {}
    for batch in batches:
        rows = np.asarray(look(batch, x, y))
        kinds, counts = np.unique(rows, axis=0, return_counts=True)
        for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            key = tuple(kind) if isinstance(kind, list) else kind
            total[key] = total.get(key, 0) + count
    return total


def _look_of(mechanism: Any) -> Callable[[Any, Any, Any], Outcomes]:
    if isinstance(mechanism, LinearMechanism):
        return mechanism.told_apart
    if isinstance(mechanism, NumericMechanism):
        return _coarse_cells
    return _as_outcomes


def _coarse_cells(reports: Any, x: Any, y: Any) -> Outcomes:
    """Cells of a number's grid, up to 32 together: of rare cells, luck would choose the event."""
    cell = reports.columns["cell"] // 32
    which = reports.columns.get("grid", np.zeros(len(reports), np.uint8))
    few = reports.columns["cell"] < 2  # the two cells of a single bit stay apart
    return np.stack([which, np.where(few, reports.columns["cell"], cell + 2)], axis=1)


def _as_outcomes(reports: Any, x: Any, y: Any) -> Outcomes:
    """A foreign object's reports as they are."""
    if isinstance(reports, Reports):
        return np.concatenate(
            [c.reshape(len(reports), -1) for c in reports.columns.values()], axis=1
        )
    array = np.asarray(reports)
    if array.dtype == object or array.ndim == 0:
        return np.array([repr(report) for report in reports])
    return array.reshape(len(array), -1)


def _words(event: set[Any]) -> str:
    shown = sorted(map(str, event))[:4]
    more = len(event) - len(shown)
    return f"the report being {' or '.join(shown)}" + (f" or one of {more:,} more" if more else "")


def _inputs(mechanism: Any, inputs: Sequence[Any] | None) -> Sequence[Any]:
    if inputs is None and isinstance(mechanism, NumericMechanism):
        low, high = mechanism.domain.low, mechanism.domain.high
        return [low, (low + high) / 2, high]
    if inputs is None and isinstance(mechanism, LinearMechanism):
        domain = mechanism.domain
        if domain.edges is not None:
            ends = [edge for edge in domain.edges if math.isfinite(edge)]
            return ends[:_MOST_INPUTS]
        size = len(domain.values)
        count = min(size, _MOST_INPUTS)
        return [domain.values[k * (size - 1) // (count - 1)] for k in range(count)]
    if inputs is None or len(inputs) < 2:
        raise ParameterError(f"inputs is {inputs!r}; name at least two answers to tell apart")
    return list(inputs)


def _promises(mechanism: Any, promise: Promise | None) -> tuple[Promise, ...]:
    if promise is not None:
        if promise.notion == LIP:
            raise ParameterError(
                "two answers say nothing of a promise under a prior; audit the one without it"
            )
        return (promise,)
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(
            "what is promised by a foreign object must be said: promise=Promise(LDP, epsilon)"
        )
    if not mechanism.guarantee.promises:
        raise ParameterError(f"nothing is promised ({mechanism.guarantee.reason})")
    return tuple(p for p in mechanism.guarantee.promises if p.notion != LIP)


def _check(mechanism: Any, trials: int, confidence: float) -> None:
    if not callable(getattr(mechanism, "randomise", None)):
        raise ParameterError(f"{mechanism!r} has no randomise(values), so it cannot be audited")
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1000:
        raise ParameterError(f"trials is {trials!r}; it must be a whole number from 1,000 on")
    if not isinstance(confidence, float) or not 0.5 < confidence < 1:
        raise ParameterError(f"confidence is {confidence!r}; it must lie between 0.5 and 1")
