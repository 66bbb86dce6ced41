"""When more privacy may be claimed than epsilon, and who must be trusted for it.

Each account takes plain numbers and returns a `Promise` that says what it assumes, or refuses.
Sampling and dummies are in `sampling`, shuffled reports in `shuffle`, many rounds in
`composition`, Gaussian noise in `gaussian`; `compare` sets shuffling against a trusted server.
"""

from __future__ import annotations

from .compare import Comparison, compare
from .composition import rounds
from .gaussian import delta_gaussian, sigma_analytic
from .sampling import dummies, fixed_size, poisson, value_dependent_loss, visible
from .shuffle import shuffle, shuffle_delta

__all__ = [
    "Comparison",
    "compare",
    "delta_gaussian",
    "dummies",
    "fixed_size",
    "poisson",
    "rounds",
    "shuffle",
    "shuffle_delta",
    "sigma_analytic",
    "value_dependent_loss",
    "visible",
]
