"""What the paper says about its experiments with split rows, judged by ours."""

from __future__ import annotations

from sottovoce.reproduce import Claim, Results, Verdict
from sottovoce.reproduce.compare import below, least, points, ratios, rows_at

from .rows import GUARDED, OURS, PUBLISHED, UNIFIED

MM = [series for series in PUBLISHED if series.startswith("MM")]
EQUAL, RANDOM, LOCAL = MM
OTHERS = [series for series in PUBLISHED if series not in MM]
_IID, _APART = "identically distributed", "not identically distributed"


def _panels(results: Results, apart: bool) -> list[str]:
    """The panels in which parties' rows differ, or those in which they do not."""
    return [panel for panel in results.panels() if (_APART in panel) is apart]


def always_best(results: Results) -> Verdict:
    """MM against the best of the other published methods, each time with its best start."""
    beaten, wins, far = 0, 0, 0.0
    for point in points(results):
        own, other = least(rows_at(results, point, MM)), least(rows_at(results, point, OTHERS))
        beaten += below(other, own)
        wins += below(own, other)
        equal = results.get(*point, EQUAL)
        far = max(far, (equal or own).value / other.value)
    low, high = ratios(results.pairs(OURS, EQUAL))
    return Verdict(
        "does not hold" if beaten else "holds in part",
        f"Even with the start that turns out best, another published method is clearly more "
        f"accurate at {beaten} of {len(points(results))} points, and MM at {wins}; from equal "
        f"tables its distance is up to {far:.0f} times that of the best other. Our default has "
        f"{low:.2f} to {high:.2f} times the distance of MM from equal tables.",
    )


def better_than_plain(results: Results) -> Verdict:
    """MM from equal tables against Independent and Product."""
    losses = {name: [point for point in points(results)
                     if below(*rows_at(results, point, (name, EQUAL)))]
              for name in ("Independent", "Product")}  # fmt: skip
    wins = {name: sum(below(*rows_at(results, point, (EQUAL, name))) for point in points(results))
            for name in losses}  # fmt: skip
    total = len(points(results))
    return Verdict(
        "does not hold" if not any(wins.values())
        else "holds in part" if any(losses.values()) else "holds",
        f"From equal tables MM is clearly better than Independent at {wins['Independent']} of "
        f"{total} points and clearly worse at {len(losses['Independent'])}; against Product "
        f"{wins['Product']} and {len(losses['Product'])}.",
    )  # fmt: skip


def same_where_alike(results: Results) -> Verdict:
    """MM and STH where the rows are divided at random."""
    pairs = [pair for pair in results.pairs(EQUAL, "STH") if _APART not in pair[0].panel]
    if not pairs:
        return Verdict("cannot be checked", "no such point was measured")
    gap = max(abs(a.value - b.value) for a, b in pairs)
    worse = ratios(p for p in results.pairs(RANDOM, "STH") if _APART not in p[0].panel)
    return Verdict(
        "holds" if gap < 1e-6 else "holds in part",
        f"From equal tables the two are the same estimate (at most {gap:.0e} apart). From random "
        f"tables MM has {worse[0]:.1f} to {worse[1]:.1f} times the distance of STH.",
    )


def better_where_different(results: Results) -> Verdict:
    """MM and STH where the parties' rows differ."""
    pairs = [pair for pair in results.pairs(EQUAL, "STH") if _APART in pair[0].panel]
    if not pairs:
        return Verdict("cannot be checked", "no such point was measured")
    gap = max(abs(a.value - b.value) for a, b in pairs)
    random = ratios(p for p in results.pairs(RANDOM, "STH") if _APART in p[0].panel)
    local = ratios(p for p in results.pairs(LOCAL, "STH") if _APART in p[0].panel)
    return Verdict(
        "does not hold" if gap < 1e-6 else "holds in part",
        f"From equal tables EM stops after one step at STH (at most {gap:.0e} apart); from random "
        f"tables the distance is {random[0]:.1f} to {random[1]:.1f} times that of STH. Only from "
        f"noisy local tables, for which half of every ε is spent, it differs in both directions: "
        f"{local[0]:.2f} to {local[1]:.2f} times.",
    )


def without_distortion(results: Results) -> Verdict:
    """The same points with and without differences between parties."""
    grown = []
    for row in results:
        twin = results.get(row.panel.replace(_APART, _IID), row.x, EQUAL)
        if row.series == EQUAL and _APART in row.panel and twin is not None:
            grown.append((row, twin))
    if not grown:
        return Verdict("cannot be checked", "no point was measured both ways")
    low, high = ratios(grown)
    distorted = sum(below(b, a) for a, b in grown)
    return Verdict(
        "does not hold" if distorted else "holds",
        f"From equal tables the distance is {low:.1f} to {high:.1f} times that with identically "
        f"distributed rows (clearly larger at {distorted} of {len(grown)} points). The likelihood "
        "depends on the local tables only through their weighted mean, so EM cannot separate them.",
    )


def close_to_unified(results: Results) -> Verdict:
    """Whether MM, STH and MH approach one ε for everyone as ε_min grows."""
    parts, approach, steps = [], 0, 0
    for name in (EQUAL, "STH", "MH"):
        ends = {}
        for panel in results.panels():
            line, goal = results.line(panel, name), results.line(panel, UNIFIED)
            if len(line) < 2:
                continue
            first, last = (r.value / g.value for r, g in ((line[0], goal[0]), (line[-1], goal[-1])))
            ends[panel] = (first, last)
            steps += 1
            approach += last < first
        if ends:
            low, high = min(e[1] for e in ends.values()), max(e[1] for e in ends.values())
            parts.append(f"{name} {low:.1f} to {high:.1f}")
    if not steps:
        return Verdict("cannot be checked", "only one value of ε_min was measured")
    return Verdict(
        "holds in part" if approach else "does not hold",
        f"The distance falls relative to ε = 1 for everyone in {approach} of {steps} comparisons "
        f"of a method and panel. At the largest ε_min it is still this many times as large: "
        f"{', '.join(parts)}; where rows differ, the bias of MM and STH stays.",
    )


