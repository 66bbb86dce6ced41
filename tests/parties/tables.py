"""Small tables between parties, and runs whose noise is known."""

from __future__ import annotations

import numpy as np

import sottovoce as sv
from sottovoce.parties import counting, machines

SCHEMA = sv.Schema(
    [sv.Attribute("smoker", ["yes", "no"]), sv.Attribute("ward", 3), sv.Attribute("stage", 5)]
)
BUDGETS = {"A": 0.1, "B": 0.5, "C": 1.0, "D": 1.0, "E": 2.0}


def frames(parties, rows=40, seed=1):
    """A table of random rows for each party, of different lengths."""
    generator = np.random.default_rng(seed)
    return {
        name: {
            "smoker": np.array(["yes", "no"])[generator.integers(0, 2, rows + 7 * k)],
            "ward": generator.integers(0, 3, rows + 7 * k),
            "stage": generator.integers(0, 5, rows + 7 * k),
        }
        for k, name in enumerate(parties)
    }


def plain_table(table, names):
    """The counts of one party's table, row by row."""
    shape = [SCHEMA[name].size for name in names]
    counts = np.zeros(shape, int)
    codes = [SCHEMA[name].encode(table[name]) for name in names]
    for row in zip(*codes, strict=True):
        counts[row] += 1
    return counts


def known_noise(monkeypatch):
    """Record every share of noise that is drawn, by (release, party)."""
    drawn: dict = {}

    def noise(release, party, source):
        share = counting.noise_shares(release, party, source)
        drawn.setdefault((release.name, release.cells), {})[party] = share
        return share

    monkeypatch.setattr(machines, "noise_shares", noise)
    return drawn
