"""How far estimates are from the truth, ours and multi-freq-ldpy's from the same reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import sottovoce as sv

from .machine import EPSILON, Effort, table

N = 100_000
POWER = 1.5


@dataclass(frozen=True)
class Comparison:
    """Mean squared errors of two estimators over the same runs."""

    setting: str
    first: np.ndarray
    second: np.ndarray

    @property
    def ratio(self) -> float:
        """Mean error of the first over that of the second."""
        return float(self.first.mean() / self.second.mean())

    @property
    def std_error(self) -> float:
        """Standard error of the ratio; the runs are paired (delta method)."""
        gap = self.first - self.ratio * self.second
        return float(gap.std(ddof=1) / np.sqrt(gap.size) / self.second.mean())

    def row(self) -> list[str]:
        """The setting, both errors and their ratio."""
        errors = [f"{part.mean():.3g}" for part in (self.first, self.second)]
        return [
            self.setting,
            str(self.first.size),
            *errors,
            f"{self.ratio:.3f} ± {self.std_error:.3f}",
        ]


def people(size: int, power: float, run: int) -> np.ndarray:
    """N answers, value k with probability proportional to 1 / (k + 1)^power."""
    weights = 1.0 / np.arange(1, size + 1) ** power
    return np.random.default_rng([size, run]).choice(size, N, p=weights / weights.sum())


def against_clipping(effort: Effort) -> list[Comparison]:
    """multi-freq-ldpy's default estimate against norm-sub, both from the same OUE counts."""
    from multi_freq_ldpy.estimators.Histogram_estimator import MI

    collected = []
    for size, runs in ((128, 4 * effort.runs), (1024, effort.runs)):
        mechanism = sv.OUE(size, epsilon=EPSILON)
        errors = np.empty((2, runs))
        for run in range(runs):
            values = people(size, POWER, run)
            truth = np.bincount(values, minlength=size) / N
            aggregate = mechanism.aggregate(mechanism.randomise(values))
            theirs = MI(aggregate.tables["support"], N, float(mechanism.p), float(mechanism.q))
            ours = mechanism.estimate(aggregate).project().values
            errors[:, run] = np.mean((theirs - truth) ** 2), np.mean((ours - truth) ** 2)
        collected.append(Comparison(f"d = {size:,}", *errors))
    return collected


def likelihood(effort: Effort) -> list[Comparison]:
    """Maximum likelihood against norm-sub, both from the same GRR counts."""
    collected = []
    for power, shape in ((POWER, f"Zipf {POWER}"), (0.0, "uniform")):
        for size in (4, 16, 128, 1024):
            mechanism = sv.GRR(size, epsilon=EPSILON)
            errors = np.empty((2, effort.runs))
            for run in range(effort.runs):
                values = people(size, power, run)
                truth = np.bincount(values, minlength=size) / N
                aggregate = mechanism.aggregate(mechanism.randomise(values))
                likely = mechanism.estimate(aggregate, method="mle").values
                projected = mechanism.estimate(aggregate).project().values
                errors[:, run] = (
                    np.mean((likely - truth) ** 2),
                    np.mean((projected - truth) ** 2),
                )
            collected.append(Comparison(f"{shape}, d = {size:,}", *errors))
    return collected


def many_values(effort: Effort) -> list[list[str]]:
    """Error, report and decoding of the mechanisms for many values: measured, and by formula."""
    size, rows = 1024, []
    short = (sv.ProjectiveGeometryResponse, sv.OLH, sv.HadamardResponse)
    for kind in (sv.SubsetSelection, *short):
        mechanism, errors = kind(size, epsilon=EPSILON), np.empty(effort.runs)
        for run in range(effort.runs):
            values = people(size, POWER, run)
            truth = np.bincount(values, minlength=size) / N
            estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomise(values)))
            errors[run] = np.mean((estimate.values - truth) ** 2)
        exact = mechanism.total_variance(N) / size
        figures = [f"{errors.mean():.4g} ± {errors.std(ddof=1) / np.sqrt(errors.size):.1g}"]
        figures += [f"{exact:.4g}", f"{mechanism.report_bytes:,}"]
        rows.append([kind.__name__, *figures, f"{mechanism.decode_steps(N):,.0f}"])
    return rows


def verdict(found: list[Comparison]) -> str:
    """In words: where the likelihood's maximum is better, worse, or indistinguishable."""
    groups: dict[str, list[str]] = {"better": [], "worse": [], "indistinguishable": []}
    for one in found:
        sure = abs(one.ratio - 1) > max(0.01, 3 * one.std_error)
        key = "indistinguishable" if not sure else "better" if one.ratio < 1 else "worse"
        groups[key].append(f"{one.setting} ({one.ratio - 1:+.1%})")
    return "\n".join(f"- {key}: {'; '.join(where) or 'nowhere'}" for key, where in groups.items())


def section(
    clipping: list[Comparison] | None, likely: list[Comparison], many: list[list[str]]
) -> str:
    """The page's part on accuracy."""
    head = ["setting", "runs"]
    first = "multi-freq-ldpy is not installed here."
    if clipping is not None:
        columns = [*head, "multi-freq-ldpy, MSE", "norm-sub, MSE", "ratio"]
        first = table(columns, [one.row() for one in clipping])
    columns = [*head, "MLE, MSE", "norm-sub, MSE", "ratio"]
    return f"""## Accuracy

n = {N:,}, ε = {EPSILON:g}; mean squared error per value against the fractions among the people who
answered, averaged over runs. Both estimators of a row see the same reports; ± is one standard
error.

multi-freq-ldpy clips negative values and rescales the rest. Against `estimate.project()`, which is
norm-sub, on OUE and Zipf {POWER} (target: 5 times better at d = 128 and 30 times at d = 1,024):

{first}

The exact multinomial maximum of the likelihood (`method="mle"`) against norm-sub, on GRR:

{table(columns, [one.row() for one in likely])}

The maximum's error against norm-sub's, different by more than 1 % and three standard errors:

{verdict(likely)}

Mechanisms for many values, d = 1,024 and Zipf {POWER}: mean squared error of the unbiased estimate
as measured and by the exact formula, bytes of a report, and steps to decode all reports.

{table(["mechanism", "MSE, measured", "MSE, exact", "bytes", "decode steps"], many)}
"""
