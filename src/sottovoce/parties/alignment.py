"""Rows of several parties in one order: sorted by a shared key, and checked without showing it.

Every party sorts its rows by key. The parties then compare their numbers of rows and one digest of
all keys, HMAC-SHA256 under a secret to which every party contributed 32 random bytes. The curator
gets neither the digest nor the secret: keys have few possible values, and whoever can compute a
digest can try them all.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.columns import first_few
from ..errors import AnswerError, ShareError
from ..sharing.masks import derive_key
from ..sharing.triples import Codes

SECRET_BYTES = 32
_HEAD = b"sottovoce alignment v1"


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of one party's rows."""

    order: NDArray[np.intp]  # which row comes first, second, … when rows are sorted by key
    texts: NDArray[np.bytes_]  # the keys in that order

    @classmethod
    def of(cls, column: Any, name: str = "the key") -> Keys:
        """Check a column of keys (text or whole numbers; 7 and "7" are the same), and sort it.

        Examples
        --------
        >>> Keys.of([30, 4, 12]).texts.tolist()
        [b'12', b'30', b'4']
        """
        texts = _texts(column, name)
        order = np.argsort(texts, kind="stable")
        texts = texts[order]
        same = np.flatnonzero(texts[1:] == texts[:-1])
        if same.size:
            rows = sorted(order[same[0] : same[0] + 2].tolist())
            raise AnswerError(
                f"{name}: {same.size:,} keys occur more than once (rows {rows[0]} and {rows[1]} "
                "have the same); every person must have one row"
            )
        return cls(order, texts)

    def digest(self, secret: bytes) -> bytes:
        """Of all keys, for parties who know the secret."""
        digest = hmac.new(secret, _HEAD, hashlib.sha256)
        digest.update(len(self.texts).to_bytes(8, "little"))
        digest.update(b"\0".join(self.texts.tolist()))
        return digest.digest()


@dataclass(frozen=True, eq=False)
class Columns:
    """A party's columns as one axis: the position of every row on it, sorted by key."""

    codes: Codes
    keys: Keys

    def __len__(self) -> int:
        return len(self.codes)


def common_secret(study: bytes, contributions: Mapping[int, bytes]) -> bytes:
    """The secret of all parties; uniform as long as one contribution is."""
    material = b"".join(contributions[k] for k in sorted(contributions))
    return derive_key(material, _HEAD, salt=study)


def check_rows(parties: Sequence[str], rows: Mapping[int, int]) -> int:
    """The common number of rows, or an error that names everyone's."""
    if len(set(rows.values())) != 1:
        counts = ", ".join(f"{parties[k]!r} {n:,}" for k, n in sorted(rows.items()))
        raise ShareError(
            f"the parties have different numbers of rows ({counts}); nothing was released. Every "
            "party needs exactly one row for each of the same people"
        )
    return next(iter(rows.values()))


def check_digests(parties: Sequence[str], digests: Mapping[int, bytes]) -> None:
    """Stop unless all parties have the same keys; the error names who disagrees."""
    missing = [parties[k] for k in range(len(parties)) if k not in digests]
    if missing:
        raise ShareError(
            f"the digest of {first_few(missing)} is missing, so rows cannot be compared; "
            "nothing was released"
        )
    groups: dict[bytes, list[str]] = {}
    for k, digest in sorted(digests.items()):
        groups.setdefault(digest, []).append(parties[k])
    if len(groups) > 1:
        sides = sorted(groups.values(), key=len, reverse=True)
        differ = "; ".join(" and ".join(map(repr, side)) for side in sides)
        raise ShareError(
            f"the keys of the parties differ: {differ} have {len(sides)} different sets of keys; "
            "nothing was released. Every party needs exactly one row for each of the same people"
        )


def _texts(column: Any, name: str) -> NDArray[np.bytes_]:
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    array = values if isinstance(values, np.ndarray) else np.array(list(values), dtype=object)
    if array.ndim != 1 or array.size == 0:
        raise AnswerError(f"{name} is one column with one entry per person; {array.shape} is not")
    if array.dtype.kind in "iu":
        return array.astype(np.bytes_)
    texts = [_text(value, name, row) for row, value in enumerate(array.tolist())]
    return np.array(texts, dtype=np.bytes_)


def _text(value: Any, name: str, row: int) -> bytes:
    if isinstance(value, str):
        text = value.encode()
        if text and b"\0" not in text:
            return text
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(int(value)).encode()
    if value is None or value == "" or value != value:
        raise AnswerError(f"{name}: the key in row {row} is missing; every person must have one")
    raise AnswerError(
        f"{name}: the key in row {row} is of type {type(value).__name__}; keys are text or whole "
        "numbers"
    )
