"""Vectors that must be read, and written to the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.contract.route import AddedNoise, Route
from sottovoce.promise import LDP

from .describe import (
    COMMUTE,
    HIDDEN,
    KINDS,
    LABELS,
    MENU,
    NUMBERS,
    PRIOR,
    PUBLIC,
    RATES,
    SAMPLED,
    STUDY,
    TEXTS,
    Vector,
    of_aggregate,
    of_reports,
    of_study,
    reports_of,
)


def good() -> Iterator[tuple[str, Vector]]:
    """Vectors that must be read, and written to the same bytes."""
    grr = sv.GRR(3, epsilon=1.0)
    values = reports_of(grr, value=[0, 2, 1, 1])
    yield "grr", of_reports(grr, [values])
    yield "grr_nobody", of_reports(grr, [values[:0]])
    yield "grr_envelopes", of_reports(grr, [values[:1], values[1:1], values[1:]])
    yield "grr_seeded", of_reports(grr, [replace(values, seeded=True)])
    labels = sv.GRR(LABELS, epsilon=0.1)
    yield "grr_labels", of_reports(labels, [reports_of(labels, value=[4, 3])])
    two_bytes = sv.GRR(300, epsilon=20.0)
    yield "grr_two_bytes", of_reports(two_bytes, [reports_of(two_bytes, value=[299, 1, 256])])
    four_bytes = sv.GRR(70_000, epsilon=1e-6)
    yield "grr_four_bytes", of_reports(four_bytes, [reports_of(four_bytes, value=[69_999, 65_536])])
    bins = STUDY.mechanism("age")
    yield "grr_study", of_reports(bins, [reports_of(bins, value=[3, 0])])
    oue = sv.OUE(10, epsilon=1.0)
    bits = reports_of(oue, bits=[[1, 2], [128, 1], [0, 0], [255, 3]])
    yield "oue", of_reports(oue, [bits])
    sue = sv.SUE(8, epsilon=2.0)
    yield "sue", of_reports(sue, [reports_of(sue, bits=[[255], [0], [17]])])
    subset = sv.SubsetSelection(9, epsilon=1.0)
    yield "subset", of_reports(subset, [reports_of(subset, bits=[[3, 0], [128, 1]])])
    olh = sv.OLH(1000, epsilon=1.0)
    hashes = {"a": [1, 4294967295, 2863311531], "b": [0, 4294967295, 305419896], "y": [0, 3, 1]}
    yield "olh", of_reports(olh, [reports_of(olh, **hashes)])
    billions = sv.OLH(1 << 31, epsilon=1.0)
    pairs = {"a1": [0, 4294967295], "a2": [7, 305419896], "b": [1, 2863311531], "y": [0, 3]}
    paired = reports_of(billions, **pairs)
    yield "olh_pairs", of_reports(billions, [paired])
    chosen = [2147483647, 0, 65_536]
    yield (
        "aggregate_olh_candidates",
        of_aggregate(billions, billions.aggregate(paired, values=chosen)),
    )
    hadamard = sv.HadamardResponse(1000, epsilon=1.0)
    outputs = reports_of(hadamard, y=[0, 1023, 512])
    yield "hadamard", of_reports(hadamard, [outputs])
    yield (
        "aggregate_hadamard_candidates",
        of_aggregate(hadamard, hadamard.aggregate(outputs, values=[999, 3])),
    )

    projective = sv.ProjectiveGeometryResponse(1000, epsilon=1.0)
    yield "projective", of_reports(projective, [reports_of(projective, y=[0, 1092, 364])])

    lip = sv.LIP(COMMUTE, prior=[0.5, 0.2, 0.25, 0.05], epsilon=1.0)
    told = reports_of(lip, value=[0, 3, 2, 1, 1])
    yield "lip", of_reports(lip, [told])
    box = sv.LIP(300, prior_low=[0.0] * 300, prior_high=[0.5] * 300, epsilon=2.0)
    yield "lip_box", of_reports(box, [reports_of(box, value=[299, 0])])

    for name, mechanism, columns in numbers():
        yield name, of_reports(mechanism, [reports_of(mechanism, **columns)])

    yield "aggregate_grr", of_aggregate(grr, grr.aggregate(values))
    yield "aggregate_nobody", of_aggregate(grr, grr.aggregate(values[:0]))
    yield "aggregate_oue", of_aggregate(oue, oue.aggregate(bits))
    most = (1 << 62) - 1
    cells = {"support": np.full(10, (1 << 61) + 1)}
    many = sv.Aggregate(oue.id, oue.digest, cells, most, most, True)
    yield "aggregate_lip", of_aggregate(lip, lip.aggregate(told))
    yield "aggregate_many", of_aggregate(oue, many)
    tens = sv.HadamardResponse(5, epsilon=1.0)
    cells = tens.aggregate(tens.every_report())
    yield "aggregate_hadamard", of_aggregate(tens, cells)

    for name, mechanism, columns in wrapped():
        reports = reports_of(mechanism, **columns)
        yield name, of_reports(mechanism, [reports])
        if mechanism != KINDS:  # whose thousands of counts are those of other vectors
            yield f"aggregate_{name}", of_aggregate(mechanism, mechanism.aggregate(reports))

    small = sv.Hybrid((0, 100), epsilon=1.0, steps=4)
    yield "aggregate_hybrid", of_aggregate(small, small.aggregate(small.every_report()[::3]))

    for name, mechanism, columns in records():
        reports = reports_of(mechanism, **columns)
        yield name, of_reports(mechanism, [reports])
        yield f"aggregate_{name}", of_aggregate(mechanism, mechanism.aggregate(reports))
    nobody = HIDDEN.aggregate(reports_of(HIDDEN, **NOBODY))
    yield "aggregate_records_nobody", of_aggregate(HIDDEN, nobody)

    words = {"depth": [0, 2, 2], "a1": [0, 4294967295, 7], "a2": [1, 2, 3], "b": [9, 8, 7]}
    texts = reports_of(TEXTS, **words, y=[0, 7, 3])
    yield "texts", of_reports(TEXTS, [texts])
    yield "aggregate_texts", of_aggregate(TEXTS, TEXTS.aggregate(texts))

    for name, route, cells in routed():
        by_protocol = sv.Aggregate(grr.id, grr.digest, {"support": cells}, 100, 100, route=route)
        yield f"aggregate_route_{name}", of_aggregate(grr, by_protocol)

    yield "study", of_study(STUDY)
    yield "study_numbers", of_study(NUMBERS)
    yield "study_prior", of_study(PRIOR)


def numbers() -> Iterator[tuple[str, sv.Mechanism, dict[str, list[int]]]]:
    """Chosen reports of the mechanisms for numbers."""
    yield "duchi", sv.Duchi((0, 100), epsilon=1.0), {"cell": [0, 1, 1]}
    piecewise = sv.Piecewise(sv.Range("height", 0.5, 2.5, clip=True), epsilon=2.0)
    yield "piecewise", piecewise, {"cell": [0, 1024, 1400]}
    yield "hybrid", NUMBERS.mechanism("income"), {"grid": [0, 1, 0, 1], "cell": [1, 1, 0, 1023]}


def wrapped() -> Iterator[tuple[str, sv.Mechanism, dict[str, list[Any]]]]:
    """Chosen reports of people at several levels and rates, and silent ones."""
    yield "levels", MENU, {"way": [0, 1, 1], "value": [3, 0, 2]}
    yield (
        "levels_kinds",
        KINDS,
        {"way": [0, 1, 1], "a": [7, 0, 0], "b": [5, 0, 0], "y": [3, 1023, 0]},
    )
    yield "sampled", SAMPLED, {"silent": [0, 0, 258], "value": [2, 0, 0]}
    yield (
        "sampled_rates",
        RATES,
        {"way": [1, 2, 0, 1], "silent": [0, 0, 7, 1], "value": [2, 1, 0, 0]},
    )
    both = sv.Sampled(MENU, rate=[0.5, 0.25])
    yield (
        "sampled_levels",
        both,
        {"way": [2, 1, 1], "silent": [0, 0, 65_535], "value": [3, 1, 0]},
    )
    some = {"some": sv.Sampled(sv.OUE(10, epsilon=0.5), rate=0.5), "all": sv.OUE(10, epsilon=4.0)}
    rows = [[1, 2], [0, 0], [255, 3]]
    yield "levels_sampled", sv.Levels(some), {"way": [0, 0, 1], "silent": [0, 9, 0], "bits": rows}
    numbers = sv.Levels.of(sv.Hybrid, (0, 100), {"strong": 0.5, "weak": 4.0}, steps=4)
    yield "levels_numbers", numbers, {"way": [0, 1], "grid": [0, 1], "cell": [1, 2]}


NOBODY: dict[str, list[Any]] = {"reported": [], "bits": []}
#: Attributes that people report, and the bits of all attributes one after the other: 4, 3 and 2.
SENT = {"reported": [[7], [7], [3], [4]], "bits": [[255, 1], [255, 1], [4, 0], [128, 0]]}
STEPS = [[2048] * 3, [2048] * 3, [512, 3584, 65_535], [65_535, 65_535, 2048]]


def records() -> Iterator[tuple[str, sv.Records, dict[str, list[Any]]]]:
    """Chosen records of people who report all attributes or some."""
    yield "records", HIDDEN, SENT
    yield "records_public", PUBLIC, {**SENT, "steps": STEPS}


def routed() -> Iterator[tuple[str, Route, list[int]]]:
    """Counts that a protocol changed: bounded noise, noise without a bound, thinned holders."""
    guarantee = sv.Guarantee((sv.Promise(LDP, 1.0, assuming=("a sentence in Zürich",)),))
    noise = AddedNoise("binomial", 2.5, bound=10)
    yield "bounded", Route("dpdg", guarantee, noise), [-10, 110, 3]
    endless = AddedNoise("discrete-laplace", 1.8413471884155178)
    yield "endless", Route("tss", guarantee, endless), [-1000, 2000, 0]
    yield "thinned", Route("dpcs", guarantee, kept=0.25), [0, 100, 7]
