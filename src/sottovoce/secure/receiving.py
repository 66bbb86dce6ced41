"""What machines check of a batch before they take it in, and how they name what failed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..sharing import Elements
from ..transport import Batch, Role

Bits = NDArray[np.uint8]
Columns = Mapping[str, tuple[type[Any], tuple[int, ...]]]


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


def check_batch(
    batch: Batch, number: int, closed: int, sent_by: Role, senders: int, columns: Columns
) -> None:
    """Refuse messages of another round or role, from unknown senders, or of another form."""
    if batch.round != number:
        raise WireError(f"{batch.kind!r} arrived in round {batch.round}; it belongs to {number}")
    if closed >= number:
        raise ShareError(
            f"{batch.kind!r} of {_named(batch)} came late: round {number} was closed; it is not "
            "counted"
        )
    if batch.sent_by is not sent_by:
        raise WireError(f"{batch.kind!r} came from {batch.sent_by.value!r}, not {sent_by.value!r}")
    unknown = (batch.sender < 0) | (batch.sender >= senders)
    if unknown.any():
        raise WireError(
            f"{batch.kind!r} came from {sent_by.value} {int(batch.sender[unknown][0])}, who is not "
            f"among the {senders:,} of the roster"
        )
    if set(batch.payload) != set(columns):
        raise WireError(f"{batch.kind!r} has the columns {sorted(batch.payload)}")
    for name, (kind, shape) in columns.items():
        column = batch.payload[name]
        if column.dtype != kind or column.shape[1:] != shape:
            raise WireError(
                f"{name!r} of {_named(batch)} has type {column.dtype} and shape {column.shape[1:]}"
                f"; {np.dtype(kind)} and {shape} are expected"
            )


def _named(batch: Batch) -> str:
    who = sorted(set(batch.sender[:1000].tolist()))
    shown = ", ".join(map(str, who[:3])) + (" and others" if len(who) > 3 else "")
    return f"{batch.sent_by.value} {shown}"


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
