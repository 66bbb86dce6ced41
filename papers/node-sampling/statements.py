"""Theorems 2.1 to 5.1 as tables and figures of their own, with our verdicts."""

from __future__ import annotations

import math

from sottovoce.reproduce import Axis, Claim, Figure, Job, Results, Row, Verdict

from .theorems import bias, normalised, ranking

ONE_RATE = "everyone π = 0.1"
ALIKE = "π = 0.2 or 0.6, towns alike"
APART = "π = 0.2 or 0.6, towns differ"
_SEVERAL = ["T", "Hájek", "Horvitz–Thompson", "post-stratified"]
_SETTINGS = {
    ONE_RATE: {
        "values": 4, "epsilon": 1.0, "methods": ["c", "g", "ĉ", "Hájek"],
        "towns": [{"rate": 0.1, "people": 20_000, "holders": 6_000}],
    },
    ALIKE: {
        "values": 4, "epsilon": 1.0, "methods": _SEVERAL,
        "towns": [{"rate": 0.2, "people": 10_000, "holders": 3_000},
                  {"rate": 0.6, "people": 10_000, "holders": 3_000}],
    },
    APART: {
        "values": 4, "epsilon": 1.0, "methods": _SEVERAL,
        "towns": [{"rate": 0.2, "people": 10_000, "holders": 5_400},
                  {"rate": 0.6, "people": 10_000, "holders": 600}],
    },
}  # fmt: skip
_BIAS = "estimate / truth"
_CLEAR = 5.0  # standard errors


def _off(row: Row) -> float:
    """Standard errors from 1."""
    return abs(row.value - 1) / row.std_error


def _means(rows: list[Row]) -> str:
    return ", ".join(f"{row.x} {row.value:.3f} ± {row.std_error:.3f}" for row in rows)


def _rows(results: Results, panel: str, names: tuple[str, ...]) -> list[Row]:
    rows = [results.get(panel, name, _BIAS) for name in names]
    return [row for row in rows if row is not None]


def _c_is_biased(results: Results) -> Verdict:
    (row,) = _rows(results, ONE_RATE, ("c",))
    return Verdict(
        "holds" if _off(row) > _CLEAR else "does not hold",
        f"On average c is {row.value:.3f} ± {row.std_error:.3f} times the truth.".replace("-", "−"),
    )


def _unbiased(results: Results) -> Verdict:
    rows = _rows(results, ONE_RATE, ("g", "ĉ", "Hájek"))
    fits = all(_off(row) < _CLEAR for row in rows)
    return Verdict("holds" if fits else "does not hold", f"Estimate over truth: {_means(rows)}.")


def _t_is_unbiased(results: Results) -> Verdict:
    names = ("T", "post-stratified")
    alike, apart = _rows(results, ALIKE, names), _rows(results, APART, names)
    independent, dependent = _off(alike[0]) < _CLEAR, _off(apart[0]) < _CLEAR
    outcome = "holds" if dependent else "holds in part" if independent else "does not hold"
    return Verdict(
        outcome,
        f"Only where rates are independent of answers ({_means(alike)}). Where the town that "
        f"reports less often has more holders: {_means(apart)}.",
    )


BIAS = Figure(
    "bias",
    "Theorems 2.1, 3.1, 3.4 and 5.1: mean of the estimates",
    tuple(
        Job(panel, "all estimators", setting, people=20_000)
        for panel, setting in _SETTINGS.items()
    ),
    bias,
    Axis("estimator"),
    Axis("estimated / true number of holders"),
    repeats=1_600,
    fast_repeats=100,
    kind="points",
    claims=(
        Claim("Under sampling c is a biased estimator.", "Theorem 2.1", _c_is_biased),
        Claim("g and ĉ are unbiased.", "Theorems 3.1 and 3.4", _unbiased),
        Claim("T is unbiased for any sampling probabilities.", "Theorem 5.1", _t_is_unbiased),
    ),
    differences="An experiment of ours, which the paper does not have: d = 4, ε = 1, 6,000 holders "
    "among 20,000 people. Two towns of 10,000 people have different rates; they are alike "
    "(3,000 holders each) or differ (5,400 and 600).",
)  # fmt: skip


def _ratio(one: Row, other: Row) -> float:
    return one.value / other.value


def _g_is_better(results: Results) -> Verdict:
    pairs = results.pairs("ĉ", "g")
    clear = [(c, g) for c, g in pairs
             if abs(c.value - g.value) > 3 * math.hypot(c.std_error, g.std_error)]  # fmt: skip
    against = sum(c.value < g.value for c, g in clear)
    lowest = min((_ratio(c, g), c) for c, g in pairs)
    c, g = next(pair for pair in pairs if pair[0] is lowest[1])
    outcome = "does not hold" if against == len(clear) and against else "holds in part"
    hajek = results.get(c.panel, c.x, "Hájek")
    best = f", and {hajek.value:,.0f} ± {hajek.std_error:,.0f} for Hájek's" if hajek else ""
    return Verdict(
        outcome,
        f"At {against} of the {len(clear)} points where the two clearly differ, ĉ has the smaller "
        f"variance. At {c.panel}, f = {c.x:g} it is {c.value:,.0f} ± {c.std_error:,.0f} against "
        f"{g.value:,.0f} ± {g.std_error:,.0f} for g{best}.",
    )


