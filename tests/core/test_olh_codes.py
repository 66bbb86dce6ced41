"""The public codes of local hashing: the first distinct integers of a keystream."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from sottovoce import OLH
from sottovoce.mechanisms import olh
from sottovoce.randomness import Keystream

DIGEST = bytes(range(32))


def first_distinct(size: int, bits: int) -> list[int]:
    """The definition, one word after the other."""
    stream = Keystream(hashlib.sha256(b"sottovoce olh codes v1\n" + DIGEST).digest()[:16])
    codes: dict[int, None] = {}
    while len(codes) < size:
        words = np.empty(4, "<u4")
        stream.fill(words.view(np.uint8).data)
        for word in words.tolist():
            if len(codes) < size:
                codes.setdefault(word >> (32 - bits))
    return list(codes)


@pytest.mark.parametrize(
    ("size", "bits"), [(1, 1), (8, 3), (5, 31), (1000, 10), (1000, 19), (1000, 20), (4096, 12)]
)
def test_codes_are_the_first_distinct_words(size: int, bits: int) -> None:
    assert olh._codes(DIGEST, size, bits).tolist() == first_distinct(size, bits)


def test_codes_of_all_integers_are_drawn_in_few_rounds(monkeypatch) -> None:
    # 65,536 values at this epsilon need every integer of 16 bits, and the last one comes late.
    rounds = []
    draw = olh._words
    monkeypatch.setattr(olh, "_words", lambda *args: rounds.append(1) or draw(*args))
    m = OLH(1 << 16, epsilon=12.0)
    assert m.hashing.shift == 16
    assert np.array_equal(np.sort(m.codes), np.arange(1 << 16))
    assert len(rounds) < 60  # about ln 65,536 are needed
