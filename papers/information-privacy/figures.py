"""Figures 2 and 5 to 7, and two tables on what they rest on."""

from __future__ import annotations

from sottovoce.reproduce import Axis, Claim, Figure, Job

from . import claims
from .errors import crossings, levels, own_priors, same_prior
from .reports import example

HALVES = tuple(k / 2 for k in range(1, 21))
ERROR = Axis("√(E/N), error per person", log=True)
EPSILON = Axis("ε")
NUMERICAL = (
    "Computed from the channels, as in the paper, with its Theorem 2 as published and with the "
    "optimum that keeps the promise."
)
#: Published curves dashed, corrected ones solid, in the same colour; reports as hollow circles.
_BLUE, _RED, _GREEN, _BLACK, _PURPLE = "#0072B2", "#D55E00", "#009E73", "black", "#CC79A7"


def _hollow(colour: str) -> dict[str, object]:
    edge = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.1}
    return {"color": colour, "linestyle": "none", "marker": "o", "markersize": 8} | edge


STYLES: dict[str, dict[str, object]] = {
    "context-free LDP": {"color": _PURPLE, "linestyle": ":", "marker": "v"},
    claims.LDP: {"color": _BLACK, "linestyle": "-", "marker": "X"},
    claims.PUBLISHED: {"color": _RED, "linestyle": "--", "marker": "s"},
    claims.HALF_PUBLISHED: {"color": _BLUE, "linestyle": "--", "marker": "^"},
    claims.SYMMETRIC: {"color": _GREEN, "linestyle": ":", "marker": "D"},
    claims.LIP: {"color": _RED, "linestyle": "-", "marker": "s"},
    claims.HALF: {"color": _BLUE, "linestyle": "-", "marker": "^"},
    f"{claims.LDP}, from reports": _hollow(_BLACK),
    f"{claims.PUBLISHED}, from reports": _hollow(_RED) | {"markersize": 11},
    f"{claims.LIP}, from reports": _hollow(_RED),
}

FIGURE_2 = Figure(
    "figure-2",
    "Example 1: expected squared error of the sum of 100 answers, P₁ = 0.1",
    tuple(
        Job(panel, epsilon,
            {"people": 100, "prior": 0.1, "epsilon": epsilon, "printed": panel == claims.PRINTED},
            people=100, fast=epsilon in (1.0, 2.0, 4.0))
        for panel in (claims.PRINTED, claims.RIGHT)
        for epsilon in HALVES[:10]
    ),
    example,
    EPSILON,
    Axis("expected squared error", log=True),
    repeats=2_000,
    fast_repeats=300,
    claims=(
        Claim("Optimised values p* ≠ q* have a smaller error than LDP.", "Sec. I, Fig. 2",
              claims.optimised_beats_ldp),
        Claim('"Considering prior in the perturbation mechanism significantly reduces the error."',
              "Fig. 2", claims.prior_in_the_channel),
        Claim("Errors by (16) and (25).", "Sec. IV and V", claims.reports_agree),
    ),
    styles={
        "LDP": {"color": _BLACK, "linestyle": "-", "marker": "X"},
        "optimised LDP": {"color": _PURPLE, "linestyle": ":", "marker": "v"},
        "LIP": {"color": _RED, "linestyle": "-", "marker": "s"},
        "LDP, posterior means": {"color": _BLUE, "linestyle": "-", "marker": "^"},
        "LDP, from reports": _hollow(_BLACK),
        "LIP, from reports": _hollow(_RED),
    },
    differences="The left panel has the formulas of Example 1. The right one has the exact errors "
    "of the unbiased estimate for randomised response and for p = 1/2, q = 1/(e^ε + 1), and of "
    "posterior means for randomised response and for the corrected LIP channel. Reports were made "
    "by the library's mechanisms, with answers drawn from the prior. The paper does not state the "
    "range of ε.",
)  # fmt: skip

FIGURE_5 = Figure(
    "figure-5",
    "Models that use the prior, and one that does not",
    tuple(
        Job(f"P₁ = {prior:g}", epsilon,
            {"prior": prior, "epsilon": epsilon, "reports": True,
             "models": ["context-free LDP", claims.LDP, claims.PUBLISHED, claims.LIP]},
            people=100_000, fast=epsilon in (1.0, 3.0, 5.0))
        for prior in (0.5, 0.99)
        for epsilon in HALVES[1:10]
    ),
    same_prior,
    EPSILON,
    ERROR,
    repeats=20,
    fast_repeats=5,
    claims=(
        Claim("ε-Opt-LDP has a smaller error than context-free LDP under any ε; the advantage is "
              "larger for a skewed prior.", "Sec. V-A-1, Fig. 5", claims.prior_aware_estimator),
        Claim('"The error of Opt-LIP is always smaller than that of Opt-LDP."',
              "Sec. V-A-1, Fig. 5", claims.lip_beats_ldp),
        Claim('"The gap between the two models increases when P₁ = 0.99."', "Sec. V-A-1, Fig. 5",
              claims.gap_grows),
        Claim('"The MSE calculated by simulation converges to the numerical results."', "Sec. V",
              claims.channels_as_computed),
    ),
    styles=STYLES,
    differences=f"{NUMERICAL} Hollow circles are measured with reports of 100,000 people.",
)  # fmt: skip

