"""Figures 1 to 3: their points, and what the paper says about them."""

from __future__ import annotations

import math

from sottovoce.reproduce import Axis, Claim, Figure, Job, Results, Verdict

from .answers import PEOPLE
from .rates import measure as measure_distance
from .rates import traffic
from .shapes import measure as measure_shape

LAWS = {"one": "Binomial(100, 0.5)", "two": "Binomial(50, 0.6) + Binomial(50, 0.4)"}
EPSILONS = (1.0, 2.0, 4.0, 6.0)
RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NO_EPSILON = "The paper gives no ε and shows no numbers, so that we show several values of ε."


#: The data as a line, single runs as points, and errors as thin lines.
_LOOKS = {
    "original data": {"color": "black", "marker": "", "linewidth": 2.2, "linestyle": "-"},
    "g, one run": {"color": "#D55E00", "linestyle": "none", "marker": "s", "markersize": 4.5},
    "our default, one run": {"color": "#0072B2", "linestyle": "none", "marker": "o"},
    "mean error of g": {"color": "#D55E00", "marker": "", "linestyle": "--", "capsize": 0},
    "mean error of our default": {"color": "#0072B2", "marker": "", "linestyle": "-", "capsize": 0},
}
#: Three estimators nearly coincide; hollow signs of different sizes keep all of them visible.
_NESTED = {
    "g": {"marker": "o", "markersize": 10, "markerfacecolor": "none", "linestyle": "none",
          "markeredgecolor": "#0072B2", "markeredgewidth": 1.2},
    "ĉ": {"marker": "s", "markersize": 5.5, "markerfacecolor": "none", "linestyle": "-",
          "markeredgecolor": "#D55E00", "markeredgewidth": 1.2},
    "Hájek": {"marker": "x", "markersize": 4, "linestyle": "none", "markeredgecolor": "#009E73",
              "markeredgewidth": 1.2},
}  # fmt: skip


def _shape_panel(epsilon: float, rate: float) -> str:
    return f"ε = {epsilon:g}, π = {rate:g}"


def _closer(results: Results) -> Verdict:
    """Mean errors at π = 0.9 against π = 0.1, in total over the values shown."""
    totals = {}
    for epsilon in (2.0, 4.0):
        for rate in (0.1, 0.9):
            rows = results.line(_shape_panel(epsilon, rate), "mean error of g")
            error = math.sqrt(sum(row.std_error**2 for row in rows))
            totals[epsilon, rate] = sum(row.value for row in rows), error
    better = []
    for epsilon in (2.0, 4.0):
        (low, low_error), (high, high_error) = totals[epsilon, 0.1], totals[epsilon, 0.9]
        # Errors of values in one run are dependent: allow their sum instead of the root of squares.
        better.append(low - high > 6 * (low_error + high_error))
    said = "; ".join(
        f"at ε = {epsilon:g} the absolute errors over the values shown add up to "
        f"{totals[epsilon, 0.1][0]:.2f} for π = 0.1 and {totals[epsilon, 0.9][0]:.2f} for π = 0.9"
        for epsilon in (2.0, 4.0)
    )
    return Verdict("holds" if all(better) else "does not hold", said[0].upper() + said[1:] + ".")


def _shape(number: int, law: str) -> Figure:
    differences = (
        f"{NO_EPSILON} Our default is Hájek's estimate, projected on the distributions; g is as it "
        "comes. Single runs are the first of the repeats. The errors are absolute errors of the "
        "fraction of each value, on average over the runs."
    )
    if law == "two":
        differences += (
            " We read the sum of two laws as the law of a sum: a mixture of the two would have 51 "
            "values instead of the paper's 100."
        )
    return Figure(
        f"figure-{number}",
        f"Estimated distribution of {LAWS[law]} values",
        tuple(
            Job(_shape_panel(epsilon, rate), "all values",
                {"law": law, "epsilon": epsilon, "rate": rate}, people=PEOPLE)
            for epsilon in (2.0, 4.0)
            for rate in (0.1, 0.9)
        ),
        measure_shape,
        Axis("value"),
        Axis("fraction of people"),
        repeats=100,
        fast_repeats=20,
        claims=(
            Claim(
                '"As we increase π, the estimation by g approximates the original distribution '
                'better."',
                f"Sec. 4, Fig. {number}",
                _closer,
            ),
        ),
        differences=differences,
        styles=_LOOKS,
    )  # fmt: skip


def _tv_panel(epsilon: float) -> str:
    return f"ε = {epsilon:g}"


def _slope(results: Results, panel: str, series: str) -> float:
    """Of log distance over log rate, by least squares: −1/2 for the law of large numbers."""
    rows = results.line(panel, series)
    x = [math.log(float(row.x)) for row in rows]
    y = [math.log(row.value) for row in rows]
    middle, level = sum(x) / len(x), sum(y) / len(y)
    return sum((a - middle) * (b - level) for a, b in zip(x, y, strict=True)) / sum(
        (a - middle) ** 2 for a in x
    )


def _ratios(results: Results, series: str, low: float, high: float) -> dict[float, float]:
    """How much larger the distance is at the lower rate, for each ε."""
    ratios = {}
    for epsilon in EPSILONS:
        one = results.get(_tv_panel(epsilon), low, series)
        other = results.get(_tv_panel(epsilon), high, series)
        if one is not None and other is not None:
            ratios[epsilon] = one.value / other.value
    return ratios


