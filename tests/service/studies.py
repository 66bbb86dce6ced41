"""Small studies, and submissions to them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.contract.collection import Collection
from sottovoce.service.submission import Submission, pack, unpack

MODES = ["car", "bike", "train", "foot"]


def commute(title: str = "How we get to work") -> sv.Study:
    return sv.Study(title, (sv.GRR(sv.Attribute("commute", MODES), epsilon=1.0),))


def several() -> sv.Study:
    """A menu, a rate, a number and records."""
    return sv.Study(
        "Everything",
        (
            sv.Levels.of(sv.OUE, sv.Attribute("commute", MODES), {"strong": 0.5, "normal": 2.0}),
            sv.Sampled(sv.GRR(sv.Attribute("pet", ["cat", "dog"]), epsilon=1.0), rate=[0.5, 1.0]),
            sv.Piecewise(sv.Range("minutes", 0, 120), epsilon=1.0),
            sv.Records(
                [sv.Attribute("smokes", ["yes", "no"]), sv.Attribute("age", ["-30", "-60", "60+"])],
                epsilon_average=2.0,
                name="health",
            ),
        ),
    )


def answers(name: str, n: int) -> tuple[Any, dict[str, Any]]:
    """Answers of n people to a question of `several`, and how they take part."""
    if name == "commute":
        return [MODES[k % 4] for k in range(n)], {"level": ["strong", "normal"] * (n // 2 + 1)}
    if name == "pet":
        return [["cat", "dog"][k % 2] for k in range(n)], {"rate": 0.5}
    if name == "minutes":
        return np.linspace(0, 120, n), {}
    return {"smokes": ["yes", "no"] * n, "age": ["-30", "-60", "60+"] * n}, {}


def reports(collection: Collection, n: int = 1, answer: str = "car") -> sv.Reports:
    """n real reports of a question of `commute`."""
    return collection.randomise([answer] * n)


def body(study: sv.Study, n: int = 1, *, identifier: bytes | None = None) -> bytes:
    """A submission of n people."""
    parts = []
    for one in study:
        if len(study) == 1:
            parts.append(reports(one, n).to_bytes())
            continue
        what, how = answers(one.name, n)
        how = {key: value[:n] if isinstance(value, list) else value for key, value in how.items()}
        if isinstance(what, dict):
            what = {key: column[:n] for key, column in what.items()}
        parts.append(one.randomise(what, **how).to_bytes())
    return pack(identifier or os.urandom(16), parts)


def submission(study: sv.Study, n: int = 1) -> Submission:
    return unpack(body(study, n), study)
