"""Running the experiments of a paper again, and judging what it claims.

A paper is a folder with a `run.py` that defines `PAPER`. Its figures and tables consist of jobs; a
job measures every series at one point of one panel. `run` does what is not cached, `compare` holds
the outcome against `expected.json`, `draw` makes the pictures and `write` the files.
"""

from __future__ import annotations

from .data import Data, MissingDataError, folder_from
from .figure import Axis, Claim, Figure, Job, Paper, Verdict
from .results import Results, Row

__all__ = [
    "Axis",
    "Claim",
    "Data",
    "Figure",
    "Job",
    "MissingDataError",
    "Paper",
    "Results",
    "Row",
    "Verdict",
    "folder_from",
]
