"""Vectors as collections, reports, aggregates and studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sottovoce import Aggregate, Attribute, Domain, HeavyHitters, Range, Records, Reports, Study
from sottovoce.contract.collection import Collection
from sottovoce.mechanisms import by_id
from sottovoce.participation import Participation
from sottovoce.participation.menu import Level
from vectors.make import DESCRIPTION

FOLDER = Path(__file__).parents[2] / "vectors" / "v1"

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


_MADE: dict[str, Collection] = {}


def collection(vector: dict[str, Any]) -> Collection:
    """The collection that a vector describes, made once however many bytes are read with it."""
    about = json.dumps([vector[name] for name in DESCRIPTION])
    if about not in _MADE:
        _MADE[about] = _collection(vector)
    return _MADE[about]


def _collection(vector: dict[str, Any]) -> Collection:
    study = vector["study"] and bytes.fromhex(vector["study"])
    made: Collection
    if vector["collection"] == "pmoue":
        schema = [domain(about) for about in vector["domain"]]
        made = Records(schema, **vector["parameters"], study=study or None)
    elif vector["collection"] == "heavy-hitters":
        made = HeavyHitters(**vector["domain"], **vector["parameters"], study=study or None)
    elif vector["collection"] == "participation":
        levels = [
            described(level, domain(vector["domain"])) for level in vector["parameters"]["levels"]
        ]
        made = Participation(levels, study=study or None)
    else:
        kind = by_id(vector["collection"])
        made = kind(domain(vector["domain"]), **vector["parameters"], study=study or None)
    assert made.digest.hex() == vector["digest"]
    return made


def described(level: dict[str, Any], over: Domain) -> Level:
    mechanism = by_id(level["mechanism"])(over, **level["parameters"])
    return Level(level["name"], mechanism, tuple(map(float, level["rates"])))


def data(vector: dict[str, Any]) -> bytes:
    return bytes.fromhex(vector["bytes"])


def read(vector: dict[str, Any], raw: bytes | None = None) -> Reports | Aggregate | Study:
    if vector["kind"] == "study":
        return Study.from_toml(vector["toml"])
    kind = Aggregate if vector["kind"] == "aggregate" else Reports
    return kind.from_bytes(data(vector) if raw is None else raw, expect=collection(vector))
