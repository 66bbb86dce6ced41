"""Shamir sharing: any `threshold` shares reconstruct, and fewer are independent of the secret.

A secret s is the value at 0 of a random polynomial of degree threshold − 1; party k gets its value
at the point k = 1, 2, …. Sums of shares are shares of the sums.

Reconstruct   s = Σ_k y_k Π_{l≠k} x_l/(x_l − x_k) mod q over any `threshold` points (Lagrange)
Check         every further share must lie on the same polynomial

Shamir, "How to share a secret", Communications of the ACM 22, 1979.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..checks import checked_count
from ..errors import ParameterError, ShareError
from ..randomness import Source
from .field import Elements, PrimeField


def share(
    field: PrimeField,
    secret: ArrayLike,
    parties: int,
    *,
    threshold: int,
    source: Source | None = None,
) -> Elements:
    """The sender's side: split elements of any shape among the parties; row k − 1 is for point k.

    Examples
    --------
    >>> field = PrimeField.covering(0, 100)
    >>> shares = share(field, field.encode([5, 0, 100]), 4, threshold=2)
    >>> field.decode(reconstruct(field, [4, 2], shares[[3, 1]], threshold=2)).tolist()
    [5, 0, 100]
    """
    from ..kernels import field as kernel

    parties = checked_count(parties, "parties", 1)
    threshold = checked_count(threshold, "threshold", 1)
    if threshold > parties:
        raise ParameterError(f"threshold is {threshold}, but there are only {parties} parties")
    if parties >= field.modulus:
        raise ParameterError(
            f"{parties} parties need a field of more elements than the {field.modulus} of this one"
        )
    elements = field.check(secret)
    coefficients = np.empty((threshold, elements.size), np.uint64)
    coefficients[0] = elements.reshape(-1)
    coefficients[1:] = field.uniform((threshold - 1, elements.size), source)
    shares = np.empty((parties, elements.size), np.uint64)
    points = field.prepared(list(range(1, parties + 1)))
    kernel.evaluate(coefficients, points, field.word, field.negative_inverse, shares)
    return shares.reshape((parties, *elements.shape))


def reconstruct(
    field: PrimeField, points: Sequence[int], shares: ArrayLike, *, threshold: int
) -> Elements:
    """The receiver's side: the secrets, from at least `threshold` shares, one row per point.

    All shares beyond the threshold are checked: refused where they contradict.
    """
    threshold = checked_count(threshold, "threshold", 1)
    rows = field.check(shares)
    xs = [checked_count(x, "a point", 1) for x in points]
    if rows.ndim == 0 or len(xs) != rows.shape[0]:
        raise ShareError(f"{len(xs)} points were given for {len(rows) if rows.ndim else 0} shares")
    if len(set(xs)) != len(xs) or max(xs, default=0) >= field.modulus:
        raise ShareError(f"the points {xs} must differ and be below {field.modulus}")
    if len(xs) < threshold:
        raise ShareError(f"{len(xs)} shares are too few; {threshold} are needed")
    flat = rows.reshape(rows.shape[0], -1)
    base = flat[:threshold]
    for x, extra in zip(xs[threshold:], flat[threshold:], strict=True):
        wrong = np.flatnonzero(_at(field, xs[:threshold], base, x) != extra)
        if wrong.size:
            raise ShareError(
                f"the share of party {x} contradicts those of parties {xs[:threshold]} in "
                f"{wrong.size:,} of {extra.size:,} elements; at least one of them was altered"
            )
    return _at(field, xs[:threshold], base, 0).reshape(rows.shape[1:])


def _at(field: PrimeField, xs: list[int], rows: Elements, x: int) -> Elements:
    """The values at x of the polynomials through the points."""
    from ..kernels import field as kernel

    q = field.modulus
    weights = [
        math.prod((x - other) * pow(own - other, -1, q) % q for other in xs if other != own) % q
        for own in xs
    ]
    out = np.empty(rows.shape[1], np.uint64)
    kernel.combine(rows, field.prepared(weights), field.word, field.negative_inverse, out)
    return out
