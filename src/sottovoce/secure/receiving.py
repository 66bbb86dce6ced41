"""What machines check of a batch before they take it in, and how they name what failed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sharing import Elements

Bits = NDArray[np.uint8]


@dataclass(frozen=True)
class Outcome:
    """What the last server has at the end.

    Attributes
    ----------
    totals : array of uint64, optional
        Field elements, one per item; None where there are none at all.
    failed : mapping of int to str
        Items without a total, and why.
    senders : array of bool
        Whose reports are in the totals.
    """

    totals: Elements | None = None
    failed: dict[int, str] = field(default_factory=dict)
    senders: NDArray[np.bool_] | None = None


def empty_bits(rows: int, members: int) -> Bits:
    """A row of cleared bits, one per member."""
    return np.zeros((rows, -(-members // 8)), np.uint8)


def unpack(bits: Bits, members: int) -> NDArray[np.bool_]:
    """Bits as truth values."""
    flags = np.unpackbits(bits, axis=-1, count=members, bitorder="little")
    return flags.astype(bool)


def pack(flags: NDArray[np.bool_]) -> Bits:
    """Truth values as bits, least significant first."""
    return np.packbits(flags, axis=-1, bitorder="little")


def set_digest(*parts: bytes) -> bytes:
    """A digest of a set of senders, for those who may know the set."""
    return hashlib.sha256(b"\0".join((b"sottovoce senders v1", *parts))).digest()


def name_some(indices: Sequence[Any] | NDArray[Any], what: str) -> str:
    """The first few of them."""
    shown = ", ".join(str(int(i)) for i in indices[:5])
    more = f" and {len(indices) - 5:,} more" if len(indices) > 5 else ""
    return f"{what} {shown}{more}"
