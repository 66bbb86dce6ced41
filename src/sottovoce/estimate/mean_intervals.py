"""Intervals of means of numbers or scores.

An interval has every m that a mean m̂ of some reports does not reject. With h half the most that one
report can move m̂, V its variance, N how far the noise of the reports alone reaches to the side of m
(where that is known better than as a variance), and z the normal quantile:

    (d − h)² ≤ N² + z² (V + r d − g d²),   d = |m̂ − m|

Drawing people, of whom only some report or are asked, adds g s² to V, where s² is the variance of
their numbers; but people with an extreme number at a distance L may have been missed. A fraction
d / L of them moves the mean by d, and s² to s² + d (L − s²/L) − d²: hence r = g (L − s²/L). For
numbers that are 0 or 1 this is the interval of Wilson (1927). Where the reports of people with an
extreme score have noise V_L > V, moving so many of them to it adds (V_L − V) / L to r as well.

A weighted sum of independent means has N² = Σ ω_j² N_j² (Zou and Donner 2008, "MOVER"), where N_j
is not limited to what numbers between the bounds can have; of very many means Bernstein's
inequality gives N = z σ + z² b / 6, b being the most that one report can move the sum. Whoever was
missed may all be in one group: r is the largest ω_j r_j, and g the least g_j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from .intervals import Floats, Interval, ScoreInterval, normal_quantile, steps_beyond

_MEANS = 201  # means of those with a score that are tested one by one, where reports are few
_FEW = 8  # means whose exact noise, some 10 ms each, is worth computing for their sum


@dataclass(frozen=True, eq=False)
class ReportNoise:
    """What the noise of reports does to their mean, whoever they are from."""

    #: How far it reaches below and above the mean, within the bounds, at some confidence.
    reaches: Callable[[float], tuple[float, float]]
    variance: float
    largest: float  # b, the most that one report can be away from its expectation


@dataclass(frozen=True, eq=False)
class MeanInterval:
    """The interval above; call it with the confidence."""

    value: float  # m̂
    variance: float  # V
    step: float  # h
    ends: tuple[float, float]  # the lowest and the highest number: r does not lead beyond them
    down: float = 0.0  # r below the estimate
    up: float = 0.0  # r above it
    draw: float = 0.0  # g
    of: Any = None  # the fractions behind it and the scores, where it is a mean of scores
    noise: tuple[tuple[float, ReportNoise], ...] = ()  # of the means in the sum, with weights ω
    #: Ends as a combination of fractions, where reports are few.
    tested: Callable[[float], tuple[Floats, Floats] | None] | None = None

    def __call__(self, confidence: float) -> Interval:
        z = normal_quantile(confidence)
        if self.tested is not None and (ends := self.tested(confidence)) is not None:
            return Interval(*ends)
        below, above = self._noise(confidence)
        low = self._reach(self.down, self.value - self.ends[0], z, below)
        high = self._reach(self.up, self.ends[1] - self.value, z, above)
        return Interval(np.array([self.value - low]), np.array([self.value + high]))

    def drawn(self, factor: float, vary: float) -> MeanInterval:
        """With what drawing people adds: g of the variance s² of their numbers."""
        down, up = (
            factor * rise(distance, vary)
            for distance in (self.value - self.ends[0], self.ends[1] - self.value)
        )
        return replace(
            self,
            variance=self.variance + factor * vary,
            down=self.down + down,
            up=self.up + up,
            draw=self.draw + factor,
            tested=None,
        )

    def _reach(self, rising: float, most: float, z: float, noise: float) -> float:
        """The largest d; what was missed does not lead beyond the ends."""
        square, lead = z * z, 1 + z * z * self.draw
        step = steps_beyond(z) * self.step
        half = step + square * rising / 2
        spread = max(noise**2 + square * self.variance, 0.0)  # by rounding it may be below
        inside = max(half**2 + lead * (spread - step**2), 0.0)
        risen = (half + sqrt(inside)) / lead
        return max(sqrt(spread) + step, min(risen, most))

    def _noise(self, confidence: float) -> tuple[float, float]:
        if not self.noise:
            return 0.0, 0.0
        if len(self.noise) == 1 and self.noise[0][0] == 1:
            return self.noise[0][1].reaches(confidence)
        z = normal_quantile(confidence)
        if len(self.noise) > _FEW:
            variance = sum(weight**2 * one.variance for weight, one in self.noise)
            largest = max(weight * one.largest for weight, one in self.noise)
            both = z * sqrt(variance) + z * z * largest / 6
            return both, both
        below, above = (
            sqrt(
                sum(
                    (weight * max(one.reaches(confidence)[side], z * sqrt(one.variance))) ** 2
                    for weight, one in self.noise
                )
            )
            for side in (0, 1)
        )
        return below, above


def rise(distance: float, vary: float) -> float:
    """L − s²/L, and 0 where it would be negative."""
    return max(distance - vary / distance, 0.0) if distance > 0 else 0.0


def join_means(parts: Sequence[MeanInterval], weights: Floats) -> MeanInterval:
    """The interval of Σ ω_j m̂_j."""
    largest = np.array([(one.step, one.down, one.up) for one in parts])
    step, down, up = (weights[:, None] * largest).max(axis=0).tolist()
    return MeanInterval(
        float(weights @ np.array([one.value for one in parts])),
        float(weights**2 @ np.array([one.variance for one in parts])),
        step,
        (min(one.ends[0] for one in parts), max(one.ends[1] for one in parts)),
        down,
        up,
        min(one.draw for one in parts),
        noise=tuple(
            (float(weight) * inner, noise)
            for weight, one in zip(weights, parts, strict=True)
            for inner, noise in one.noise
        ),
    )


def tested_mean(
    own: ScoreInterval, pull: Floats, counted: Any, middle: float, confidence: float
) -> tuple[Floats, Floats] | None:
    """The mean of few reports, tested as a combination of fractions (`intervals`).

    Where only some values have scores, m is the mean if Σ (s − c − m) f over them is zero.
    """
    if counted is None:
        ends = own.combination(pull[None], True, confidence)
        return ends and (middle + ends[0], middle + ends[1])
    means = np.linspace(pull[counted].min(), pull[counted].max(), _MEANS)
    ends = own.combination((pull - means[:, None]) * counted, True, confidence)
    if ends is None or not (possible := (ends[0] <= 0) & (ends[1] >= 0)).any():
        return None
    first, last = np.flatnonzero(possible)[[0, -1]].tolist()
    beyond = means[[max(first - 1, 0), min(last + 1, _MEANS - 1)]]
    return middle + beyond[:1], middle + beyond[1:]
