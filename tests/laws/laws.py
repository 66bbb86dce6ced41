"""The laws, each a function that raises `LawBroken`. Nothing here is random.

A law takes a mechanism whose channel can be written down, as `tiny()` gives it. Everything is
computed in fractions; only what the library itself gives as floats is compared with a tolerance,
relative to its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce import Aggregate, Estimate, Mechanism, Reports
from sottovoce.contract.wire import encode
from sottovoce.errors import EstimateError
from sottovoce.mechanisms.pure import PureMechanism
from sottovoce.promise import LDP, LIP

from .entries import IDEALISED_PAIRS, answers, numeric

Law = Callable[[Mechanism], None]
TIGHT = 1e-9
ROUNDING = 1e-12


class LawBroken(AssertionError):  # noqa: N818, reads better where it is raised
    """A mechanism does not keep a law."""


def require(kept: bool, message: str) -> None:
    if not kept:
        raise LawBroken(message)


def power(epsilon: float) -> Fraction:
    """e^epsilon to 120 digits, rounded down by more than its error."""
    context = Context(prec=120)
    value = context.exp(Decimal(epsilon))
    return Fraction(value) * (1 - Fraction(1, 10**115))


def logarithm(ratio: Fraction) -> float:
    context = Context(prec=60)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return float(context.ln(quotient))


def each_report(mechanism: Mechanism) -> list[Reports]:
    everything = mechanism.every_report()
    return [everything[k : k + 1] for k in range(len(everything))]


def score(mechanism: Mechanism, report: Reports) -> list[Fraction]:
    """What one report adds to the estimate, through the real route, taken at its exact value."""
    values = estimated(mechanism, mechanism.aggregate(report)).values
    return [Fraction(float(value)) for value in values]


def estimated(mechanism: Mechanism, aggregate: Aggregate) -> Estimate:
    """The unbiased estimate, where another one is the default."""
    if "unbiased" not in mechanism.methods:
        return mechanism.estimate(aggregate)
    return mechanism.estimate(aggregate, method="unbiased")


def where_unbiased(law: Law) -> Law:
    """A law about the unbiased estimate; the last law is for mechanisms that have none."""

    @wraps(law)
    def kept(mechanism: Mechanism) -> None:
        if getattr(mechanism, "invertible", True):
            law(mechanism)

    return kept


def truth(mechanism: Mechanism) -> list[list[Fraction]]:
    """For each row of the channel, what the estimate should be if all people answer it."""
    rows = len(mechanism.channel().exact)
    if numeric(mechanism):
        low, high = Fraction(mechanism.domain.low), Fraction(mechanism.domain.high)
        return [[low + (high - low) * Fraction(i, rows - 1)] for i in range(rows)]
    return [[Fraction(x == v) for v in range(rows)] for x in range(rows)]


def frequencies(d: int) -> list[np.ndarray]:
    """A few sets of fixed data: everyone alike, uniform, skewed, with an empty value."""
    corner = np.eye(d)[0]
    skewed = np.arange(1, d + 1) ** 2.0
    hole = np.arange(d) * 1.0
    return [corner, np.full(d, 1 / d), skewed / skewed.sum(), hole / hole.sum()]


# --- privacy ------------------------------------------------------------------------------------


def rows_sum_to_one(mechanism: Mechanism) -> None:
    channel = mechanism.channel()
    require(len(channel.exact) == len(channel.inputs), "a row for every answer")
    if not numeric(mechanism):
        require(list(channel.inputs) == list(mechanism.domain.labels), "rows are the values")
    for row in channel.exact:
        require(len(row) == len(channel.outputs), "a cell for every report")
        require(all(isinstance(cell, Fraction) and cell >= 0 for cell in row), "probabilities")
        require(sum(row) == 1, f"a row sums to {float(sum(row))}")


def realised_ratio(mechanism: Mechanism) -> Fraction:
    columns = zip(*mechanism.channel().exact, strict=True)
    return max(max(column) / min(column) for column in columns)


def information_ratio(mechanism: Any) -> Fraction:
    """The largest P(y|x) / P(y) or P(y) / P(y|x) under any prior within what is known.

    P(y) is linear in the prior: its ends are found by giving what is free to the smallest, or to
    the largest, entries of the column.
    """
    low, high = ([Fraction(share) for share in side] for side in (known(mechanism)))
    worst = Fraction(1)
    for column in zip(*mechanism.channel().exact, strict=True):
        ends = []
        for order in (sorted, lambda cells, key: sorted(cells, key=key, reverse=True)):
            free, total = 1 - sum(low), sum(p * q for p, q in zip(low, column, strict=True))
            for x in order(range(len(column)), key=column.__getitem__):
                share = min(free, high[x] - low[x])
                free, total = free - share, total + share * column[x]
            ends.append(total)
        worst = max(worst, max(column) / ends[0], ends[1] / min(column))
    return worst


def known(mechanism: Any) -> tuple[list[Fraction], list[Fraction]]:
    """Bounds of the prior; a distribution that rounding kept from one is made one."""
    if mechanism.prior is None:
        return mechanism.prior_low, mechanism.prior_high
    shares = [Fraction(share) for share in mechanism.prior]
    return ([share / sum(shares) for share in shares],) * 2


RATIOS = {LDP: realised_ratio, LIP: information_ratio}


def epsilon_is_kept_and_tight(mechanism: Mechanism) -> None:
    """Every promise, each by its own notion of privacy."""
    promises = mechanism.guarantee.promises
    require(LDP in {promise.notion for promise in promises}, "nothing holds without a prior")
    for promise in promises:
        ratio, promised = RATIOS[promise.notion](mechanism), promise.epsilon
        require(ratio <= power(promised), f"more {promise.notion} is lost than promised")
        realised = logarithm(ratio)
        require(realised <= promised, f"realised {realised!r}, promised {promised!r}")
        require(promised - realised <= TIGHT, f"only {realised!r} of {promised!r} is used")
    if len(promises) == 1:
        require(mechanism.channel().epsilon() <= promises[0].epsilon, "the channel disagrees")


# --- reports ------------------------------------------------------------------------------------


def every_report_is_there_once(mechanism: Mechanism) -> None:
    outputs = mechanism.channel().outputs
    everything = mechanism.every_report()
    require(len(everything) == len(outputs), "one report per column of the channel")
    require(len(set(outputs)) == len(outputs), "outputs have different names")
    distinct = {report.to_bytes() for report in each_report(mechanism)}
    require(len(distinct) == len(outputs), "a report appears twice")


def support_has_p_and_q(mechanism: Mechanism) -> None:
    """In exact numbers: a report supports the truth with p, another value with q, pairs with s, t.

    This also ties the order of `every_report` to that of the channel's columns.
    """
    if not isinstance(mechanism, PureMechanism):
        return
    d = mechanism.domain.size
    (s, t), p, q = mechanism.pair, mechanism.p, mechanism.q
    support = [mechanism.aggregate(r).tables["support"].tolist() for r in each_report(mechanism)]
    for x, row in enumerate(mechanism.channel().exact):
        for u in range(d):
            one = sum(cell for cell, has in zip(row, support, strict=True) if has[u])
            require(one == (p if u == x else q), f"P(support {u} | {x}) is {float(one)}")
            for v in range(0 if mechanism.id in IDEALISED_PAIRS else u):
                both = sum(c for c, has in zip(row, support, strict=True) if has[u] and has[v])
                require(both == (s if x in (u, v) else t), f"P(support {u}, {v} | {x}) is wrong")


def decoding_inverts_encoding(mechanism: Mechanism, sizes: Sequence[int]) -> None:
    for n in sizes:
        reports = mechanism.randomise(answers(mechanism, n))
        counted = mechanism.aggregate(reports).n
        require(counted == n, f"{n} answers gave reports of {counted} people")
        same(reports, Reports.from_bytes(reports.to_bytes(), expect=mechanism))
        rows = len(reports)
        parts = [reports[: rows // 3], reports[rows // 3 : rows // 2], reports[rows // 2 :]]
        envelopes = [encode(part, more=k < 2) for k, part in enumerate(parts)]
        same(reports, Reports.from_bytes(b"".join(envelopes), expect=mechanism))


def parquet_inverts_too(mechanism: Mechanism, sizes: Sequence[int], folder: Path) -> None:
    for n in sizes:
        reports = mechanism.randomise(answers(mechanism, n))
        path = folder / f"{n}.parquet"
        reports.to_parquet(path)
        same(reports, Reports.from_parquet(path, expect=mechanism))


def same(a: Reports, b: Reports) -> None:
    heads = [(r.mechanism, r.digest, r.seeded, list(r.columns)) for r in (a, b)]
    require(heads[0] == heads[1], f"{heads[0]} became {heads[1]}")
    for name, column in a.columns.items():
        other = b.columns[name]
        require(column.dtype == other.dtype, f"{name}: {column.dtype} became {other.dtype}")
        require(np.array_equal(column, other), f"{name} changed")


# --- aggregates ---------------------------------------------------------------------------------


def merging_is_a_commutative_monoid(mechanism: Mechanism) -> None:
    everything = mechanism.every_report()
    cut = sorted([0, 1, len(everything) // 2, len(everything)])
    a, b, c = (mechanism.aggregate(everything[i:j]) for i, j in pairwise(cut))
    zero = mechanism.aggregate(everything[:0])
    whole = mechanism.aggregate(everything)
    require(zero.n == 0 and not any(t.any() for t in zero.tables.values()), "zero is empty")
    require(a + zero == a and zero + a == a, "zero is not neutral")
    require(a + b == b + a, "merging depends on the order")
    require((a + b) + c == a + (b + c), "merging depends on the grouping")
    require(a + b + c == whole, "parts do not merge to the whole")
    require(sum([a, b, c]) == whole, "sum() does not merge")


def stored_aggregates_come_back(mechanism: Mechanism) -> None:
    everything = mechanism.every_report()
    for reports in (everything, everything[:0], everything[:1]):
        aggregate = mechanism.aggregate(reports)
        back = Aggregate.from_bytes(aggregate.to_bytes(), expect=mechanism)
        require(back == aggregate, "an aggregate changed when it was stored")


# --- estimates ----------------------------------------------------------------------------------


@where_unbiased
def estimate_is_linear(mechanism: Mechanism) -> None:
    """The estimate of many reports is the mean of theirs; bias and covariance rest on it."""
    reports = each_report(mechanism)
    reports.append(reports[0])  # one more often than the others: balance would hide clipping
    scores = np.array([score(mechanism, report) for report in reports], float)
    whole = estimated(mechanism, mechanism.aggregate(Reports.concatenate(reports))).values
    close(whole, scores.mean(axis=0), np.abs(scores).max(), "the estimate is not linear")


@where_unbiased
def estimate_is_unbiased(mechanism: Mechanism) -> None:
    scores = [score(mechanism, report) for report in each_report(mechanism)]
    scale = max(abs(value) for values in scores for value in values)
    for row, true in zip(mechanism.channel().exact, truth(mechanism), strict=True):
        for v, value in enumerate(true):
            mean = sum(cell * values[v] for cell, values in zip(row, scores, strict=True))
            gap = abs(float(mean - value))
            require(gap <= ROUNDING * float(scale), f"E[f_{v}] is off by {gap}")


def covariance_given(mechanism: Mechanism) -> list[np.ndarray]:
    """Covariance matrix of one report's score for each answer, from the channel alone."""
    scores = [score(mechanism, report) for report in each_report(mechanism)]
    d = len(scores[0])
    matrices = []
    for row in mechanism.channel().exact:
        weighted = list(zip(row, scores, strict=True))
        mean = [sum(c * s[v] for c, s in weighted) for v in range(d)]
        matrix = np.zeros((d, d))
        for u in range(d):
            for v in range(u + 1):
                both = sum(c * s[u] * s[v] for c, s in weighted)
                matrix[u, v] = matrix[v, u] = float(both - mean[u] * mean[v])
        matrices.append(matrix)
    return matrices


