"""Prefixes of texts: the depths of the tree, their codes, and the candidates of a depth.

A prefix is a row of symbols. Where all prefixes of a depth have codes of their own, its code is
its number in base |alphabet| + 1. Where there are more than the mechanism has codes, R, it is a
public tabulation hash, keyed by the digest: the exclusive or of one random word per position and
symbol. Two different prefixes then have the same code with probability 1/R (Zobrist 1970; Carter,
Wegman 1979).
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_count
from ..domain.text import Symbols
from ..domain.values import code_dtype
from ..errors import ParameterError
from ..randomness import Keystream

#: A step lengthens a prefix in about as many ways, unless one symbol alone has more.
MOST_WAYS = 2048
_MOST_CHOSEN = 1 << 16


def default_step(base: int) -> int:
    """The most symbols by which prefixes grow at a depth, so that there are few candidates."""
    step = 1
    while base ** (step + 1) <= MOST_WAYS:
        step += 1
    return step


def checked_step(step: int | None, base: int, length: int) -> int:
    """The step, or the default one; refused where prefixes would have too many continuations."""
    if step is None:
        return min(default_step(base), length)
    symbols = min(checked_count(step, "step", 1), length)
    if symbols > 1 and base**symbols > _MOST_CHOSEN:
        raise ParameterError(
            f"step is {step}: a prefix would have about {base**symbols:,} continuations; at most "
            f"{_MOST_CHOSEN:,} can be counted; choose a smaller one"
        )
    return symbols


def depths_of(length: int, step: int) -> tuple[int, ...]:
    """The lengths of prefixes, one for each depth of the tree, in nearly equal steps."""
    many = -(-length // step)
    return tuple(-(-length * k // many) for k in range(1, many + 1))


def grow(prefixes: Symbols, symbols: int, alphabet: int) -> Symbols:
    """Every prefix that begins with one of `prefixes` and is longer by so many symbols.

    A text that has ended can only go on with its end.
    """
    rows = prefixes
    dtype = code_dtype(alphabet + 1)
    for _ in range(symbols):
        ended = rows[:, -1] == 0 if rows.shape[1] else np.zeros(len(rows), bool)
        many = np.where(ended, 1, alphabet + 1)
        first = np.repeat(np.cumsum(many) - many, many)
        last = (np.arange(first.size) - first).astype(dtype)
        rows = np.column_stack([np.repeat(rows, many, axis=0), last])
    return rows


def ways_to_grow(symbols: int, alphabet: int) -> int:
    """How many prefixes `grow` makes of one that has not ended."""
    return sum(alphabet**k for k in range(symbols + 1))


class Numbering:
    """The codes of all prefixes of one depth.

    Attributes
    ----------
    hashed : bool
        Whether two prefixes may have the same code.
    """

    def __init__(self, base: int, depth: int, most_codes: int, digest: bytes) -> None:
        self.hashed = base**depth > most_codes
        if not self.hashed:
            powers = [base ** (depth - 1 - k) for k in range(depth)]
            self._words = np.outer(np.array(powers, np.uint64), np.arange(base, dtype=np.uint64))
            return
        about = b"sottovoce prefixes v1\n" + depth.to_bytes(2, "little") + digest
        words = np.empty((depth, base), "<u8")
        Keystream(hashlib.sha256(about).digest()[:16]).fill(words.reshape(-1).view(np.uint8).data)
        self._words = words.astype(np.uint64) & np.uint64(most_codes - 1)

    def codes(self, prefixes: Symbols) -> NDArray[np.uint64]:
        """The code of each prefix."""
        total = np.zeros(len(prefixes), np.uint64)
        join = np.bitwise_xor if self.hashed else np.add
        for words, column in zip(self._words, prefixes.T, strict=True):
            join(total, words[column], out=total)
        return total