FIGURE_6 = Figure(
    "figure-6",
    "Prior-aware models with one prior for everyone",
    tuple(
        Job(f"P₁ = {prior:g}", epsilon,
            {"prior": prior, "epsilon": epsilon,
             "models": [claims.LDP, claims.PUBLISHED, claims.HALF_PUBLISHED, claims.SYMMETRIC,
                        claims.LIP, claims.HALF]})
        for prior in (0.5, 0.01)
        for epsilon in HALVES
    ),
    same_prior,
    EPSILON,
    ERROR,
    repeats=1,
    fast_repeats=1,
    claims=(
        Claim("ε/2-symmetric LIP and ε/2-Opt-LIP are equivalent for P₁ = 0.5; for P₁ = 0.01 the "
              "general model performs better.", "Sec. V-A-2, Fig. 6", claims.symmetric_is_equal),
        Claim('"The ε-Opt-LIP model results in smaller errors than the ε-Opt-LDP model under any '
              'priors and ε."', "Sec. V-A-2, Fig. 6", claims.lip_beats_ldp),
        Claim('"When P₁ = 0.01, the ε-Opt-LIP model performs even better."', "Sec. V-A-2, Fig. 6",
              claims.more_for_rare),
        Claim("The curve of ε-LDP lies between ε/2-Opt-LIP and ε-Opt-LIP for P₁ = 0.5.",
              "Sec. V-A-2, Fig. 6", claims.bounded),
        Claim('For P₁ = 0.01 and smaller ε, "ε/2-Opt-LIP provides both better utility and stronger '
              'privacy guarantee than ε-Opt-LDP."', "Sec. V-A-2, Fig. 6", claims.half_beats_ldp),
    ),
    styles=STYLES,
    differences=f"{NUMERICAL} ε = 0, where every error is √(P₁(1 − P₁)), is left out.",
)  # fmt: skip

_FOUR = [claims.LDP, claims.PUBLISHED, claims.HALF_PUBLISHED, claims.SYMMETRIC, claims.LIP,
         claims.HALF]  # fmt: skip
FIGURE_7 = Figure(
    "figure-7",
    "Everyone with a prior of their own, uniform in [0, 1]",
    tuple(
        Job(f"N = {people:,}", "all ε",
            {"people": people, "epsilons": list(HALVES), "models": _FOUR},
            people=people, repeats=repeats)
        for people, repeats in ((5, 400), (500, 100), (50_000, 10))
    ),
    own_priors,
    EPSILON,
    ERROR,
    repeats=10,
    fast_repeats=5,
    claims=(
        Claim("As N becomes larger, ε-Opt-LIP always provides higher utility than ε-Opt-LDP.",
              "Sec. V-A-3, Fig. 7", claims.always_better),
        Claim("The curve of ε-Opt-LDP is almost bounded between those of ε/2-Opt-LIP and "
              "ε-Opt-LIP.", "Sec. V-A-3, Fig. 7", claims.almost_bounded),
    ),
    styles=STYLES,
    differences=f"{NUMERICAL} The paper draws the priors once; we draw them 400, 100 and 10 times "
    "and show means with error bars.",
)  # fmt: skip

CROSSINGS = Figure(
    "crossings",
    "Where ε/2-LIP is said to be better than ε-LDP",
    (
        Job("Fig. 6, P₁ = 0.01", "largest ε", {"prior": 0.01}),
        *(
            Job(f"Fig. 7, N = {people:,}", "draws that cross",
                {"people": people, "epsilons": [k / 4 for k in range(1, 41)]}, people=people,
                repeats=repeats)
            for people, repeats in ((5, 400), (500, 20))
        ),
    ),
    crossings,
    Axis("value"),
    Axis("value"),
    repeats=20,
    fast_repeats=10,
    claims=(
        Claim('For P₁ = 0.01, ε/2-Opt-LIP performs better than ε-LDP for "ε ≤ 8.3".',
              "Sec. V-A-2, Fig. 6", claims.up_to_8_3),
        Claim("For N = 5 the curves of ε/2-Opt-LIP and ε-Opt-LDP cross over.",
              "Sec. V-A-3, Fig. 7", claims.cross_over),
    ),
    kind="table",
    differences="The first row is an ε, 0 where there is none. The others are fractions of the "
    "draws of N priors in which the curve of ε/2-LIP lies below that of ε-Opt-LDP at some ε from "
    "0.25 to 10.",
)  # fmt: skip

LEVELS = Figure(
    "true-levels",
    "What channels designed for ε really promise",
    tuple(
        Job(f"P₁ = {prior:g}", "all ε", {"prior": prior, "epsilons": list(HALVES)})
        for prior in (0.01, 0.1, 0.5)
    ),
    levels,
    EPSILON,
    Axis("true level"),
    repeats=1,
    fast_repeats=1,
    claims=(
        Claim("q₀ = P₁/e^ε, q₁ = (1 − P₁)/e^ε satisfies ε-LIP for every prior and ε.",
              "Theorem 2", claims.is_lip),
        Claim("ε-LIP is sandwiched between ε-LDP and 2ε-LDP.", "Theorem 1", claims.sandwiched),
    ),
    styles={
        "Theorem 2: LIP level": {"color": _RED, "linestyle": "--", "marker": "s"},
        "Theorem 2: LDP level": {"color": _BLACK, "linestyle": "--", "marker": "X"},
        "corrected: LIP level": {"color": _RED, "linestyle": "-", "marker": "s"},
        "corrected: LDP level": {"color": _BLACK, "linestyle": "-", "marker": "X"},
    },
    differences="Not a figure of the paper. The LIP level holds for someone with this prior, the "
    "LDP level for anyone.",
)  # fmt: skip

SYNTHETIC = (FIGURE_2, FIGURE_5, FIGURE_6, FIGURE_7)