@where_unbiased
def covariance_is_exact(mechanism: Mechanism) -> None:
    given = covariance_given(mechanism)
    if numeric(mechanism):
        span = mechanism.domain.high - mechanism.domain.low
        got = span**2 * mechanism.variance_at(np.linspace(0, 1, len(given)))
        expected = [float(matrix[0, 0]) for matrix in given]
        close(got, expected, max(*expected, 1e-3 * span**2), "variance differs from the channel's")
        return
    n, d = 1000, mechanism.domain.size
    for f in frequencies(d):
        expected = sum(share * matrix for share, matrix in zip(f, given, strict=True)) / n
        # Fractions are of size one, so a variance far below that may lose digits to subtraction.
        scale = max(np.abs(expected).max(), 1e-3 / n)
        close(mechanism.variance(f, n), np.diag(expected), scale, "variance differs")
        total = float(np.trace(expected))
        if isinstance(mechanism, PureMechanism) or np.ptp(f) == 0:
            close(mechanism.total_variance(n), total, d * scale, "total variance differs")
        if mechanism.id in IDEALISED_PAIRS:
            expected = np.diag(np.diag(expected))
        close(mechanism.covariance(f, n), expected, scale, "covariance differs from the channel's")


@where_unbiased
def estimate_plugs_its_values_in(mechanism: Mechanism) -> None:
    # Where people are sampled, as many report as are expected to.
    typical = getattr(mechanism, "typical_reports", mechanism.every_report)
    aggregate = mechanism.aggregate(typical())
    estimate = estimated(mechanism, aggregate)
    require(estimate.error_from == "plug-in" and not estimate.biased, "labels of the estimate")
    require(estimate.guarantee == mechanism.guarantee, "the estimate carries another guarantee")
    require(estimate.covariance is not None, "an unbiased estimate has a covariance")
    scale = np.abs(estimate.covariance).max()
    close(estimate.variance, np.diag(estimate.covariance), scale, "variance is not the diagonal")
    if not numeric(mechanism):
        expected = mechanism.covariance(estimate.values, aggregate.n)
        close(estimate.covariance, expected, scale, "covariance is not that of the plug-in values")


