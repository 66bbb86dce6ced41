"""Figure 3: two-stage sampling with uniform and adaptive selection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sottovoce as sv
from sottovoce import testing
from sottovoce.reproduce import Data

from .people import draw
from .sampling import squared_error


def selections(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """One data set, one sampling rate: uniform selection, and adaptive ones with γ = e^ε*."""
    people = draw(setting["people"], 1000, data)
    shared = {"rate": setting["rate"], "report": setting["alpha"], "collusion": 2, "committee": 5}
    protocols = {"US": sv.secure.TSS(people.items, **shared)}
    for star in setting["stars"]:
        protocols[f"AS, ε* = {star:g}"] = sv.secure.TSS(
            people.items, selection="adaptive", gamma=math.exp(star), **shared
        )
    with testing.seeded(seed) as source:
        return {
            name: [squared_error(protocol, people, source) for _ in range(repeats)]
            for name, protocol in protocols.items()
        }
