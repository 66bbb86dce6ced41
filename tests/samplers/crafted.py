"""Crafted randomness, and slow references in plain integers of what the kernels must do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sottovoce.randomness import BITS, Source

ALL = (1 << 64) - 1


class Scripted(Source):
    """A source that hands out arrays made by `script(call, words)`, and remembers them.

    `words` is how many 64-bit words are asked for.
    """

    def __init__(self, script: Callable[[int, int], np.ndarray]) -> None:
        self.script = script
        self.filled: list[np.ndarray] = []

    def _fill(self, target: memoryview) -> None:
        words = -(-len(target) // 8)
        script = np.ascontiguousarray(self.script(len(self.filled), words), np.uint64)
        assert script.size == words
        self.filled.append(script)
        target[:] = script.tobytes()[: len(target)]


def threshold_words(numerator: int) -> tuple[np.uint64, np.uint64]:
    return np.uint64(numerator >> 64), np.uint64(numerator & ALL)


def below_threshold(bits: str, numerator: int, fresh: Iterator[int]) -> bool:
    """Are 128 random bits, of which `bits` are drawn already, below the threshold?

    Further bits come as 64-bit words from `fresh`, only while undecided.
    """
    target = format(numerator, f"0{BITS}b")
    head = target[: len(bits)]
    if bits != head:
        return bits < head
    rest = target[len(bits) :].ljust(128, "0")
    for part in (rest[:64], rest[64:]):
        if "1" not in rest:
            return False  # nothing can be below zero, so nothing is drawn
        word = format(next(fresh), "064b")
        if word != part:
            return word < part
    return False


def multiply_shift(bound: int, word: int, bits: int, fresh: Iterator[int]) -> int:
    """Uniform below `bound`: high part of word * bound, drawn again while it would be uneven."""
    product = (word & ((1 << bits) - 1)) * bound
    uneven = (1 << bits) % bound
    while product % (1 << bits) < uneven:
        bits, uneven = 32, (1 << 32) % bound
        product = (next(fresh) & 0xFFFFFFFF) * bound
    return product >> bits


def words(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, ALL, n, np.uint64, endpoint=True)


def seldom(rng: np.random.Generator, n: int, special: list[int], chance: float) -> np.ndarray:
    """Random words among which the special ones are frequent."""
    script = words(rng, n)
    here = rng.random(n) < chance
    script[here] = rng.choice(np.array(special, np.uint64), int(here.sum()))
    return script


def as_ints(array: Any) -> list[int]:
    return [int(value) for value in array]
