"""Time against the number of people: every mechanism, both sides, one plot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.mechanisms.numeric import NumericMechanism

from .machine import EPSILON, Effort, best, number, table
from .ours import answers

D = 1024
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
SIDES = ("randomise", "aggregate")
# Okabe and Ito's colours, distinguishable by the colour-blind, and a marker each as well.
LOOKS: dict[Any, tuple[str, str]] = {
    sv.GRR: ("#000000", "o"),
    sv.OUE: ("#E69F00", "s"),
    sv.SUE: ("#56B4E9", "^"),
    sv.SubsetSelection: ("#009E73", "D"),
    sv.OLH: ("#D55E00", "v"),
    sv.HadamardResponse: ("#0072B2", "P"),
    sv.ProjectiveGeometryResponse: ("#A6761D", "p"),
    sv.Duchi: ("#CC79A7", "<"),
    sv.Piecewise: ("#8C6D00", ">"),
    sv.Hybrid: ("#777777", "X"),
}


@dataclass(frozen=True)
class Line:
    """Times of one mechanism's one side."""

    kind: type[sv.Mechanism]
    side: str
    n: np.ndarray
    seconds: np.ndarray

    @property
    def exponent(self) -> float:
        """b of the fit seconds = a n^b over the three largest n: 1 is linear."""
        slope, _ = np.polyfit(np.log(self.n[-3:]), np.log(self.seconds[-3:]), 1)
        return float(slope)


def mechanisms() -> list[Any]:
    """Everything there is, over the same number of values."""
    return [
        kind((0, 1) if issubclass(kind, NumericMechanism) else D, epsilon=EPSILON) for kind in LOOKS
    ]


def measure(effort: Effort) -> list[Line]:
    """Time both sides at every size."""
    sizes = [n for n in SIZES if n <= max(100_000, SIZES[-1] * effort.scale)]
    lines = []
    for mechanism in mechanisms():
        values = answers(mechanism, sizes[-1])
        seconds: dict[str, list[float]] = {side: [] for side in SIDES}
        for n in sizes:
            repeat = 2 if n > 1_000_000 else effort.repeat
            seconds["randomise"].append(best(_randomise(mechanism, values[:n]), repeat))
            reports = mechanism.randomise(values[:n])
            seconds["aggregate"].append(best(_aggregate(mechanism, reports), repeat))
        kind, n = type(mechanism), np.array(sizes)
        lines += [Line(kind, side, n, np.array(seconds[side])) for side in SIDES]
    return lines


def _randomise(mechanism: Any, values: np.ndarray) -> Callable[[], object]:
    return lambda: mechanism.randomise(values)


def _aggregate(mechanism: Any, reports: Any) -> Callable[[], object]:
    return lambda: mechanism.aggregate(reports)


def plot(lines: list[Line], path: Path) -> None:
    """Two panels, logarithmic both ways, with a straight line for what linear looks like."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 5.2), sharey=True, layout="constrained")
    for axes, side in zip(panels, SIDES, strict=True):
        for line in (line for line in lines if line.side == side):
            colour, marker = LOOKS[line.kind]
            axes.plot(
                line.n,
                line.seconds,
                color=colour,
                marker=marker,
                ms=6,
                lw=1.5,
                label=line.kind.__name__,
            )
        ends = lines[0].n[[0, -1]]
        axes.plot(ends, ends * 1e-7, "--", color="0.6", lw=1, label="linear, 100 ns each")
        axes.set(xscale="log", yscale="log", title=side, xlabel="people, n")
        axes.grid(True, which="major", color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("seconds, one core")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def section(lines: list[Line], picture: str) -> str:
    """The page's part on growth with n."""
    rows = []
    for kind in dict.fromkeys(line.kind for line in lines):
        cells = [kind.__name__]
        for line in (line for line in lines if line.kind is kind):
            each = line.seconds / line.n * 1e9
            cells += [number(each[-3]), number(each[-1]), f"{line.exponent:.2f}"]
        rows.append(cells)
    small, large = (f"{lines[0].n[k]:,}" for k in (-3, -1))
    head = ["mechanism"]
    for side in SIDES:
        head += [f"{side}, ns each at n = {small}", f"at n = {large}", "exponent"]
    return f"""## Over n

d = {D:,}, ε = {EPSILON:g}, one core. The exponent is b of the fit seconds = a·n^b over the three
largest n: 1 is linear. On the way there fixed costs are spread over more people, and reports
outgrow the processor's caches.

![Time against n for every mechanism]({picture})

{table(head, rows)}
"""
