"""The number of parties: tables over split rows, and over split columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sottovoce.reproduce import Data

from . import columns, rows


def measure(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """As `rows` or `columns`, whichever the job says."""
    side = columns if setting["parts"] == "columns" else rows
    return side.measure(setting, repeats, seed, data)
