"""One canonical form of plain data, and its digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..errors import ParameterError


def canonical_digest(kind: str, about: Any) -> bytes:
    """SHA-256 of plain data in one canonical form: sorted keys, no spaces, UTF-8."""
    text = json.dumps(
        about, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    try:
        data = f"sottovoce {kind} v1\n{text}".encode()
    except UnicodeEncodeError as error:
        raise ParameterError(
            f"{error.object[error.start : error.end]!r} is half a character and cannot be written "
            "to a file or message; correct the names and values"
        ) from error
    return hashlib.sha256(data).digest()
