"""Guarantees to test with."""

from __future__ import annotations

from hypothesis import strategies as st

from sottovoce import Guarantee, Promise
from sottovoce.promise import LDP, LIP, Neighbours

NAMES = st.none() | st.text(max_size=9)


def one(epsilon: float, **other: object) -> Guarantee:
    return Guarantee((Promise(LDP, epsilon, **other),))


def lip(epsilon: float, **other: object) -> Promise:
    return Promise(LIP, epsilon, neighbours=Neighbours.BELIEFS, **other)
