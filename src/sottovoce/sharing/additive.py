"""Additive sharing: all shares but one are uniform, and together they add up to the secret.

Any shares but one are independent of the secret. All are needed, so a missing share leaves a
uniformly random element: the layer above must count them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import checked_count
from ..errors import ShareError
from ..randomness import Source
from .field import Elements, PrimeField


def share(
    field: PrimeField, secret: ArrayLike, parties: int, *, source: Source | None = None
) -> Elements:
    """The sender's side: split elements of any shape among the parties, one row each.

    A single share is the secret itself.

    Examples
    --------
    >>> field = PrimeField.covering(0, 100)
    >>> shares = share(field, field.encode([5, 0, 100]), 3)
    >>> field.decode(reconstruct(field, shares)).tolist()
    [5, 0, 100]
    """
    from ..kernels import field as kernel

    parties = checked_count(parties, "parties", 1)
    elements = field.check(secret)
    shares = np.empty((parties, elements.size), np.uint64)
    shares[:-1] = field.uniform((parties - 1, elements.size), source)
    kernel.last_share(elements.reshape(-1), shares[:-1], field.word, shares[-1])
    return shares.reshape((parties, *elements.shape))


def reconstruct(field: PrimeField, shares: ArrayLike) -> Elements:
    """The receiver's side: the sum of all shares, one row each."""
    rows = field.check(shares)
    if rows.ndim == 0 or rows.shape[0] == 0:
        raise ShareError("there are no shares to add up")
    return field.add_rows(rows.reshape(rows.shape[0], -1)).reshape(rows.shape[1:])
