"""Biswas, Cormode and Maple: frequencies from a sample of nodes that report locally."""

from __future__ import annotations

from sottovoce.reproduce import Paper

from .figures import FIGURES
from .statements import STATEMENTS

PAPER = Paper(
    "node-sampling",
    "Impact of Sampling on Locally Differentially Private Data Collection",
    'S. Biswas, G. Cormode, C. Maple: "Impact of Sampling on Locally Differentially Private Data '
    'Collection"',
    (*FIGURES, *STATEMENTS),
)
