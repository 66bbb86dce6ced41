"""Does a randomiser keep its promise? An empirical lower bound on epsilon.

Reports are drawn for several answers. On one half of the trials the pair of answers and the event
(a set of reports) that tell them apart best are chosen; on the other half, with fresh reports, the
event's probabilities are bounded by Clopper–Pearson intervals. Then, with the stated confidence,

    ε  ≥  ln( (P(event | x) − δ) / P(event | x') )

at the lower end of the one probability and the upper end of the other. A bound above the promised
ε is proof, at that confidence, that the promise is broken. A bound below it proves nothing: an
audit can refute privacy, it cannot show it.

Every level of a menu is audited at its own promise, and under sampling silence is looked at as
well as reports. It runs on any object with `randomise(values)`, so other libraries can be audited
too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..mechanisms.mechanism import Mechanism
from ..promise import LIP, Promise
from .finding import AuditError, Finding
from .subjects import SILENCE, Look, Outcomes, Subject, answers_of, subjects_of

__all__ = ["AuditError", "Finding", "audit"]

_BATCH = 1 << 16


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
        People to draw reports of, for each finding: half choose, half test.
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
        One per promise, and under sampling per rate; of many rates three are examined.

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
    answers = answers_of(mechanism, inputs)
    findings = []
    for subject in subjects_of(mechanism):
        each = promises[subject.promise] if promise is None else promise
        if each.notion == LIP:
            continue  # two answers say nothing of a promise under a prior
        look = outcomes or subject.look
        finding = _examine(mechanism, subject, each, answers, look, trials, confidence)
        if finding.broken:
            raise AuditError(finding)
        findings.append(finding)
    return findings


def _examine(
    mechanism: Any,
    subject: Subject,
    promise: Promise,
    answers: Sequence[Any],
    look: Look,
    trials: int,
    confidence: float,
) -> Finding:
    many = trials // 2 // len(answers)
    options = subject.options
    drawn = {k: _drawn(mechanism, answer, many, options) for k, answer in enumerate(answers)}
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
        counts = _counted(look, _drawn(mechanism, answers[k], rest, options), x, y)
        hits.append(sum(counts.get(outcome, 0) for outcome in event))
    bound = _bound(np.array([hits[0]]), np.array([hits[1]]), rest, promise.delta, confidence)
    seen = ((hits[0], rest), (hits[1], rest))
    epsilon = max(0.0, float(bound[0]))
    words = _words(event)
    return Finding(epsilon, promise, confidence, trials, (x, y), words, seen, subject.choice)


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


def _drawn(mechanism: Any, answer: Any, n: int, options: Mapping[str, Any]) -> list[Any]:
    """n reports of one answer, in batches so that wide reports fit in memory."""
    sizes = [min(_BATCH, n - start) for start in range(0, n, _BATCH)]
    return [mechanism.randomise([answer] * size, **options) for size in sizes]


def _counted(look: Look, batches: Iterable[Any], x: Any, y: Any) -> dict[Any, int]:
    total: dict[Any, int] = {}
    for batch in batches:
        rows = np.asarray(look(batch, x, y))
        kinds, counts = np.unique(rows, axis=0, return_counts=True)
        for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            key = tuple(kind) if isinstance(kind, list) else kind
            total[key] = total.get(key, 0) + count
    return total


def _words(event: set[Any]) -> str:
    silence = {key for key in event if set(np.atleast_1d(key).tolist()) == {SILENCE}}
    if silence == event:
        return "silence"
    shown = sorted(map(str, event - silence))[:4]
    more = len(event - silence) - len(shown)
    words = f"the report being {' or '.join(shown)}" + (f" or one of {more:,} more" if more else "")
    return f"silence, or {words}" if silence else words


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
    return mechanism.guarantee.promises


def _check(mechanism: Any, trials: int, confidence: float) -> None:
    if not callable(getattr(mechanism, "randomise", None)):
        raise ParameterError(f"{mechanism!r} has no randomise(values), so it cannot be audited")
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1000:
        raise ParameterError(f"trials is {trials!r}; it must be a whole number from 1,000 on")
    if not isinstance(confidence, float) or not 0.5 < confidence < 1:
        raise ParameterError(f"confidence is {confidence!r}; it must lie between 0.5 and 1")
