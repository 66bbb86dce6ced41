"""Files of reports and of counts, merged into one aggregate."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import MergeError
from ...files import opened
from .screen import progress

if TYPE_CHECKING:
    from ...aggregate import Aggregate
    from ...mechanism import Mechanism

_COUNTS = b"SVAG"


def counted(paths: Sequence[Path], mechanism: Mechanism, *, allow_equal: bool) -> Aggregate:
    """What all files come to; a file given twice is refused."""
    _refuse_twice(paths)
    total: Aggregate | None = None
    seen: dict[bytes, Path] = {}
    with progress("counting", sum(_size(path) for path in paths)) as done:
        before = 0
        for path in paths:
            digest = hashlib.sha256()
            for part, read in _parts(path, mechanism, digest.update):
                total = part if total is None else total + part
                done(before + read)
            before += _size(path)
            twin = seen.setdefault(digest.digest(), path)
            if twin is not path and not allow_equal:
                raise MergeError(
                    f"{str(twin)!r} and {str(path)!r} hold the same, and counting it twice would "
                    "be wrong; leave one out (small files may be equal by chance: then add "
                    "--allow-equal)"
                )
    if total is None:
        raise MergeError("there are no files to count; give at least one")
    return total


def _parts(
    path: Path, mechanism: Mechanism, digest: Callable[[bytes], None]
) -> Iterator[tuple[Aggregate, int]]:
    """Counts of a file's parts, each with the number of bytes read so far."""
    from ...aggregate import Aggregate
    from ...report import read_batches

    with opened(path) as stream:
        start = stream.read(4)
    if start == _COUNTS:
        counts = Aggregate.load(path, expect=mechanism)
        mechanism.accept(counts, Aggregate)
        digest(counts.to_bytes())
        yield counts, 0
        return
    read = 0
    columns = {column.name: hashlib.sha256() for column in mechanism.layout}
    for batch in read_batches(path, expect=mechanism):
        # By column, so that the same reports are known again in other batches or another form.
        for name, column in batch.columns.items():
            columns[name].update(column.tobytes())
        read += batch.nbytes
        yield mechanism.aggregate(batch), read
    digest(b"".join(column.digest() for column in columns.values()))


def _refuse_twice(paths: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for path in paths:
        twin = seen.setdefault(path.resolve(), path)
        if twin is not path:
            raise MergeError(
                f"{str(path)!r} was given twice and would be counted twice; leave one out"
            )


def _size(path: Path) -> int:
    with opened(path) as stream:
        return stream.seek(0, 2)
