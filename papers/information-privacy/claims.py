"""What the paper says about Figures 2 to 7, judged from our results."""

from __future__ import annotations

import math

from scipy.stats import t

from sottovoce.reproduce import Results, Row, Verdict

LDP, PUBLISHED, HALF_PUBLISHED = "ε-Opt-LDP", "ε-Opt-LIP as published", "ε/2-Opt-LIP as published"
LIP, HALF, SYMMETRIC = "ε-LIP, corrected", "ε/2-LIP, corrected", "ε/2-symmetric LIP"


def pairs(results: Results, one: str, other: str, panel: str) -> list[tuple[Row, Row]]:
    """Two series of one panel at the same ε."""
    return [pair for pair in results.pairs(one, other) if pair[0].panel == panel]


def gain(one: Row, other: Row) -> float:
    """How far the squared error of one lies below that of the other, in per cent."""
    return 100 * (1 - (one.value / other.value) ** 2)


def gains(results: Results, panel: str) -> dict[float, float]:
    """Of the corrected LIP over LDP, at each ε."""
    return {float(a.x): gain(a, b) for a, b in pairs(results, LIP, LDP, panel)}


def percent(value: float) -> str:
    """Small ones with enough digits."""
    return f"{value:.2g} %" if abs(value) < 1 else f"{value:.0f} %"


# --- Figure 2 --------------------------------------------------------------------------------

PRINTED, RIGHT = "as printed", "from the channels"


def optimised_beats_ldp(results: Results) -> Verdict:
    """The two unbiased estimates, from the printed formulas and from the channels."""
    rows = {float(a.x): (a, b) for a, b in pairs(results, "optimised LDP", "LDP", RIGHT)}
    better = [e for e, (a, b) in rows.items() if a.value < b.value]
    printed = {float(a.x): a.value < b.value
               for a, b in pairs(results, "optimised LDP", "LDP", PRINTED)}  # fmt: skip
    a, b = rows[1.0]
    return Verdict(
        "holds" if len(better) == len(rows) else "holds in part" if better else "does not hold",
        f"At ε = 1 the unbiased estimate with p = 1/2 has the error {a.value:.0f}, randomised "
        f"response {b.value:.0f}: for one yes/no question randomised response is the better one. "
        f"The printed formulas, with (p − q)² for (1 − p − q)², put p = 1/2 ahead at "
        f"{sum(printed.values())} of {len(printed)} values of ε.",
    )


def prior_in_the_channel(results: Results) -> Verdict:
    """What the channel adds once the estimate uses the prior."""
    rows = pairs(results, "LIP", "LDP, posterior means", RIGHT)
    less = {float(lip.x): 100 * (1 - lip.value / ldp.value) for lip, ldp in rows}
    lip, ldp = next(pair for pair in rows if pair[0].x == 1.0)
    response = results.get(RIGHT, 1.0, "LDP")
    printed = [results.get(PRINTED, 1.0, name) for name in ("LIP", "LDP")]
    p_lip, p_ldp, unbiased = (row.value if row else math.nan for row in (*printed, response))
    large = [value > 10 for value in less.values()]
    last = max(less)
    return Verdict(
        "holds" if all(large) else "holds in part" if any(large) else "does not hold",
        f"At ε = 1 the error falls from {unbiased:.1f} to {ldp.value:.2f} when randomised response "
        f"is estimated with the prior, and to {lip.value:.2f} when the channel uses it too: it is "
        f"the estimate that gains. For larger ε the channel matters ({percent(less[last])} at ε = "
        f"{last:g}). The printed error of LIP at ε = 1 is {p_lip:.1f}, above the printed one of "
        f"LDP ({p_ldp:.1f}), and grows with ε.",
    )


def reports_agree(results: Results) -> Verdict:
    """Errors of real reports against the formulas."""
    names = (("LDP", "LDP, from reports"), ("LIP", "LIP, from reports"))
    both = [pair for name in names for pair in pairs(results, *name, RIGHT)]
    return _agree(both, "squared errors from reports differ from (16) and (25)")


def _agree(both: list[tuple[Row, Row]], what: str) -> Verdict:
    """Exact and measured values: Student's t test of each, one in a thousand for all of them."""
    scores = [abs(measured.value - exact.value) / measured.std_error for exact, measured in both]
    limits = [t.isf(0.001 / 2 / len(both), measured.repeats - 1) for _, measured in both]
    fits = all(score < limit for score, limit in zip(scores, limits, strict=True))
    return Verdict(
        "holds" if fits else "does not hold",
        f"Over {len(both)} points, {what} by at most {max(scores):.1f} standard errors.",
    )


# --- Figure 5 --------------------------------------------------------------------------------

EVEN, SKEWED = "P₁ = 0.5", "P₁ = 0.99"


