"""What a party gets at the end: the curator's signature under what was spent and opened."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import fraction_of
from ..contract.collection import canonical_digest
from ..errors import WireError
from ..transport.keys import KeyPair, is_signed

_FIELDS = {"study", "session", "parties", "spent", "sums", "signature"}
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Receipt:
    """What a run spent, signed by the curator."""

    study: bytes  # what was run
    session: bytes
    parties: tuple[str, ...]  # whose data are in the sums
    spent: Mapping[str, Fraction]  # ε of every party, exactly
    sums: bytes  # a digest of what was opened
    signature: bytes = b""  # the curator's

    @property
    def message(self) -> bytes:
        """What is signed."""
        about = self.as_dict()
        del about["signature"]
        return canonical_digest("receipt of a sum", about)

    def signed(self, keys: KeyPair) -> Receipt:
        """The same with a signature."""
        return replace(self, signature=keys.sign(self.message))

    def is_signed_by(self, verify_key: bytes) -> bool:
        """Whether the holder of a key signed it."""
        return is_signed(self.message, self.signature, verify_key)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "study": self.study.hex(),
            "session": self.session.hex(),
            "parties": list(self.parties),
            "spent": {party: str(epsilon) for party, epsilon in self.spent.items()},
            "sums": self.sums.hex(),
            "signature": self.signature.hex(),
        }

    def to_bytes(self) -> bytes:
        """As it is sent and kept: JSON with sorted keys."""
        return json.dumps(self.as_dict(), sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Receipt:
        """The receipt that `to_bytes` wrote; WireError for anything else."""
        try:
            if len(data) > _MOST_BYTES:
                raise ValueError("too long")
            about = json.loads(data.decode())
            if about.keys() != _FIELDS:
                raise ValueError("other fields")
            receipt = cls(
                bytes.fromhex(about["study"]),
                bytes.fromhex(about["session"]),
                tuple(about["parties"]),
                {str(party): fraction_of(str(text)) for party, text in about["spent"].items()},
                bytes.fromhex(about["sums"]),
                bytes.fromhex(about["signature"]),
            )
            if receipt.to_bytes() != data:
                raise ValueError("written otherwise")
        except (ValueError, TypeError, AttributeError, ZeroDivisionError, RecursionError) as error:
            raise WireError("a receipt is malformed; refused") from error
        return receipt


def sums_digest(sums: Sequence[NDArray[np.int64]]) -> bytes:
    """A digest of opened sums; they are public, and large enough not to matter."""
    digest = hashlib.sha256(b"sottovoce opened sums v1")
    for cells in sums:
        digest.update(cells.size.to_bytes(8, "little") + np.asarray(cells, "<i8").tobytes())
    return digest.digest()