@where_unbiased
def errors_are_never_negative(mechanism: Mechanism) -> None:
    """Whatever the reports were, the plug-in variance has a root."""
    reports = each_report(mechanism)
    for some in (*reports, Reports.concatenate([reports[0], reports[-1], reports[-1]])):
        with np.errstate(invalid="ignore"):  # the root is what is judged here
            variance = estimated(mechanism, mechanism.aggregate(some)).variance
        require(bool((variance >= 0).all()), f"a variance of {variance.min()}")


def unbiased_is_refused_where_it_cannot_be(mechanism: Mechanism) -> None:
    """Where rows of the channel depend on each other, no estimate claims to be unbiased."""
    matrix = mechanism.channel().matrix
    if isinstance(mechanism, PureMechanism) or getattr(mechanism, "invertible", True):
        require(np.linalg.matrix_rank(matrix, tol=1e-12) == len(matrix), "it cannot be inverted")
        return
    require(np.linalg.matrix_rank(matrix, tol=1e-6) < len(matrix), "it could be inverted")
    require(all(method.biased for method in mechanism.methods.values()), "a method claims it")
    aggregate = mechanism.aggregate(mechanism.every_report())
    require(mechanism.estimate(aggregate).biased, "the default claims it")
    try:
        mechanism.estimate(aggregate, method="unbiased")
    except EstimateError as error:
        require("same reports" in str(error), "it does not say why")
    else:
        require(False, "an unbiased estimate was given")


def close(given: Any, expected: Any, scale: float, message: str) -> None:
    gap = float(np.abs(np.asarray(given) - np.asarray(expected)).max())
    require(gap <= ROUNDING * scale, f"{message}: off by {gap} at a size of {scale}")


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        rows_sum_to_one,
        epsilon_is_kept_and_tight,
        every_report_is_there_once,
        support_has_p_and_q,
        merging_is_a_commutative_monoid,
        stored_aggregates_come_back,
        estimate_is_linear,
        estimate_is_unbiased,
        covariance_is_exact,
        estimate_plugs_its_values_in,
        errors_are_never_negative,
        unbiased_is_refused_where_it_cannot_be,
    )
}