def prior_aware_estimator(results: Results) -> Verdict:
    """Randomised response, estimated with the prior and without."""
    rows = results.pairs(LDP, "context-free LDP")
    below = all(a.value < b.value for a, b in rows)
    spans = {
        panel: [100 * (1 - a.value / b.value)
                for a, b in pairs(results, LDP, "context-free LDP", panel)]
        for panel in (EVEN, SKEWED)
    }  # fmt: skip
    more = all(s > e for e, s in zip(spans[EVEN], spans[SKEWED], strict=True))
    return Verdict(
        "holds" if below and more else "holds in part" if below else "does not hold",
        f"The posterior mean lowers the error by {min(spans[EVEN]):.1f} to "
        f"{max(spans[EVEN]):.0f} % for P₁ = 0.5 and by {min(spans[SKEWED]):.0f} to "
        f"{max(spans[SKEWED]):.0f} % for P₁ = 0.99, if the prior is right.",
    )


def lip_beats_ldp(results: Results) -> Verdict:
    """The corrected optimum against randomised response at every point."""
    below = all(a.value < b.value for a, b in results.pairs(LIP, LDP))
    spans = []
    for panel in results.panels():
        values = gains(results, panel)
        low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
        spans.append(f"{percent(values[low])} (ε = {low:g}) to {percent(values[high])} "
                     f"(ε = {high:g}) for {panel}")  # fmt: skip
    return Verdict(
        "holds" if below else "does not hold",
        f"With the corrected optimum the squared error is lower by {'; '.join(spans)}. The promise "
        "is weaker, too: without the prior it is up to 2ε.",
    )


def gap_grows(results: Results) -> Verdict:
    """Gains for a skewed prior against those for an even one."""
    even, skewed = gains(results, EVEN), gains(results, SKEWED)
    wider = [e for e in even if skewed[e] > even[e]]
    one = min(even)
    return Verdict(
        "holds" if len(wider) == len(even) else "holds in part" if wider else "does not hold",
        f"At ε = {one:g} the corrected LIP gains {percent(even[one])} of the squared error for "
        f"P₁ = 0.5 and {percent(skewed[one])} for P₁ = 0.99; the gain is larger for P₁ = 0.99 only "
        f"from ε = {min(wider, default=math.inf):g} on. The published curve lies lower because its "
        "channel does not keep its promise there.",
    )


def channels_as_computed(results: Results) -> Verdict:
    """Errors of real reports against computed ones."""
    models = (LDP, PUBLISHED, LIP)
    both = [pair for model in models for pair in results.pairs(model, f"{model}, from reports")]
    return _agree(both, "errors measured from reports differ from the computed ones")


# --- Figure 6 --------------------------------------------------------------------------------

MIDDLE, RARE = "P₁ = 0.5", "P₁ = 0.01"


def symmetric_is_equal(results: Results) -> Verdict:
    """The symmetric channel against the general one."""
    even = pairs(results, SYMMETRIC, HALF, MIDDLE)
    rare = pairs(results, SYMMETRIC, HALF, RARE)
    equal = all(math.isclose(a.value, b.value, rel_tol=1e-9) for a, b in even)
    better = all(b.value < a.value for a, b in rare)
    most = max(gain(b, a) for a, b in rare)
    return Verdict(
        "holds" if equal and better else "holds in part",
        f"For P₁ = 0.5 the two are equal; for P₁ = 0.01 the squared error of the general one, "
        f"corrected, is lower by up to {percent(most)}.",
    )


def bounded(results: Results) -> Verdict:
    """Whether LDP lies between the two curves of LIP."""
    rows = pairs(results, LDP, LIP, MIDDLE)
    half = {row.x: row.value for row in results.line(MIDDLE, HALF)}
    inside = sum(lip.value <= ldp.value <= half[ldp.x] for ldp, lip in rows)
    return Verdict(
        "holds" if inside == len(rows) else "holds in part" if inside else "does not hold",
        f"It lies between the two at {inside} of {len(rows)} values of ε, and must: ε-LDP implies "
        "ε-LIP, and ε/2-LIP implies ε-LDP.",
    )


def half_beats_ldp(results: Results) -> Verdict:
    """Half of ε with LIP against all of it with LDP."""
    right = pairs(results, HALF, LDP, RARE)
    printed = pairs(results, HALF_PUBLISHED, LDP, RARE)
    better = [float(a.x) for a, b in right if a.value < b.value]
    claimed = [float(a.x) for a, b in printed if a.value < b.value]
    a, b = right[0]
    up_to = f"up to ε = {max(claimed):g}" if claimed else "nowhere"
    return Verdict(
        "holds in part" if better else "does not hold",
        f"ε/2-LIP implies ε-LDP and cannot be better than the best of these: at ε = {a.x:g} the "
        f"error is {a.value:.5f} against {b.value:.5f}. The published channel has the smaller "
        f"error {up_to} of our grid, but it is not ε/2-LIP there (see the true levels).",
    )


