"""Aggregates of sampled people without drawing reports, and how simulated estimates are judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce import Aggregate, Sampled

SIGMAS = 6


def aggregated(s: Sampled, asked: Any, reported: Any, support: Any) -> Aggregate:
    tables = {"asked": asked, "reported": reported, "0/support": support}
    return Aggregate(s.id, s.digest, tables, int(np.sum(asked)), int(np.sum(reported)))


def judge(found: np.ndarray, mean: float, true_variance: float, first_order: bool) -> None:
    """Refuse a mean or a variance that the runs contradict."""
    m, v = float(found.mean()), float(found.var())
    fourth = float(((found - m) ** 4).mean())
    of_mean, of_variance = np.sqrt(v / found.size), np.sqrt(max(fourth - v * v, 0) / found.size)
    loose = 0.005 if first_order else 0.0  # terms of order 1/n that the formula leaves out
    assert abs(m - mean) <= SIGMAS * of_mean + loose * np.sqrt(v) + 1e-12
    assert abs(v - true_variance) <= SIGMAS * of_variance + 2 * loose * v + 1e-15