def _printed_variance(results: Results) -> Verdict:
    pairs = results.pairs("g", "g as published")
    scores = [(row.value - printed.value) / row.std_error for row, printed in pairs]
    at_zero = [z for z, (row, _) in zip(scores, pairs, strict=True) if row.x == 0]
    elsewhere = [z for z, (row, _) in zip(scores, pairs, strict=True) if row.x != 0]
    limit = max(map(abs, at_zero)) < _CLEAR
    wrong = sum(elsewhere) > 3 * math.sqrt(len(elsewhere))
    row, printed = min(pairs, key=lambda pair: _ratio(pair[1], pair[0]))
    return Verdict(
        "holds in part" if limit and wrong else "holds" if limit else "does not hold",
        f"The limit for f → 0 agrees with the measured variance. For holders the printed variance "
        f"omits n f(1−f)(1−π)/π: it is {printed.value:,.0f}, measured {row.value:,.0f} ± "
        f"{row.std_error:,.0f} ({row.panel}, f = {row.x:g}).",
    )


_SHORT = ((4, 0.1, 0.0), (4, 0.1, 0.8), (100, 0.1, 0.1), (100, 0.1, 0.2))
_RANKING = {"d = 4, ε = 1, π = 0.1": (4, 1.0, 0.1), "d = 4, ε = 1, π = 0.5": (4, 1.0, 0.5),
            "d = 100, ε = 4, π = 0.1": (100, 4.0, 0.1)}  # fmt: skip
RANKING = Figure(
    "ranking",
    "Theorems 3.2 and 3.5: variance of the estimated number of holders",
    tuple(
        Job(panel, f, {"values": d, "epsilon": epsilon, "rate": rate, "people": 5_000, "f": f},
            people=5_000, fast=(d, rate, f) in _SHORT)
        for panel, (d, epsilon, rate) in _RANKING.items()
        for f in (0.0, 0.1, 0.2, 0.4, 0.6, 0.8)
    ),
    ranking,
    Axis("fraction f of holders"),
    Axis("variance, in people²"),
    repeats=4_000,
    fast_repeats=500,
    claims=(
        Claim("Var(ĉ) ≥ Var(g), so that g is the better estimate.", "Theorem 3.5", _g_is_better),
        Claim("The variance of g.", "Theorem 3.2 and its proof", _printed_variance),
    ),
    styles={
        "g as published": {"color": "#0072B2", "marker": "", "linestyle": ":"},
        "ĉ as published": {"color": "#D55E00", "marker": "", "linestyle": ":"},
    },
    differences="An experiment of ours, which the paper does not have. Hájek's estimate divides by "
    "the number of reports that came instead of the expected one; it is our default.",
)  # fmt: skip


def _cubed(results: Results) -> Verdict:
    (panel,) = results.panels()
    rows = results.line(panel, "g, measured")
    first, last = rows[0], rows[-1]
    power = math.log(first.value / last.value) / math.log(float(first.x) / float(last.x))
    printed = results.get(panel, first.x, "Theorem 3.3")
    error = math.hypot(first.std_error / first.value, last.std_error / last.value)
    error /= abs(math.log(float(first.x) / float(last.x)))
    far = abs(power + 3) > _CLEAR * error
    times = printed.value / first.value if printed is not None else math.nan
    return Verdict(
        "does not hold" if far else "holds",
        f"From π = {first.x:g} to {last.x:g} the variance of g/n falls as 1/π to the power "
        f"{-power:.2f} ± {error:.2f}. At π = {first.x:g} the published quantity is {times:,.0f} "
        "times as large: g already estimates a number among all people, and π is divided out twice "
        "more.",
    )


NORMALISED = Figure(
    "normalised-variance",
    "Theorems 3.2 and 3.3: variance of g on the scale of fractions, times n",
    tuple(
        Job("d = 100, ε = 2, f = 0", rate,
            {"values": 100, "epsilon": 2.0, "rate": rate, "people": 5_000},
            people=5_000, fast=rate in (0.05, 0.2, 1.0))
        for rate in (0.05, 0.1, 0.2, 0.5, 1.0)
    ),
    normalised,
    Axis("sampling probability π", log=True),
    Axis("n · variance of the fraction", log=True),
    repeats=2_000,
    fast_repeats=400,
    claims=(
        Claim("The normalised variance of g is O(1/(π³n)) and blows up for small π.",
              "Theorem 3.3", _cubed),
    ),
    differences="An experiment of ours, which the paper does not have.",
)  # fmt: skip

STATEMENTS = (BIAS, RANKING, NORMALISED)
