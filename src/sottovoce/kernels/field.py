"""Arithmetic modulo an odd number q below 2^63, in 64-bit words.

Products follow Montgomery: `_product(a, b)` is a b 2^−64 mod q, so that multiplying by a constant
x costs one such product when x 2^64 mod q is prepared beforehand.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ZERO = np.uint64(0)


@compiled(interpreted=False, inline="always")
def _high(a, b):
    """The upper 64 bits of a b."""
    a0, a1 = a & _LOW, a >> _HALF
    b0, b1 = b & _LOW, b >> _HALF
    middle = a1 * b0 + ((a0 * b0) >> _HALF)
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _HALF) + (other >> _HALF)


@compiled(interpreted=False, inline="always")
def _product(a, b, modulus, inverse):
    """a b 2^−64 mod q, for a, b < q; `inverse` is −1/q mod 2^64."""
    low = a * b
    carry = np.uint64(1) if low != _ZERO else _ZERO
    total = _high(a, b) + _high(low * inverse, modulus) + carry
    return total - modulus if total >= modulus else total


@compiled(interpreted=False, inline="always")
def _add(a, b, modulus):
    total = a + b
    return total - modulus if total >= modulus else total


@compiled(interpreted=False)
def elements32(words, modulus, limit, out):
    """Fill each row of `out` with uniform elements below q ≤ 2^32 from 32-bit words of its row.

    A word w gives ⌊w q / 2^32⌋ unless (w q mod 2^32) < limit = 2^32 mod q; such words are left out.
    Returns how many elements each row got: a row with too few words comes up short.
    """
    counts = np.zeros(out.shape[0], np.int64)
    for i in range(out.shape[0]):
        done = 0
        for j in range(words.shape[1]):
            if done == out.shape[1]:
                break
            product = np.uint64(words[i, j]) * modulus
            if (product & _LOW) >= limit:
                out[i, done] = product >> _HALF
                done += 1
        counts[i] = done
    return counts


@compiled(interpreted=False)
def elements64(words, modulus, limit, out):
    """The same from 64-bit words, for larger q: ⌊w q / 2^64⌋, limit = 2^64 mod q."""
    counts = np.zeros(out.shape[0], np.int64)
    for i in range(out.shape[0]):
        done = 0
        for j in range(words.shape[1]):
            if done == out.shape[1]:
                break
            if words[i, j] * modulus >= limit:
                out[i, done] = _high(words[i, j], modulus)
                done += 1
        counts[i] = done
    return counts


@compiled(interpreted=False)
def add_rows(rows, modulus, total):
    """Add every row to `total`, modulo q."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            total[j] = _add(total[j], rows[i, j], modulus)


@compiled(interpreted=False)
def last_share(secret, shares, modulus, out):
    """What is missing: secret − Σ shares, modulo q."""
    for j in range(secret.size):
        out[j] = secret[j]
    for i in range(shares.shape[0]):
        for j in range(secret.size):
            out[j] = _add(out[j], modulus - shares[i, j], modulus)


@compiled(interpreted=False)
def evaluate(coefficients, points, modulus, inverse, out):
    """Polynomials at points (prepared: x 2^64 mod q): out[k, j] = Σ_d coefficients[d, j] x_k^d."""
    degree = coefficients.shape[0] - 1
    for k in range(points.size):
        x = points[k]
        for j in range(coefficients.shape[1]):
            value = coefficients[degree, j]
            for d in range(degree - 1, -1, -1):
                value = _add(_product(value, x, modulus, inverse), coefficients[d, j], modulus)
            out[k, j] = value


@compiled(interpreted=False)
def combine(rows, weights, modulus, inverse, out):
    """Σ_k weights_k rows[k], weights prepared (w 2^64 mod q)."""
    for j in range(rows.shape[1]):
        total = _ZERO
        for k in range(rows.shape[0]):
            total = _add(total, _product(rows[k, j], weights[k], modulus, inverse), modulus)
        out[j] = total


@compiled(interpreted=False)
def add_once(values, slot, who, modulus, seen, totals, repeated):
    """Add each row of `values` to the total of its slot, each sender once per slot.

    `seen` has a row of bits per slot, one per sender, least significant first. A sender's second
    row is not added, and the slot is marked as `repeated`.
    """
    for r in range(values.shape[0]):
        s, w = slot[r], who[r]
        bit = np.uint8(1 << (w & 7))
        if seen[s, w >> 3] & bit:
            repeated[s] = True
            continue
        seen[s, w >> 3] |= bit
        for j in range(values.shape[1]):
            totals[s, j] = _add(totals[s, j], values[r, j], modulus)
