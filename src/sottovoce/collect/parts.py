"""What a task counts, and what it gives back: all that travels between here and an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .. import errors
from ..errors import SottovoceError, TransportError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract.collection import Collection
    from ..contract.reports import Form


@dataclass(frozen=True, slots=True)
class Job:
    """What is counted: all values of a collection, or those at chosen positions."""

    collection: Collection
    chosen: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What one task counts: some row groups or envelopes of a file, or a file of counts."""

    id: int
    file: str
    form: Form | Literal["sva"]
    cut: tuple[int, int] | None  # None: the whole file
    size: int  # in bytes, more or less, for progress
    stamp: tuple[int, ...] = ()  # of a file that was cut, before that


@dataclass(frozen=True, slots=True)
class Partial:
    """What a task gives back: the counts of a part, or why it cannot be read.

    Attributes
    ----------
    part, rows, checksum : int, int, bytes
        Which part was counted, how many reports it has, and the SHA-256 of the counts: what a
        second result for the part must agree with.
    counts : bytes
        The aggregate, in its stored form.
    kind, reason : str
        The error's class and message where there are no counts.
    """

    part: int
    rows: int = 0
    checksum: bytes = b""
    counts: bytes = b""
    kind: str = ""
    reason: str = ""

    @property
    def error(self) -> SottovoceError:
        """Why there are no counts."""
        kind = getattr(errors, self.kind, None)  # a worker may deliver anything
        if not (isinstance(kind, type) and issubclass(kind, SottovoceError)):
            kind = TransportError
        return kind(self.reason)
