"""Files that seem to have the same people: counting them twice is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..errors import MergeError

if TYPE_CHECKING:
    from ..contract.collection import Collection
    from .counting import Part


def refuse_equal(collection: Collection, groups: Iterable[Sequence[Part]]) -> None:
    """Raise where files with equal counts are equal, or one has the counts of another.

    Two files of different reports may well have the same counts, so that their content is read
    again; this is rare, since other files need not be.
    """
    for group in groups:
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


def _content(collection: Collection, name: str) -> bytes:
    """A digest of a file's reports that is the same in other batches or another form."""
    from ..contract.reports import read_batches

    columns = {column.name: hashlib.sha256() for column in collection.layout}
    for batch in read_batches(name, expect=collection):
        for key, column in batch.columns.items():
            columns[key].update(column.tobytes())
    return b"".join(column.digest() for column in columns.values())
