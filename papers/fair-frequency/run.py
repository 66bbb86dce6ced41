"""Yang et al., "Fair and Differentially Private Distributed Frequency Estimation"."""

from __future__ import annotations

from sottovoce.reproduce import Paper

from .comparison import FIGURE_1, FIGURE_1_EPSILON, FIGURE_1_PRIVACY
from .costing import TABLE_1
from .local_weighting import FIGURE_5
from .populations import FIGURE_2, FIGURE_2_PRIVACY, FIGURE_3, FIGURE_3_PRIVACY
from .weighting import FIGURE_4, TABLE_2_ERRORS, TABLE_2_GROUPS

PAPER = Paper(
    "fair-frequency",
    "Fair and Differentially Private Distributed Frequency Estimation",
    "M. Yang, I. Tjuawinata, K.-Y. Lam, T. Zhu, J. Zhao, arXiv:2104.05974 (2021)",
    (
        TABLE_1,
        FIGURE_1,
        FIGURE_1_PRIVACY,
        FIGURE_1_EPSILON,
        FIGURE_2,
        FIGURE_2_PRIVACY,
        FIGURE_3,
        FIGURE_3_PRIVACY,
        FIGURE_4,
        TABLE_2_ERRORS,
        TABLE_2_GROUPS,
        FIGURE_5,
    ),
)
