"""Frequencies without a trusted server: sampling or noise, and sums of secret shares.

dpcs            DPCS and DPCS*: a trusted curator samples
dpds            DPDS: everyone samples themselves; users or helpers add up shares
dpdg            DPDG: everyone adds a little Gaussian noise
unconditional   BinomialNoise, Dummies, Suppressed: promises whatever people answer
tss             TSS and TSS': everyone reports some of the items, to elected users or a committee
grouped         one run per privacy level

Every run ends in an ordinary aggregate that knows what was done to its counts and what is promised;
estimates, combinations, plots and tables are those of local reports.
"""

from __future__ import annotations

from .counts import TrueCounts
from .dpcs import DPCS
from .dpdg import DPDG
from .dpds import DPDS
from .grouped import Grouped, GroupedRun
from .protocol import Protocol, Run, Session
from .tss import TSS
from .unconditional import BinomialNoise, Dummies, Suppressed

__all__ = [
    "DPCS",
    "DPDG",
    "DPDS",
    "TSS",
    "BinomialNoise",
    "Dummies",
    "Grouped",
    "GroupedRun",
    "Protocol",
    "Run",
    "Session",
    "Suppressed",
    "TrueCounts",
]
