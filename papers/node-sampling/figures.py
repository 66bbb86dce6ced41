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
        f"The distance of ĉ falls as π to the power {low:.2f} to {high:.2f}, depending on ε, while "
        "the number of reports grows as π.",
    )


def _no_drastic_difference(results: Results) -> Verdict:
    raw = _ratios(results, "ĉ", 0.1, 1.0)
    projected = _ratios(results, "ĉ, projected", 0.1, 1.0)
    lines = [
        (results.get(_tv_panel(e), 0.1, "ĉ"), results.get(_tv_panel(e), 1.0, "ĉ")) for e in raw
    ]
    spans = [f"{a.value:.3g} against {b.value:.3g} (ε = {e:g})"
             for e, (a, b) in zip(raw, lines, strict=True) if a is not None and b is not None]  # fmt: skip
    return Verdict(
        "holds" if max(raw.values()) < 1.5 else "does not hold",
        f"The distance at π = 0.1 is {min(raw.values()):.1f} to {max(raw.values()):.1f} times that "
        f"at π = 1: {', '.join(spans)}. After projection it is {min(projected.values()):.1f} to "
        f"{max(projected.values()):.1f} times. It can look small only where ε is so large that both "
        "are near 0.",
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
    gaps = [(g.value - c.value) / g.value for g, c in results.pairs("g", "ĉ")]
    other = [(c.value - h.value) / c.value for c, h in results.pairs("ĉ", "Hájek")]
    worse = sum(
        c.value - g.value > 3 * math.hypot(c.std_error, g.std_error)
        for g, c in results.pairs("g", "ĉ")
    )
    return (
        Verdict(
            "does not hold",
            f"With many values there is little between them: the distance of ĉ is "
            f"{100 * min(gaps):.1f} to {100 * max(gaps):.1f} % below that of g, that of Hájek's estimate "
            f"up to {100 * max(other):.1f} % below that of ĉ; g is nowhere better.",
        )
        if not worse
        else Verdict("holds in part", f"g has the lower distance at {worse} points.")
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
        Claim('"After a point, the TV distance doesn\'t decrease significantly compared to how much '
              'the communication cost increases."', "Sec. 6, Fig. 3", _levels_off),
        Claim('"Sampling each node with probability 0.1 and sampling every single node do not '
              'engender a drastic difference in the TV distance."', "Sec. 6, Fig. 3",
              _no_drastic_difference),
        Claim("g gives a better estimate than ĉ (Theorem 3.5, here by its distance).",
              "Sec. 3, Fig. 3", _ranked),
    ),
    differences=f"{NO_EPSILON} The paper does not say whether negative estimates were projected on "
    "the distributions; both are shown. We also measure π = 1, which Section 6 refers to.",
)  # fmt: skip


def _grows_as_pi(results: Results) -> Verdict:
    pairs = results.pairs("thousand reports", "nπ, in thousands")
    apart = [(row.value - line.value) / row.std_error for row, line in pairs if row.std_error]
    sizes = [1000 * size.value / (1000 * row.value)
             for size, row in results.pairs("kilobytes", "thousand reports")]  # fmt: skip
    fits = max(map(abs, apart), default=0.0) < 5
    return Verdict(
        "holds" if fits else "does not hold",
        f"The number of reports is nπ to within {max(map(abs, apart), default=0.0):.1f} standard "
        f"errors, and a report takes {min(sizes):.2f} to {max(sizes):.2f} bytes, so that traffic is "
        "proportional to π.",
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
    Axis("thousands (of reports, of bytes)"),
    repeats=20,
    fast_repeats=10,
    claims=(Claim("Communication cost is O(nπ).", "Fig. 3", _grows_as_pi),),
    differences="Bytes are those of the reports as this library writes them, in one file; reports "
    "that travel one by one also carry a header each.",
)  # fmt: skip

FIGURES = (_shape(1, "one"), _shape(2, "two"), DISTANCE, TRAFFIC)
