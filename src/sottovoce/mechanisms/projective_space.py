"""The points of a projective space over the integers modulo a prime w, and how many there are.

How values and outputs are numbered: `kernels.draw.projective`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..randomness import exp
from .mechanism import TOO_SMALL

MOST_OUTPUTS = 1 << 26  # an aggregate has a count for each: 512 MiB


def points(order: int, dimension: int) -> int:
    """How many points have that many coordinates."""
    return (order**dimension - 1) // (order - 1) if dimension > 0 else 0


def output_vectors(outputs: NDArray[Any], order: int, dimension: int) -> NDArray[np.int64]:
    """The coordinates of outputs, one row each; the first that is not 0 is 1."""
    node = outputs.astype(np.int64)
    vectors = np.zeros((node.size, dimension), np.int64)
    for k in range(dimension - 1, -1, -1):
        vectors[:, k] = np.where(node > 0, (node - 1) % order, node == 0)
        node = np.where(node > 0, (node - 1) // order, -1)
    return vectors


def value_vectors(codes: NDArray[Any], order: int, dimension: int) -> NDArray[np.int64]:
    """The coordinates of values, one row each; the last that is not 0 is 1."""
    code = codes.astype(np.int64)
    vectors = np.zeros((code.size, dimension), np.int64)
    for last in range(dimension):
        start = points(order, last)
        rows = (code >= start) & (code < start + order**last)
        vectors[rows, last] = 1
        digits = code[rows] - start
        for k in range(last - 1, -1, -1):
            vectors[rows, k] = digits % order
            digits //= order
    return vectors


@lru_cache(maxsize=4)
def mirror(order: int, dimension: int) -> NDArray[np.int64]:
    """For every value, the output whose coordinates are those of the value in reverse.

    Since ⟨u, v⟩ does not change when both are reversed, it turns sums over the outputs of each
    value into sums over the values of each output.
    """
    vectors = value_vectors(np.arange(points(order, dimension)), order, dimension)
    node = np.full(len(vectors), -1, np.int64)
    for k in range(dimension - 1, -1, -1):
        digit = vectors[:, k]
        node = np.where(node >= 0, node * order + 1 + digit, digit - 1)
    return node


def least_dimension(order: int, size: int) -> int:
    """The fewest coordinates with a point for each of `size` values, at least two."""
    dimension = 2
    while points(order, dimension) < size:
        dimension += 1
    return dimension


def check_order(order: int, size: int) -> None:
    """Refuse an order that is no prime, or that needs too many outputs."""
    if isinstance(order, bool) or not isinstance(order, int):
        raise ParameterError(f"order is {order!r}; it must be a whole number, a prime")
    if not 2 <= order < MOST_OUTPUTS or _first_prime(range(order, order + 1)) is None:
        raise ParameterError(f"order is {order}; it must be a prime below {MOST_OUTPUTS:,}")
    cells = points(order, least_dimension(order, size))
    if cells > MOST_OUTPUTS:
        raise ParameterError(
            f"order is {order}: {size:,} values then need {cells:,} outputs, and at most "
            f"{MOST_OUTPUTS:,} are counted; choose another prime or leave it out"
        )


@lru_cache(maxsize=256)
def best_order(epsilon: float, size: int) -> int:
    """The prime with the lowest total variance, and of those the one with the fewest outputs."""
    power = exp(epsilon)
    less = power - 1
    if less == 0:
        raise ParameterError(TOO_SMALL.format(epsilon=epsilon))

    def total(order: int, dimension: int) -> Fraction:
        cells, s, common = (points(order, dimension - k) for k in range(3))
        b = 1 / (s * power + cells - s)
        p, q, gap = s * power * b, (common * less + s) * b, (s - common) * less * b
        return size * q * (1 - q) / gap**2 + (1 - p - q) / gap

    choices = {
        (total(order, dimension), points(order, dimension), order)
        for order, dimension in _orders(size, total)
    }
    if not choices:
        raise ParameterError(
            f"{size:,} values need more than {MOST_OUTPUTS:,} outputs, a count for each of which "
            "would have to be kept; use 'olh' or 'hadamard'"
        )
    return min(choices)[-1]


def _orders(size: int, total: Callable[[int, int], Fraction]) -> Iterator[tuple[int, int]]:
    """For every t the primes next to the w of the lowest variance, if t is the least for them.

    The variance falls with w up to there, about e^ε + 1 for many values, and rises from there.
    """

    def rises(order: int, dimension: int) -> bool:
        return total(order, dimension) <= total(order + 1, dimension)

    primes = range(2, MOST_OUTPUTS)
    fewer = MOST_OUTPUTS  # from there on fewer coordinates are enough
    for dimension in range(2, MOST_OUTPUTS.bit_length()):
        many = partial(points, dimension=dimension)
        least = 2 + bisect_left(primes, size, key=many)
        most = min(1 + bisect_right(primes, MOST_OUTPUTS, key=many), fewer - 1)
        fewer = min(least, fewer)
        if least > most:
            continue
        middle = bisect_left(range(least, most), True, key=partial(rises, dimension=dimension))
        for numbers in (range(least + middle, most + 1), range(least + middle, least - 1, -1)):
            order = _first_prime(numbers)
            if order is not None:
                yield order, dimension


@lru_cache(maxsize=4096)
def _first_prime(numbers: range) -> int | None:
    primes = (n for n in numbers if all(n % k for k in range(2, math.isqrt(n) + 1)))
    return next(primes, None)