def more_apparent(results: Results) -> Verdict:
    """Whether MM gains on the best other method as budgets differ more."""
    gains, losses, ends = 0, 0, []
    for panel in results.panels():
        xs = sorted({float(row.x) for row in results if row.panel == panel})
        if len(xs) < 2:
            continue
        first, last = (
            least(rows_at(results, (panel, x), [EQUAL])).value
            / least(rows_at(results, (panel, x), OTHERS)).value
            for x in (xs[0], xs[-1])
        )
        gains += first < last - 1e-9
        losses += first > last + 1e-9
        ends.append((first, last))
    if not ends:
        return Verdict("cannot be checked", "only one value of ε_min was measured")
    best = min(min(pair) for pair in ends)
    return Verdict(
        "does not hold" if best > 1 - 1e-6 else "holds in part",
        f"MM from equal tables is at best {best:.2f} times as far from the truth as the best other "
        f"method, so there is no superiority to grow; relative to it MM is closer at the smallest "
        f"ε_min than at the largest in {gains} of {len(ends)} panels.",
    )


def strict_parties(results: Results) -> Verdict:
    """MM as more rows belong to strict parties."""
    beaten = sum(below(least(rows_at(results, p, OTHERS)), least(rows_at(results, p, [EQUAL])))
                 for p in points(results))  # fmt: skip
    low, high = ratios(results.pairs(OURS, EQUAL))
    texts = []
    for panel in results.panels():
        line, plain = results.line(panel, EQUAL), results.line(panel, "MH")
        first, last = (line[k].value / plain[k].value for k in (0, -1))
        texts.append(f"{panel.partition(',')[0]} {first:.1f} and {last:.1f}")
    return Verdict(
        "does not hold" if beaten else "holds in part",
        f"MM from equal tables is clearly beaten by another published method at {beaten} of "
        f"{len(points(results))} points. Its distance relative to MH at the smallest and largest "
        f"f_min: {'; '.join(texts)}. Our default has {low:.2f} to {high:.2f} times the distance of "
        "MM.",
    )


def many_noises(results: Results) -> Verdict:
    """Independent relative to MH as parties are added."""
    pairs = results.pairs("Independent", "MH")
    few = [pair for pair in pairs if pair[0].x == min(row.x for row, _ in pairs)]
    many = [pair for pair in pairs if pair[0].x == max(row.x for row, _ in pairs)]
    first, last = ratios(few), ratios(many)
    mixture = ratios(results.pairs("Independent", EQUAL))
    return Verdict(
        "holds in part" if last[1] > 1 else "does not hold",
        f"The distance of Independent is {first[0]:.1f} to {first[1]:.1f} times that of MH with "
        f"{few[0][0].x:g} parties and {last[0]:.1f} to {last[1]:.1f} times with "
        f"{many[0][0].x:g}. Useless it is not: where rows differ it has {mixture[0]:.2f} to "
        f"{mixture[1]:.2f} times the distance of MM from equal tables.",
    )


def guarded(results: Results) -> Verdict:
    """What it costs that noise stays private from colluders."""
    low, high = ratios(results.pairs(GUARDED, OURS))
    return Verdict(
        "holds in part",
        "It does where nobody knows any part of the noise when it is drawn, which the paper leaves "
        "to a protocol that it cites. If parties add noise themselves and all but one may collude, "
        f"everyone must add all of it: our default then has {low:.1f} to {high:.1f} times the "
        "distance.",
    )


_TEXT = "Sec. 7.2, Fig. 1"
FIGURE_1 = (
    Claim("“MM can always obtain the utility better than the others in all experiments.”", _TEXT,
          always_best),
    Claim("“MM can obtain the utility better than Independent and Product.”", _TEXT,
          better_than_plain),
    Claim("“When the local datasets follow identically distributed, STH can obtain the utility as "
          "well as MM.”", _TEXT, same_where_alike),
    Claim("When they do not, “MM can obtain the utility better than STH.”", _TEXT,
          better_where_different),
    Claim("“MM can reconstruct the marginal distributions without distortion.”", _TEXT,
          without_distortion),
    Claim("As ε_min increases, MM, STH and MH are “progressively close to that of the strategy "
          "that injects noise … according to a unified privacy budget.”", _TEXT, close_to_unified),
    Claim("“With the increase in the difference between private preferences, the superiority of "
          "the MM becomes more apparent.”", _TEXT, more_apparent),
    Claim("Noise “cannot be violated even when there exist some (even K − 1) colluding parties.”",
          "Sec. 6.3", guarded),
)  # fmt: skip
FRACTIONS = (
    Claim("“MM can obtain the utility better than the others, and with the increase in f_min, the "
          "superiority of the MM becomes more apparent.”", "Sec. 7.2", strict_parties),
)  # fmt: skip
PARTIES_ROWS = (
    Claim("Adding “different noise levels to the local marginals” leads to “multiple noises, "
          "making the results useless”.", "Sec. 5.1", many_noises),
)  # fmt: skip
