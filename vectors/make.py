"""Every vector that is made, with its file's name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from . import bad_aggregates, bad_reports
from .describe import Vector
from .good import good
from .seeded import seeded

FOLDER = Path(__file__).parent / "v1"
DESCRIPTION = ("kind", "collection", "domain", "parameters", "study", "digest")


def every() -> Iterator[tuple[str, Vector]]:
    """Every vector that is made, with its file's name."""
    for prefix, vectors in (("good", good()), ("bad", bad()), ("seeded", seeded())):
        for name, vector in vectors:
            yield f"{prefix}_{name}.json", vector


def bad() -> Iterator[tuple[str, Vector]]:
    """Vectors that must be refused, with the error and a part of what it says."""
    made = dict(good())

    def of(name: str, data: bytes, error: str, says: str) -> Vector:
        about = {key: made[name][key] for key in DESCRIPTION}
        return {**about, "bytes": data.hex(), "error": error, "says": says}

    def raw(name: str) -> bytes:
        return bytes.fromhex(made[name]["bytes"])

    return chain(bad_reports.bad(of, raw), bad_aggregates.bad(of, raw, made))


def text(vector: Vector) -> str:
    """The file of a vector."""
    return json.dumps(vector, indent=1, ensure_ascii=False) + "\n"
