"""Jiang, Li and Tandon: randomised response with a known prior."""

from __future__ import annotations

from sottovoce.reproduce import Paper

from .data_figures import FIGURE_8
from .figures import CROSSINGS, LEVELS, SYNTHETIC

PAPER = Paper(
    "information-privacy",
    "Context-aware Data Aggregation with Localized Information Privacy",
    'B. Jiang, M. Li, R. Tandon: "Context-aware Data Aggregation with Localized Information '
    'Privacy"',
    (*SYNTHETIC, FIGURE_8, CROSSINGS, LEVELS),
)  # fmt: skip
