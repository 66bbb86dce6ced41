"""Files of reports and of counts, merged into one aggregate; nobody is silently counted twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MergeError, ParameterError, WireError
from ..files import opened, read_file
from .progress import Done, Progress, silent
from .recognise import not_reports, recognise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract.aggregate import Aggregate
    from ..contract.collection import Collection


@dataclass(frozen=True)
class _Print:
    """What identifies a file: a digest of its content, and one of its counts."""

    path: Path
    counts: bool
    content: bytes
    sum: bytes

    def refuse(self, other: _Print) -> None:
        """Raise where both files seem to have the same people."""
        if self.content == other.content:
            raise MergeError(
                f"{str(self.path)!r} and {str(other.path)!r} have the same content, and counting "
                "it twice would be wrong; leave one out (small files may be equal by chance: then "
                "add "
                "--allow-equal)"
            )
        # Two files of different reports may well have the same counts.
        if self.sum == other.sum and self.counts != other.counts:
            reports, counts = (other, self) if self.counts else (self, other)
            raise MergeError(
                f"the reports in {str(reports.path)!r} give the counts in {str(counts.path)!r}, "
                "and counting the same people twice would be wrong; leave "
                "one out (few reports may give equal counts by chance: then add --allow-equal)"
            )


def count_files(
    paths: Sequence[Path],
    collection: Collection,
    *,
    allow_equal: bool,
    progress: Progress = silent,
    candidates: Path | None = None,
) -> Aggregate:
    """The total of all files; a file given twice, or as reports and as counts, is refused.

    With a file of candidates, only the values in it are counted, and stored counts must be of them.
    """
    chosen = None if candidates is None else read_candidates(candidates, collection)
    _refuse_twice(paths)
    total: Aggregate | None = None
    prints: list[_Print] = []
    with progress("counting", sum(_size(path) for path in paths)) as done:
        before = 0
        for path in paths:
            what = recognise(path)
            if not_reports(path, what):
                raise WireError(not_reports(path, what))
            counts = what == "counts"
            own, content = (
                _load_counts(path, collection, chosen)
                if counts
                else _count_reports(path, collection, chosen, partial(_progress, done, before))
            )
            before += _size(path)
            done(before)
            mine = _Print(path, counts, content, hashlib.sha256(own.to_bytes()).digest())
            for other in () if allow_equal else prints:
                other.refuse(mine)
            prints.append(mine)
            total = own if total is None else total + own
    if total is None:
        raise MergeError("there are no files to count; give at least one")
    return total


def _progress(done: Done, before: int, read: int) -> None:
    done(before + read)


def read_candidates(path: Path, collection: Collection) -> NDArray[np.int64]:
    """Positions of the values in a file, one on each line."""
    from ..domain.candidates import values_in_text

    try:
        lines = read_file(path).decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ParameterError(
            f"{str(path)!r} is not text in UTF-8, one value on each line"
        ) from error
    lines = [line.removesuffix("\r") for line in lines]
    blank = [k for k, line in enumerate(lines, 1) if not line.strip()]
    if blank:
        raise ParameterError(
            f"line {blank[0]} of {str(path)!r} is blank; give one value on each line"
        )
    try:
        return collection.positions(values_in_text(collection.attributes[0], lines))
    except ParameterError as error:
        raise ParameterError(f"{str(path)!r}: {error}") from error


def _load_counts(
    path: Path, collection: Collection, chosen: NDArray[np.int64] | None
) -> tuple[Aggregate, bytes]:
    """Counts that were stored, and a digest of them."""
    from ..contract.aggregate import Aggregate, equal_candidates
    from ..randomness import refuse_seeded

    counts = Aggregate.load(path, expect=collection)
    if counts.seeded:
        refuse_seeded("these are")
    if chosen is not None and not equal_candidates(chosen, counts.candidates):
        what = "all values" if counts.candidates is None else "other values or in another order"
        raise MergeError(
            f"{str(path)!r} holds counts of {what}; the candidates apply to reports only, so count "
            "these again"
        )
    return counts, hashlib.sha256(counts.to_bytes()).digest()


def _count_reports(
    path: Path, collection: Collection, chosen: NDArray[np.int64] | None, done: Done
) -> tuple[Aggregate, bytes]:
    """The counts of a file's reports, and a digest of them."""
    from ..contract.reports import read_batches

    read = 0
    total: Aggregate | None = None
    # By column, so that the same reports are known again in other batches or another form.
    columns = {column.name: hashlib.sha256() for column in collection.layout}
    for batch in read_batches(path, expect=collection):
        for name, column in batch.columns.items():
            columns[name].update(column.tobytes())
        part = collection.count_chosen(batch, chosen)
        total = part if total is None else total + part
        read += batch.nbytes
        done(read)
    if total is None:
        raise MergeError(f"{str(path)!r} holds no reports; leave it out")
    digests = b"".join(column.digest() for column in columns.values())
    return total, hashlib.sha256(digests).digest()


def _refuse_twice(paths: Sequence[Path]) -> None:
    first: dict[Path, Path] = {}
    for path in paths:
        twin = first.setdefault(path.resolve(), path)
        if twin is not path:
            raise MergeError(
                f"{str(path)!r} was given twice and would be counted twice; leave one out"
            )


def _size(path: Path) -> int:
    with opened(path) as stream:
        return stream.seek(0, 2)
