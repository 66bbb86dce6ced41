"""The contracts that every mechanism keeps.

A mechanism is one frozen object that owns its parameters: sampling, decoding, estimating,
variance and guarantee all derive from it. The laws, checked over the whole registry by
``tests/laws``, are: the exact epsilon of `channel()` is at most the guarantee; the default
unbiased estimate has the truth as its expectation and `covariance` as its covariance; aggregates
form a commutative monoid; decoding inverts encoding.
"""

from __future__ import annotations

from .channel import Channel, product_row
from .contract import SEEDED, TOO_SMALL, Mechanism, Method, canonical_digest
from .design import Design, Requirement
from .linear import (
    TINY,
    LinearMechanism,
    parts_may_be_useless,
    warn_if_useless,
)
from .parts import parts_of
from .pure import PureMechanism

__all__ = [
    "SEEDED",
    "TINY",
    "TOO_SMALL",
    "Channel",
    "Design",
    "LinearMechanism",
    "Mechanism",
    "Method",
    "PureMechanism",
    "Requirement",
    "canonical_digest",
    "parts_may_be_useless",
    "parts_of",
    "product_row",
    "warn_if_useless",
]
