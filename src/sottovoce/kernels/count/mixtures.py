"""The expectation step of mixtures of a few components."""

from __future__ import annotations

from ..compiling import compiled
from ..vectors import wide_vectors

_LEAST = 1e-300
_FAST = {"reassoc", "contract", "nsz"}


@compiled(interpreted=False, fastmath=_FAST)
def expected_weights(law, weights, counts, back):
    """back = lawᵀ(counts / max(law weights, 1e-300)), each row of `law` read once."""
    wide_vectors()
    back[:] = 0.0
    for i in range(law.shape[0]):
        total = 0.0
        for j in range(weights.size):
            total += law[i, j] * weights[j]
        scale = counts[i] / max(total, _LEAST)
        for j in range(weights.size):
            back[j] += scale * law[i, j]
