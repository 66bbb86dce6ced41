"""The merge of what was counted: each part once, and files that cannot be read as a whole."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import FileError, MergeError, SottovoceError, TransportError, WireError
from ..files import stamp
from .parts import Part, Partial

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate, Sum
    from ..contract.collection import Collection


class Merging:
    """Merges the result of each part once, and knows which files are counted, bad or equal."""

    def __init__(
        self, collection: Collection, parts: Sequence[Part], bad: dict[str, SottovoceError]
    ) -> None:
        from ..contract.aggregate import Sum

        self._collection = collection
        self._parts = parts
        self._bad = bad
        self._results: dict[int, tuple[int, bytes, str]] = {}  # rows, checksum, reason
        self._cuts = Counter(part.file for part in parts)
        self._waiting = self._cuts.copy()
        self._sums: dict[str, Sum] = {}  # of files that are not complete
        self._total = Sum()
        self.files: dict[bytes, list[Part]] = {}  # by the digest of their counts
        self.size = 0  # bytes of what was counted

    def add(self, result: Partial) -> None:
        """Merge a result, unless the part was merged before."""
        part, evidence = self._parts[result.part], (result.rows, result.checksum, result.reason)
        first = self._results.setdefault(part.id, evidence)
        if first is not evidence:
            if first != evidence:
                raise MergeError(
                    f"part {part.id} of {part.file!r} was counted twice with different results "
                    f"({first[0]:,} and {result.rows:,} reports): the file changed meanwhile, or a "
                    "worker has other software; count again"
                )
            return
        self.size += part.size
        self._waiting[part.file] -= 1
        if result.kind:
            if not isinstance(result.error, (WireError, FileError)):
                raise result.error
            self._bad.setdefault(part.file, result.error)
        elif part.file not in self._bad:
            self._add(part, result)
        if not self._waiting[part.file]:
            if part.stamp and part.stamp != _stamp(part.file):
                self._bad[part.file] = FileError(
                    f"{part.file!r} changed while it was counted; count it when it is complete"
                )
            if file := self._sums.pop(part.file, None):
                self._add_file(part, file.total(), result.checksum)

    def _add(self, part: Part, result: Partial) -> None:
        from ..contract.aggregate import Aggregate, Sum

        if hashlib.sha256(result.counts).digest() != result.checksum:
            raise MergeError(f"the counts of part {part.id} of {part.file!r} arrived damaged")
        counts = Aggregate.from_bytes(result.counts, expect=self._collection)
        self._sums.setdefault(part.file, Sum()).add(counts)

    def _add_file(self, part: Part, counts: Aggregate | None, digest: bytes) -> None:
        """Add the counts of a file, of which `digest` is that of its last part."""
        if part.file in self._bad or counts is None:
            return
        self._total.add(counts)
        if counts.people:
            if self._cuts[part.file] > 1:
                digest = hashlib.sha256(counts.to_bytes()).digest()
            self.files.setdefault(digest, []).append(part)

    def finish(self) -> Aggregate | None:
        """The counts of all good files; an engine that lost a part is an error."""
        lost = len(self._parts) - len(self._results)
        if lost:
            raise TransportError(
                f"{lost:,} of {len(self._parts):,} parts came back without a result; nothing was "
                "counted, try again"
            )
        return self._total.total()

    def refuse_bad(self, files: int) -> None:
        """Raise where files cannot be read, with all of them."""
        if not self._bad:
            return
        if len(self._bad) == 1 == files:
            raise next(iter(self._bad.values()))
        kinds = {type(error) for error in self._bad.values()}
        kind = kinds.pop() if len(kinds) == 1 else WireError
        others = " (`sottovoce aggregate --skip-bad` counts the others)"
        raise kind(
            f"{len(self._bad):,} of {files:,} files cannot be read, and nothing was counted"
            + (others if len(self._bad) < files else "")
            + ": "
            + "; ".join(map(str, self._bad.values()))
        )


def _stamp(name: str) -> tuple[int, ...]:
    try:
        return stamp(name)
    except OSError:
        return ()  # it is gone