def _trade_off(results: Results) -> Verdict:
    slopes = {epsilon: _slope(results, _tv_panel(epsilon), "ĉ") for epsilon in EPSILONS}
    falling = all(slope < -0.4 for slope in slopes.values())
    low, high = min(slopes.values()), max(slopes.values())
    return Verdict(
        "holds" if falling else "does not hold",
        f"The distance of ĉ falls as 1/π to the power {-high:.2f} to {-low:.2f}, depending on ε, "
        "while the number of reports grows as π.",
    )


def _no_drastic_difference(results: Results) -> Verdict:
    raw = _ratios(results, "ĉ", 0.1, 1.0)
    projected = _ratios(results, "Hájek, projected", 0.1, 1.0)
    spans = []
    for epsilon in raw:
        low, high = (results.get(_tv_panel(epsilon), rate, "ĉ") for rate in (0.1, 1.0))
        if low is not None and high is not None:
            spans.append(f"{low.value:.3g} against {high.value:.3g} (ε = {epsilon:g})")
    return Verdict(
        "holds" if max(raw.values()) < 1.5 else "does not hold",
        f"The distance at π = 0.1 is {min(raw.values()):.1f} to {max(raw.values()):.1f} times that "
        f"at π = 1: {', '.join(spans)}. With Hájek's estimate projected on the distributions it is "
        f"{min(projected.values()):.1f} to {max(projected.values()):.1f} times.",
    )


def _levels_off(results: Results) -> Verdict:
    """Diminishing returns are real; a point after which nothing is gained is not."""
    early, late = _ratios(results, "ĉ", 0.1, 0.5), _ratios(results, "ĉ", 0.5, 1.0)
    diminishing = all(early[e] > late[e] for e in early)
    flat = all(ratio < 1.1 for ratio in late.values())
    outcome = "holds in part" if diminishing and not flat else "holds" if flat else "does not hold"
    saved = [100 * (1 - 1 / ratio) for ratio in late.values()]
    return Verdict(
        outcome,
        f"Gains diminish, but no point stands out: doubling the cost from π = 0.5 to 1 still "
        f"lowers the distance by {min(saved):.0f} to {max(saved):.0f} %, as 1/√π does "
        "(29 %) at every π.",
    )


def _ranked(results: Results) -> Verdict:
    """Of the raw estimates: ĉ and Hájek against g."""
    pairs = results.pairs("g", "ĉ")
    better = sum(c.value - g.value > 3 * math.hypot(c.std_error, g.std_error) for g, c in pairs)
    if better:
        return Verdict("holds in part", f"g has the lower distance at {better} points.")
    gaps = [100 * (1 - c.value / g.value) for g, c in pairs]
    other = [100 * (1 - h.value / g.value) for g, h in results.pairs("g", "Hájek")]
    return Verdict(
        "does not hold",
        f"g is nowhere better. With 101 values there is little between them: the distance of ĉ is "
        f"up to {max(gaps):.1f} % below that of g, that of Hájek's estimate up to "
        f"{max(other):.1f} %.",
    )


DISTANCE = Figure(
    "figure-3a",
    "Total variation distance against the sampling probability, Binomial(100, 0.5)",
    tuple(
        Job(_tv_panel(epsilon), rate, {"epsilon": epsilon, "rate": rate}, people=PEOPLE,
            fast=rate in (0.1, 0.5, 1.0))
        for epsilon in EPSILONS
        for rate in RATES
    ),
    measure_distance,
    Axis("sampling probability π", log=True),
    Axis("total variation distance", log=True),
    repeats=100,
    fast_repeats=20,
    claims=(
        Claim('"We can see a clear trade-off between the communication cost and the TV distance."',
              "Sec. 4, Fig. 3", _trade_off),
        Claim('"After a point, the TV distance doesn\'t decrease significantly compared to how '
              'much the communication cost increases."', "Sec. 6, Fig. 3", _levels_off),
        Claim('"Sampling each node with probability 0.1 and sampling every single node do not '
              'engender a drastic difference in the TV distance."', "Sec. 6, Fig. 3",
              _no_drastic_difference),
        Claim("g gives a better estimate than ĉ (Theorem 3.5, here by its distance).",
              "Sec. 3, Fig. 3", _ranked),
    ),
    styles=_NESTED,
    differences=f"{NO_EPSILON} The paper does not say whether negative estimates were projected on "
    "the distributions; we show raw estimates and, for Hájek's, the projection. We also measure "
    "π = 1, which Section 6 refers to.",
)  # fmt: skip


def _grows_as_pi(results: Results) -> Verdict:
    pairs = results.pairs("reports sent", "nπ")
    off = max((abs(row.value - line.value) / row.std_error for row, line in pairs if row.std_error),
              default=0.0)  # fmt: skip
    return Verdict(
        "holds" if off < 5 else "does not hold",
        f"The mean number of reports differs from nπ by at most {off:.1f} standard errors, and "
        "every report has a payload of one byte.",
    )


TRAFFIC = Figure(
    "figure-3b",
    "Communication against the sampling probability",
    tuple(
        Job("Binomial(100, 0.5), ε = 4", rate, {"epsilon": 4.0, "rate": rate}, people=PEOPLE,
            fast=rate in (0.1, 0.5, 1.0))
        for rate in RATES
    ),
    traffic,
    Axis("sampling probability π"),
    Axis("reports sent, thousands (1 byte each)"),
    repeats=20,
    fast_repeats=10,
    claims=(Claim("Communication cost is O(nπ).", "Fig. 3", _grows_as_pi),),
    styles={"nπ": {"color": "black", "marker": "", "linestyle": ":", "zorder": 1}},
    differences="Bytes are those of the payload; reports that travel one by one also carry a "
    "header each.",
)  # fmt: skip

FIGURES = (_shape(1, "one"), _shape(2, "two"), DISTANCE, TRAFFIC)
