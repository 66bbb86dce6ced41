"""Compile every mechanism's kernels now, so that the first real run does not wait.

Run as ``python -m sottovoce.mechanisms``; numba keeps the compiled code on disk.
"""

from __future__ import annotations

import numpy as np

from . import REGISTRY
from .mechanism import Mechanism
from .numeric import NumericMechanism


def warm() -> None:
    """Run every mechanism once for each width of code."""
    for kind in REGISTRY.values():
        if issubclass(kind, NumericMechanism):
            mechanisms: list[Mechanism] = [kind((0, 1), epsilon=1.0)]
        else:
            sizes = (4, 1 << 10, 1 << 17)
            mechanisms = [kind(d, epsilon=1.0) for d in sizes if d <= kind.most_values]
        for mechanism in mechanisms:
            mechanism.aggregate(mechanism.randomise(np.zeros(16, np.int64)))


if __name__ == "__main__":
    warm()
