"""Does a randomiser keep its promise? An empirical lower bound on epsilon.

Reports are drawn for several answers. With 30 % of them the pair of answers and the event (a set of
reports) that distinguish them best are chosen; with the rest, drawn afresh for that pair, the
event's probabilities are bounded (`events`). Then, with the stated confidence,

    ε  ≥  ln( (P(event | x) − δ) / P(event | x') )

A bound above the promised ε is evidence, at that confidence, that the promise is broken. A bound
below it proves nothing: an audit can refute privacy, it cannot show it.

False alarms    α = 1 − confidence for the whole audit: of k findings, each is tested at α / k, so
                that a mechanism which keeps all its promises is accused with at most α. Choosing
                costs nothing, because the event is tested on other reports than it was chosen on.

Every level of a menu is audited at its own promise, under sampling, silence is examined as well as
reports; for records, both all answers together and single ones. It runs on any object with
`randomise(values)`, so other libraries can be audited too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from ..checks import checked_count, number
from ..errors import ParameterError
from ..promise import Promise
from .comparisons import Comparison, Inquiry, Outcomes, comparisons
from .events import Event, best_event, lower_bound, tally
from .finding import AuditError, Finding

__all__ = ["AuditError", "Finding", "audit"]

Note = Callable[[int], None]  # called with how many reports a batch has

_BATCH = 1 << 16
_CHOOSING = 0.15  # of the trials order outcomes, as many choose the event, the others test it


def audit(
    subject: Any,
    *,
    trials: int = 300_000,
    confidence: float = 0.999,
    inputs: Sequence[Any] | None = None,
    promise: Promise | None = None,
    outcomes: Callable[[Any, Any, Any], Outcomes] | None = None,
    allocation: Sequence[float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Try to refute every promise of a mechanism, of records or of a study.

    Parameters
    ----------
    subject : Collection, Study, or any object with ``randomise(values)``
        What to audit; for several collections, such as those of a study, the confidence is joint. A
        foreign object must also be given `inputs` and `promise`.
    trials : int
        People to draw reports of, for each finding: 30 % choose what to look at, 70 % test it. With
        the default, numbers at an epsilon 10 % above ε = ½ are noticed in over 95 % of audits.
    confidence : float
        Confidence of all bounds together. A subject that keeps its promises is accused with a
        probability of at most one minus this, by default 1 in 1,000.
    inputs : sequence, optional
        Answers to distinguish; by default up to four that are spread over the domain, for options
        none and as many as allowed, and for records some that differ in all attributes, or in one.
    promise : Promise, optional
        The promise to test; by default each of the subject's own, except those under a prior.
    outcomes : callable, optional
        ``outcomes(reports, x, y)`` turns reports into one number, text or row per person; by
        default what distinguishes the two answers for our mechanisms, and the report itself
        otherwise.
    allocation : sequence of float, optional
        For records: how everyone divides epsilon over the attributes; equally by default.
    progress : callable, optional
        ``progress(drawn, of)`` is called from time to time with how many reports were drawn.

    Returns
    -------
    list of Finding
        One per way to take part and promise; of many rates of a level three are examined.

    Raises
    ------
    AuditError
        When a lower bound exceeds what is promised; it carries all findings.

    Examples
    --------
    >>> import sottovoce as sv
    >>> finding, = sv.audit(sv.GRR(4, epsilon=1.0), trials=20_000, confidence=0.999999)
    >>> finding.broken
    False
    """
    checked_count(trials, "trials", 1000)
    between = "a number between 0.5 and 1"
    number(confidence, "confidence", between, lambda value: 0.5 < value < 1)
    inquiry = Inquiry(inputs, promise, outcomes, allocation)
    several = not hasattr(subject, "randomise") and isinstance(subject, Iterable)
    parts = subject if several else [subject]  # the collections of a study
    every = [one for part in parts for one in comparisons(part, inquiry)]
    drawn = 0

    def note(reports: int) -> None:
        nonlocal drawn
        drawn += reports
        if progress is not None:
            progress(drawn, trials * len(every))

    findings = [_examine(one, trials, confidence, len(every), note) for one in every]
    if any(finding.broken for finding in findings):
        raise AuditError(findings)
    return findings


def _examine(one: Comparison, trials: int, confidence: float, many: int, note: Note) -> Finding:
    alpha = (1 - confidence) / many
    n = int(trials * _CHOOSING) // len(one.answers)
    if n < 1:
        least = math.ceil(len(one.answers) / _CHOOSING)
        raise ParameterError(
            f"trials is {trials:,}, but {len(one.answers):,} inputs need at least {least:,}; draw "
            "more, or name fewer inputs"
        )
    ordering, choosing = (
        [list(_reports(one, answer, n, note)) for answer in one.answers] for _ in range(2)
    )

    def tallies(outcomes: Sequence[Any], i: int, j: int) -> tuple[dict[Any, int], dict[Any, int]]:
        x, y = one.answers[i], one.answers[j]
        here, there = (tally(one.outcomes(b, x, y) for b in outcomes[k]) for k in (i, j))
        return here, there

    best: list[tuple[float, int, int, Event]] = []
    for i, j in one.pairs:
        score, event = best_event(tallies(ordering, i, j), tallies(choosing, i, j), one.promise)
        best.append((score, i, j, event))
    _, i, j, event = max(best, key=itemgetter(0))
    x, y = one.answers[i], one.answers[j]
    rest = (trials - 2 * n * len(one.answers)) // 2
    hits = [
        event.hits(tally(one.outcomes(batch, x, y) for batch in _reports(one, answer, rest, note)))
        for answer in (x, y)
    ]
    a, b = np.array(hits[:1]), np.array(hits[1:])
    bound = lower_bound(a, b, np.array([rest, rest]), one.promise.delta, alpha)
    return Finding(
        epsilon=max(0.0, float(bound[0])),
        promise=one.promise,
        confidence=confidence,
        trials=trials,
        pair=(x, y),
        event=event.words(),
        seen=((hits[0], rest), (hits[1], rest)),
        choice=one.choice,
        question=one.question,
        comparisons=many,
    )


def _reports(one: Comparison, answer: Any, n: int, note: Note) -> Iterator[Any]:
    """n reports of one answer, in batches so that wide reports fit in memory."""
    for start in range(0, n, _BATCH):
        size = min(_BATCH, n - start)
        yield one.randomise(answer, size)
        note(size)
