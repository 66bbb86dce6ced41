"""What the paper says about split columns and about Example 1, judged by our results."""

from __future__ import annotations

from sottovoce.reproduce import Claim, Results, Verdict
from sottovoce.reproduce.compare import below, points, ratios, rows_at

from .columns import OURS

_STARTS = ("MM, equal start", "MM, random start")


def pbs_best(results: Results) -> Verdict:
    """PBS against MV and SAV."""
    total = len(points(results))
    worse = [p for p in points(results) if below(*rows_at(results, p, ("MV", "PBS")))]
    wins = sum(below(*rows_at(results, p, ("PBS", "MV"))) for p in points(results))
    text = _by_panel(results, "PBS", "MV")
    ours = ratios(results.pairs(OURS, "MV"))
    return Verdict(
        "does not hold" if worse else "holds" if wins == total else "cannot be checked",
        f"PBS has this many times the distance of MV: {text}. It is clearly worse at {len(worse)} "
        f"of {total} points: it divides by noisy marginals, which are near 0 or negative in sparse "
        f"tables. From the same sums pbs-gls, our default, has {ours[0]:.2f} to {ours[1]:.2f} "
        "times the distance of MV.",
    )


def _by_panel(results: Results, one: str, other: str) -> str:
    """The range of ratios of two series in each panel."""
    texts = []
    for panel in results.panels():
        low, high = ratios(pair for pair in results.pairs(one, other) if pair[0].panel == panel)
        texts.append(f"{panel} {low:.2f} to {high:.2f}")
    return "; ".join(texts)


def sav_worst(results: Results) -> Verdict:
    """SAV against MV."""
    pairs = results.pairs("SAV", "MV")
    low, high = ratios(pairs)
    clear = sum(below(mv, sav) for sav, mv in pairs)
    better = sum(below(sav, mv) for sav, mv in pairs)
    return Verdict(
        "does not hold" if better else "holds" if clear else "cannot be checked",
        f"SAV has {low:.1f} to {high:.1f} times the distance of MV, clearly more at {clear} of "
        f"{len(pairs)} points.",
    )


def sparser(results: Results) -> Verdict:
    """SAV relative to MV as parties are added."""
    ends, texts = [], []
    for panel in results.panels():
        pairs = [pair for pair in results.pairs("SAV", "MV") if pair[0].panel == panel]
        ends.append((pairs[0][0], pairs[-1][0]))
        text = ", ".join(f"{a.value:.2g} against {b.value:.2g} with {a.x:g}" for a, b in pairs)
        texts.append(f"{panel} {text} parties")
    grows = sum(below(first, last) for first, last in ends)
    return Verdict(
        "holds" if grows == len(ends) else "holds in part" if grows else "does not hold",
        f"Distance of SAV and of MV: {'; '.join(texts)}.",
    )


def printed_rates(results: Results) -> Verdict:
    """Example 1."""
    panel, x = "sampling rates", "ε = .1, .3, .5"
    one, two = (rows_at(results, (panel, x), [name])[0].value for name in ("p_1", "p_2"))
    sampled = rows_at(results, ("fraction of patients", x), ["SAH"])[0].value
    return Verdict(
        "does not hold",
        f"The formula gives {one:.3f} and {two:.3f}, and a result of {sampled:.3f}; the printed "
        "numbers are those of ε_k/ε_max, which is stretching. The point of the example, a result "
        "far from .333, is right.",
    )


def example_mixture(results: Results) -> Verdict:
    """MM on Example 1 without noise."""
    point = ("fraction of patients", "ε = .1, .3, .5")
    truth, sth, equal, random = (
        rows_at(results, point, [name])[0].value for name in ("truth", "STH", *_STARTS)
    )
    return Verdict(
        "does not hold",
        f"Without any noise MM finds {equal:.3f} from equal tables, as STH does ({sth:.3f}), and "
        f"{random:.3f} from random ones; the truth is {truth:.3f}.",
    )


EXAMPLE = (
    Claim("“p_1 ≈ 0.2, p_2 ≈ 0.6, p_3 = 1 … 48/180 ≈ 0.27.”", "Sec. 5.1, Example 1", printed_rates),
    Claim("The marginals of the original data can be “accurately” reconstructed from the "
          "stretched ones.", "Sec. 1.1 and 6.1, on Example 1", example_mixture),
)  # fmt: skip
FIGURE_2 = (
    Claim("“In all experiments, PBS can obtain the utility better than the others.”",
          "Sec. 7.3, Fig. 2", pbs_best),
    Claim("“The sampling-based method SAV performs even worse than the Minimum method MV.”",
          "Sec. 7.3, Fig. 2", sav_worst),
)  # fmt: skip
PARTIES_COLUMNS = (
    Claim("With the number K of parties the sampled data “becomes sparser”, which “will reduce the "
          "utility”.", "Sec. 5.2", sparser),
)  # fmt: skip
