"""Files that seem to have the same people: counting them twice is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import MergeError

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate
    from ..contract.collection import Collection
    from .counting import Part


def refuse_equal(collection: Collection, groups: Iterable[Sequence[Part]]) -> None:
    """Raise where files with equal counts are equal, or one has the counts of another.

    Two files of different reports may well have the same counts, so that their content is read
    again; this is rare, since other files need not be.
    """
    for group in groups:
        if len(group) < 2:
            continue
        files = sorted(group, key=lambda part: part.id)
        counts = [part.file for part in files if part.form == "sva"]
        reports = [part.file for part in files if part.form != "sva"]
        if counts and reports:
            raise MergeError(
                f"the reports in {reports[0]!r} give the counts in {counts[0]!r}, "
                "and counting the same people twice would be wrong; leave "
                "one out (few reports may give equal counts by chance: then add --allow-equal)"
            )
        contents: dict[bytes, str] = {}
        for name in counts or reports:
            other = contents.setdefault(b"" if counts else _content(collection, name), name)
            if other != name:
                raise MergeError(
                    f"{other!r} and {name!r} have the same content, and counting "
                    "it twice would be wrong; leave one out (small files may be equal by "
                    "chance: then add --allow-equal)"
                )


def refuse_sum(total: Aggregate, files: Mapping[bytes, Sequence[Part]]) -> None:
    """Raise where one file has the counts of all others together, such as an earlier total.

    Its counts are then half of all; `files` are grouped by the digests of their counts.
    """
    half = _half(total) if sum(map(len, files.values())) > 2 else None
    if half is None:
        return
    for part in files.get(hashlib.sha256(half.to_bytes()).digest(), ()):
        raise MergeError(
            f"{part.file!r} has the counts of all other files together, and counting the same "
            "people twice would be wrong; leave it out, or the others (few reports may add up "
            "to equal counts by chance: then add --allow-equal)"
        )


def _half(total: Aggregate) -> Aggregate | None:
    """Half of all counts, if all of them are even."""
    from ..contract.sparse import Sparse

    counts = [t.counts if isinstance(t, Sparse) else t for t in total.tables.values()]
    odd = total.people % 2 or total.reports % 2 or any((count % 2).any() for count in counts)
    if odd or total.route is not None:  # counts of a protocol come from one run each
        return None
    tables = {
        name: Sparse(table.rows, table.counts // 2) if isinstance(table, Sparse) else table // 2
        for name, table in total.tables.items()
    }
    return replace(total, tables=tables, people=total.people // 2, reports=total.reports // 2)


def _content(collection: Collection, name: str) -> bytes:
    """A digest of a file's reports that is the same in other batches or another form."""
    from ..contract.reports import read_batches

    columns = {column.name: hashlib.sha256() for column in collection.layout}
    for batch in read_batches(name, expect=collection):
        for key, column in batch.columns.items():
            columns[key].update(column.tobytes())
    return b"".join(column.digest() for column in columns.values())
