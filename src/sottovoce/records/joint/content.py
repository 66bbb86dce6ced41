"""What estimates are computed from: the records' design and the reports, compared by content.

An aggregate is frozen data and caches nothing. So that a second question about the same reports
is quick, a few results are kept by the functions that compute them (`functools.lru_cache`), with a
digest of the reports as the key.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...contract.sparse import Sparse

if TYPE_CHECKING:
    from ..records import Records


@dataclass(frozen=True, eq=False)
class Content:
    """Records and an aggregate of their reports; equal where both have the same content."""

    records: Records
    aggregate: Sparse

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that identify the reports and the design."""
        content = hashlib.sha256(self.records.digest)
        content.update(self.aggregate.rows.tobytes())
        content.update(self.aggregate.counts.tobytes())
        return content.digest()

    @property
    def seed(self) -> int:
        """Folds and repetitions repeat with the same reports; they need no secrecy."""
        return int.from_bytes(self.digest[:16], "little")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)
