"""What machines check of a batch before they take it in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ShareError, WireError
from .batch import Batch, Role

#: Type and inner shape of every column.
Columns = Mapping[str, tuple[type[Any], tuple[int, ...]]]


def check_batch(
    batch: Batch, number: int, closed: int, sent_by: Role, senders: int, columns: Columns
) -> None:
    """Refuse messages of another round or role, from unknown senders, or of another form."""
    if batch.round != number:
        raise WireError(f"{batch.kind!r} arrived in round {batch.round}; it belongs to {number}")
    if closed >= number:
        raise ShareError(
            f"{batch.kind!r} of {_name(batch)} came late: round {number} was closed; it is not "
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
                f"{name!r} of {_name(batch)} has type {column.dtype} and shape {column.shape[1:]}"
                f"; {np.dtype(kind)} and {shape} are expected"
            )


def _name(batch: Batch) -> str:
    who = sorted(set(batch.sender[:1000].tolist()))
    shown = ", ".join(map(str, who[:3])) + (" and others" if len(who) > 3 else "")
    return f"{batch.sent_by.value} {shown}"