def more_for_rare(results: Results) -> Verdict:
    """Gains for a rare answer against those for an even prior."""
    even, rare = gains(results, MIDDLE), gains(results, RARE)
    wider = [e for e in even if rare[e] > even[e]]
    one = min(even, key=lambda e: abs(e - 1))
    return Verdict(
        "holds" if len(wider) == len(even) else "holds in part" if wider else "does not hold",
        f"The corrected LIP gains more for P₁ = 0.01 than for P₁ = 0.5 only from ε = "
        f"{min(wider, default=math.inf):g} on; at ε = {one:g} it gains {percent(rare[one])} of the "
        f"squared error, against {percent(even[one])}.",
    )


# --- Figure 7 and the tables -------------------------------------------------------------------


def always_better(results: Results) -> Verdict:
    """LIP against LDP for each number of people."""
    rows = results.pairs(LIP, LDP)
    below = all(a.value < b.value for a, b in rows)
    panel = results.panels()[-1]
    at = gains(results, panel)
    one = min(at, key=lambda e: abs(e - 1))
    return Verdict(
        "holds" if below else "does not hold",
        f"Also with the corrected optimum, for every N: its squared error is {percent(at[one])} "
        f"below that of LDP at ε = {one:g} ({panel}).",
    )


def almost_bounded(results: Results) -> Verdict:
    """Whether LDP lies between the two curves of LIP, for each number of people."""
    outside = {}
    for half, lip in ((HALF, LIP), (HALF_PUBLISHED, PUBLISHED)):
        above = {row.key[:2]: row.value for row in results if row.series == half}
        outside[half] = sum(not a.value <= b.value <= above[b.key[:2]] * (1 + 1e-9)
                            for a, b in results.pairs(lip, LDP))  # fmt: skip
    rows = len(results.pairs(LIP, LDP))
    return Verdict(
        "holds" if not outside[HALF] else "holds in part",
        f"With the corrected optimum it always lies between the two ({rows} points); with the "
        f"published formula it lies outside at {outside[HALF_PUBLISHED]} of them, on average over "
        "the draws.",
    )


def cross_over(results: Results) -> Verdict:
    """How many draws of five priors have a crossing."""
    rows = {series: results.get("Fig. 7, N = 5", "draws that cross", series)
            for series in ("by the published formula", "by the corrected one")}  # fmt: skip
    published, corrected = rows.values()
    if published is None or corrected is None:
        return Verdict("cannot be checked", "the draws were not measured")
    return Verdict(
        "holds" if corrected.value else "does not hold",
        f"By the published formula in {100 * published.value:.0f} % of the draws of 5 priors, "
        "because its channel does not keep the promise; by the corrected one in "
        f"{100 * corrected.value:.0f} %, as it must be.",
    )


def up_to_8_3(results: Results) -> Verdict:
    """Where the two curves really cross."""
    rows = [results.get("Fig. 6, P₁ = 0.01", "largest ε", series)
            for series in ("by the published formula", "by the corrected one")]  # fmt: skip
    published, corrected = rows
    if published is None or corrected is None:
        return Verdict("cannot be checked", "the curves were not measured")
    return Verdict(
        "does not hold" if not corrected.value else "holds in part",
        f"By the paper's own formulas the curves cross at ε = {published.value:.2f}; with the "
        "corrected optimum ε/2-LIP is nowhere better.",
    )


def is_lip(results: Results) -> Verdict:
    """Whether the published channel has the level that it promises."""
    rows = results.line("P₁ = 0.01", "Theorem 2: LIP level")
    wrong = [row for row in results if row.series == "Theorem 2: LIP level"
             and row.value > float(row.x) * (1 + 1e-9)]  # fmt: skip
    all_rows = [row for row in results if row.series == "Theorem 2: LIP level"]
    one = min(rows, key=lambda row: abs(float(row.x) - 1))
    return Verdict(
        "holds" if not wrong else "does not hold",
        f"It does where both answers have at least probability 1/(e^ε + 1). At the other "
        f"{len(wrong)} of our {len(all_rows)} points the true level is higher, such as "
        f"{one.value:.2f} instead of {one.x:g} for P₁ = 0.01.",
    )


def sandwiched(results: Results) -> Verdict:
    """Levels of the corrected channel, with the prior and without."""
    rows = [row for row in results if row.series == "corrected: LDP level"]
    fits = all(row.value <= 2 * float(row.x) * (1 + 1e-9) for row in rows)
    lip = [row for row in results if row.series == "corrected: LIP level"]
    fits = fits and all(row.value <= float(row.x) * (1 + 1e-9) for row in lip)
    most = max(row.value / float(row.x) for row in rows)
    return Verdict(
        "holds" if fits else "does not hold",
        f"The corrected channel has level ε with the prior and up to {most:.2f} ε without it.",
    )
