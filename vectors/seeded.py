"""What a seed draws; these vectors may change with a release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sottovoce as sv
from sottovoce import testing

from .describe import COMMUTE, HIDDEN, MENU, PUBLIC, Vector, of_reports

CATEGORICAL = (
    sv.GRR,
    sv.OUE,
    sv.SUE,
    sv.SubsetSelection,
    sv.OLH,
    sv.HadamardResponse,
    sv.ProjectiveGeometryResponse,
)


def seeded() -> Iterator[tuple[str, Vector]]:
    """What seed 2026 draws for each collection: the same on every machine."""
    for kind in CATEGORICAL:
        mechanism = kind(10, epsilon=1.0)
        yield mechanism.id, drawn(mechanism, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9])
    known = sv.LIP(prior=[0.25, 0.75, 0.0], epsilon=1.0)
    yield known.id, drawn(known, [0, 1, 2, 0, 1, 2, 1, 1, 1, 1, 1, 2])
    for kind in (sv.Duchi, sv.Piecewise, sv.Hybrid):
        mechanism = kind((0, 10), epsilon=1.0)
        yield mechanism.id, drawn(mechanism, [0, 1.5, 2.25, 3, 4, 5, 6, 7, 8, 9, 9.999, 10])
    texts = sv.HeavyHitters("ab", 40, 1.0)  # whose longest prefixes are hashed
    yield "texts", drawn(texts, ["", "a", "ab", "ba" * 20] * 3)
    answers = [COMMUTE.values[k % 4] for k in range(12)]
    levels, rates = ["strong", "weak", "weak"] * 4, [0.5, 0.25, 0.5, 0.5] * 3
    yield "levels", drawn(MENU, answers, level=levels)
    both = sv.Sampled(MENU, rate=[0.5, 0.25])
    yield "sampled", drawn(both, answers, level=levels, rate=rates)
    table = {"commute": answers, "age": [7 * k for k in range(12)], "sport": [0, 1, 1] * 4}
    yield "records", drawn(HIDDEN, table, allocation="random")
    yield "records_public", drawn(PUBLIC, table, allocation=[[0.5, 4.5, 1.0]] * 12)


def drawn(collection: Any, answers: Any, **choice: Any) -> Vector:
    """Reports that a seed draws."""
    with testing.seeded(2026) as source:
        reports = collection.randomise(answers, source=source, **choice)
    asked = {"answers": answers, "seed": 2026, **({"choice": choice} if choice else {})}
    return {**asked, **of_reports(collection, [reports])}
