"""Vectors as mechanisms, reports, aggregates and studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sottovoce.contract.patterns import Patterns

from sottovoce import (
    Aggregate,
    Attribute,
    Domain,
    Levels,
    Mechanism,
    Range,
    Records,
    Reports,
    Sampled,
    Study,
)
from sottovoce.mechanisms import by_id

ROOT = Path(__file__).parents[2] / "vectors"
FOLDER = ROOT / "v1"

ALL: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.json"))
}


def some(*starts: str, kind: str | None = None) -> dict[str, dict[str, Any]]:
    return {
        name: vector
        for name, vector in ALL.items()
        if name.startswith(starts) and (kind is None or vector["kind"] == kind)
    }


def domain(about: dict[str, Any]) -> Domain:
    if "range" in about:
        low, high = map(float, about["range"])
        return Range(about["name"], low, high, clip=about["clip"], missing=about["missing"])
    edges = about["edges"] and [float(edge) for edge in about["edges"]]
    values = () if edges else about["values"]
    if "name" in about:
        return Attribute(about["name"], values, edges=edges, missing=about["missing"])
    return Domain(values, edges=edges, missing=about["missing"])


def mechanism(vector: dict[str, Any]) -> Mechanism | Records:
    study = vector["study"] and bytes.fromhex(vector["study"])
    made: Mechanism | Records
    if vector["mechanism"] == "pmoue":
        schema = [domain(about) for about in vector["domain"]]
        made = Records(schema, **vector["parameters"], study=study or None)
        assert made.digest.hex() == vector["digest"]
        return made
    made = described(vector, domain(vector["domain"]), study or None)
    assert made.digest.hex() == vector["digest"]
    return made


def described(about: dict[str, Any], over: Domain, study: bytes | None = None) -> Mechanism:
    parameters = about["parameters"]
    if about["mechanism"] == "levels":
        menu = {name: described(one, over) for name, one in parameters["levels"]}
        return Levels(menu, study=study)
    if about["mechanism"] == "sampled":
        rates = [float(rate) for rate in parameters["rates"]]
        return Sampled(described(parameters["of"], over), rate=rates, study=study)
    return by_id(about["mechanism"])(over, **parameters, study=study)


def data(vector: dict[str, Any]) -> bytes:
    return bytes.fromhex(vector["bytes"])


def read(
    vector: dict[str, Any], given: bytes | None = None
) -> Reports | Aggregate | Patterns | Study:
    if vector["kind"] == "study":
        return Study.from_toml(vector["toml"])
    given = data(vector) if given is None else given
    if vector["kind"] == "aggregate":
        return Aggregate.from_bytes(given, expect=mechanism(vector))
    if vector["kind"] == "patterns":
        return Patterns.from_bytes(given, expect=mechanism(vector))
    return Reports.from_bytes(given, expect=mechanism(vector))
