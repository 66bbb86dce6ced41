"""Car once: nearly independent, mostly uniform attributes; the default must invent nothing."""

from __future__ import annotations

import csv
import gzip
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing

COLUMNS = ["buying", "safety", "persons", "lug_boot", "class"]
RUNS = 3
#: Known distances of em-ll2 to the truth for k = 1..5, the means of three runs.
REFERENCE = (0.0360, 0.0905, 0.1653, 0.2581, 0.3721)


def test_the_default_is_as_good_as_the_product() -> None:
    folder = os.environ.get("SOTTOVOCE_DATA")
    if not folder or not (Path(folder) / "car.csv.gz").exists():
        pytest.skip("SOTTOVOCE_DATA does not name a folder with car.csv.gz")
    with gzip.open(Path(folder) / "car.csv.gz", "rt", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    table = {c: [row[c] for row in rows] for c in COLUMNS}
    attributes = [sv.Attribute(c, sorted(set(table[c]))) for c in COLUMNS]
    records = sv.Records(attributes, epsilon_average=2.0)
    codes = np.stack([a.encode(table[a.name]) for a in attributes]).astype(int)
    rng = np.random.default_rng(8)
    found: dict[tuple[str, int], list[float]] = {}
    weights = []
    for seed in range(RUNS):
        many = rng.integers(1, 6, len(rows))
        sent = rng.random((len(rows), 5)).argsort(axis=1).argsort(axis=1) < many[:, None]
        with testing.seeded(seed) as source:
            reports = records.randomise(table, allocation="random", reported=sent, source=source)
            aggregate = records.aggregate(reports)
            for method in ("model-average", "product"):
                whole = records.joint(aggregate, COLUMNS, method=method)
                if method == "model-average":
                    weights.append(whole.weights)
                for k in range(1, 6):
                    for axes in combinations(range(5), k):
                        truth = np.zeros([attributes[a].size for a in axes])
                        np.add.at(truth, tuple(codes[a] for a in axes), 1 / len(rows))
                        part = whole.marginal([COLUMNS[a] for a in axes]).table
                        found.setdefault((method, k), []).append(np.abs(part - truth).sum() / 2)
    for k in range(1, 6):
        default, product = np.mean(found["model-average", k]), np.mean(found["product", k])
        assert default <= 1.05 * product, f"k = {k}: {default:.4f} and {product:.4f}, {weights}"
        assert default <= 1.15 * REFERENCE[k - 1], f"k = {k}: {default:.4f}, {weights}"
