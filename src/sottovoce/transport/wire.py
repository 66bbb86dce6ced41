"""The bytes of a batch, version 1. Strict: what is not exactly this is refused.

::

    bytes  content
    4      "SVMB"
    4      version, 1, little-endian
    4      length h of the head, little-endian
    h      the head: JSON with sorted keys and no spaces, UTF-8: study and session (hex), kind,
           round, sent_by, sent_to, rows, and payload: [name, type, inner shape] per column
           then sender, receiver and sequence (8 bytes each, little-endian), and every column

Study and session say what the messages belong to; with round, sender, receiver and sequence they
name every message once.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DigestError, WireError
from .batch import Batch, Role

MAGIC = b"SVMB"
VERSION = 1
_HEAD = struct.Struct("<4sII")
_FIELDS = {"study", "session", "kind", "round", "sent_by", "sent_to", "rows", "payload"}
_TYPES = {"|b1", "|u1", "<i4", "<i8", "<u4", "<u8"}
_MOST_HEAD = 1 << 16
_MOST_AXES = 8
_MOST_CELLS = 1 << 40  # in one row of a column


@dataclass(frozen=True)
class Envelope:
    """What all messages of one run belong to."""

    study: bytes  # its digest, 32 bytes
    session: bytes  # 16 random bytes

    def __post_init__(self) -> None:
        if not (isinstance(self.study, bytes) and len(self.study) == 32):
            raise WireError("an envelope needs the digest of a study, 32 bytes")
        if not (isinstance(self.session, bytes) and len(self.session) == 16):
            raise WireError("an envelope needs the name of a session, 16 bytes")


def encode_batch(batch: Batch, envelope: Envelope) -> bytes:
    """The bytes of a batch; the same batch always gives the same."""
    columns = {name: _portable(column) for name, column in batch.payload.items()}
    head = _write_head(
        {
            "study": envelope.study.hex(),
            "session": envelope.session.hex(),
            "kind": batch.kind,
            "round": batch.round,
            "sent_by": batch.sent_by.value,
            "sent_to": batch.sent_to.value,
            "rows": len(batch),
            "payload": [
                [name, column.dtype.str, list(column.shape[1:])] for name, column in columns.items()
            ],
        }
    )
    indices = (batch.sender, batch.receiver, batch.order)
    parts = [np.ascontiguousarray(column, "<i8").tobytes() for column in indices]
    parts += [column.tobytes() for column in columns.values()]
    return b"".join([_HEAD.pack(MAGIC, VERSION, len(head)), head, *parts])


def decode_batch(data: bytes, *, expect: Envelope) -> Batch:
    """The batch that `encode_batch` wrote under the expected envelope, written exactly so."""
    if len(data) < _HEAD.size:
        raise WireError(f"a batch of {len(data)} bytes was cut off; fetch it again")
    magic, version, length = _HEAD.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise WireError(f"a batch begins with {magic!r} and version {version}; refused")
    if length > _MOST_HEAD or len(data) < _HEAD.size + length:
        raise WireError("the head of a batch was cut off, or is too long")
    raw = data[_HEAD.size : _HEAD.size + length]
    head = _read(raw)
    if (head["study"], head["session"]) != (expect.study.hex(), expect.session.hex()):
        raise DigestError("a batch belongs to another study or session; it is not counted")
    return _batch(head, memoryview(data)[_HEAD.size + length :])


def _batch(head: dict[str, Any], body: memoryview) -> Batch:
    rows, offset = head["rows"], 0

    def column(kind: str, inner: list[int]) -> NDArray[Any]:
        nonlocal offset
        dtype = np.dtype(kind)
        size = rows * math.prod(inner) * dtype.itemsize
        if size > len(body) - offset:
            raise WireError("a batch ends too early; it was cut off, fetch it again")
        flat = np.frombuffer(body[offset : offset + size], dtype)
        if kind == "|b1" and flat.size and flat.view(np.uint8).max() > 1:
            raise WireError("a truth value of a batch is neither 0 nor 1")
        offset += size
        return flat.reshape(rows, *inner)

    sender, receiver, sequence = (column("<i8", []) for _ in range(3))
    payload = {name: column(kind, inner) for name, kind, inner in head["payload"]}
    if offset != len(body):
        raise WireError(f"{len(body) - offset} bytes follow the last column; it must be the end")
    roles = Role(head["sent_by"]), Role(head["sent_to"])
    return Batch(head["kind"], head["round"], *roles, sender, receiver, payload, sequence)


def _read(raw: bytes) -> dict[str, Any]:
    try:
        head = json.loads(raw.decode("utf-8"))
        whole = isinstance(head, dict) and head.keys() == _FIELDS and _write_head(head) == raw
    except (ValueError, RecursionError) as error:
        raise WireError("the head of a batch is malformed") from error
    roles = {role.value for role in Role}
    if not (
        whole
        and all(isinstance(head[name], str) for name in ("study", "session", "kind"))
        and all(type(head[name]) is int and head[name] >= 0 for name in ("round", "rows"))
        and head["sent_by"] in roles
        and head["sent_to"] in roles
        and isinstance(head["payload"], list)
        and all(map(_is_column, head["payload"]))
        and len({name for name, _, _ in head["payload"]}) == len(head["payload"])
    ):
        raise WireError("the head of a batch is malformed")
    return dict(head)


def _is_column(entry: Any) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) == 3
        and isinstance(entry[0], str)
        and entry[1] in _TYPES
        and isinstance(entry[2], list)
        and len(entry[2]) <= _MOST_AXES
        and all(type(size) is int and 0 <= size < 1 << 32 for size in entry[2])
        # Also where there are no rows: numpy cannot even shape an empty array of more.
        and math.prod(size or 1 for size in entry[2]) < _MOST_CELLS
    )


def _write_head(head: dict[str, Any]) -> bytes:
    return json.dumps(head, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _portable(column: NDArray[Any]) -> NDArray[Any]:
    little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
    if little.dtype.str not in _TYPES:
        raise WireError(f"a column of type {column.dtype} cannot be sent")
    return little
