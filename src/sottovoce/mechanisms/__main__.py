"""Compile every mechanism's kernels now, so that the first real run does not wait.

Run as ``python -m sottovoce.mechanisms``; numba keeps the compiled code on disk.
"""

from __future__ import annotations

import numpy as np

from ..kernels.compiling import compile_at_once
from .hadamard import HadamardResponse
from .mechanism import Mechanism
from .numeric import NumericMechanism
from .olh import OLH
from .prior import MOST_VALUES
from .registry import REGISTRY, needs_prior


def warm() -> None:
    """Run every mechanism once for each width of code."""
    compile_at_once()
    for kind in REGISTRY.values():
        if issubclass(kind, NumericMechanism):
            mechanisms: list[Mechanism] = [kind((0, 1), epsilon=1.0)]
        else:
            sizes = (4, 1 << 10, 1 << 17)
            most = MOST_VALUES if needs_prior(kind) else max(sizes)
            mechanisms = [kind(d, epsilon=1.0) for d in sizes if d <= most]
        for mechanism in mechanisms:
            mechanism.aggregate(mechanism.randomise(np.zeros(16, np.int64)))
    for kind in (OLH, HadamardResponse):
        large = kind(1 << 31, epsilon=1.0)
        large.aggregate(large.randomise(np.zeros(16, np.int64)), values=[0])


if __name__ == "__main__":
    warm()
