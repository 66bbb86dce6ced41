"""Files of reports and of counts, merged into one aggregate; nobody is silently counted twice.

Every engine does the same two steps: `count_part` for each part of the files, wherever it runs,
and the merge of the results, here. Counts are integers, so that the order never matters, and each
part is merged once, however often an engine delivers its result.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .. import errors
from ..errors import FileError, MergeError, SottovoceError, TransportError, WireError
from ..files import identity, is_address, opened, stamp
from .progress import Progress, silent
from .unreadable import explained, refuse_bad

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract.aggregate import Aggregate, Sum
    from ..contract.collection import Collection
    from ..contract.reports import Form

PART_BYTES = 1 << 22  # of reports in a part: some milliseconds of counting
PART_STEPS = 1 << 30  # of counting, where one report takes many: a fraction of a second
_WHOLE = 1 << 16  # bytes of a file that is not worth cutting
_REQUESTS = 16  # of a store at once
_AT_ONCE = 1 << 24  # bytes of reports that take numpy longer than loading machine code


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


#: Runs `count_part` for every part; results come in any order, and perhaps more than once.
Engine: TypeAlias = Callable[[Job, "Sequence[Part]"], "Iterable[Partial]"]


@dataclass(frozen=True)
class Count:
    """Counts of files, and the files that were skipped because they cannot be read."""

    aggregate: Aggregate
    files: int
    parts: int
    skipped: dict[str, str]


def count_files(
    files: Sequence[str | Path],
    collection: Collection,
    *,
    allow_equal: bool = False,
    skip_bad: bool = False,
    progress: Progress = silent,
    engine: Engine | None = None,
    candidates: Path | None = None,
    values: Any = None,
) -> Count:
    """The total of all files; a file given twice, or as reports and as counts, is refused.

    Parameters
    ----------
    files : sequence of str or path
        Files here, and addresses of objects in a store.
    collection : Collection
        What the reports belong to.
    allow_equal : bool
        Whether files of equal content are counted; small ones may be equal by chance.
    skip_bad : bool
        Whether files that cannot be read are left out and listed. A file is left out as a whole,
        so that it can be repaired and counted later without counting anyone twice.
    progress : Progress
        Shows how many bytes were counted.
    engine : Engine, optional
        Where parts are counted; by default in threads of this process.
    candidates : path, optional
        A file of values: only these are counted, and stored counts must be of them.
    values : array-like, optional
        The same as values and not in a file.
    """
    job = Job(collection, None if values is None else collection.positions(values))
    if candidates is not None:
        from .candidates import read_candidates

        job = Job(collection, read_candidates(candidates, collection))
    names = [str(file) for file in files]
    if not names:
        raise MergeError("there are no files to count; give at least one")
    _refuse_twice(names)
    parts, bad = _cut_all(names, job)
    merging = _Merging(collection, parts, bad)
    with progress("counting", sum(part.size for part in parts)) as done:
        for result in (engine or _here)(job, parts) if parts else ():
            merging.add(result)
            done(merging.size)
    total = merging.finish()
    bad = {name: bad[name] for name in names if name in bad}  # parts come back in any order
    if bad and (not skip_bad or total is None):
        refuse_bad(bad, len(names))
    if total is None:
        raise MergeError("there are no reports to count")
    if not allow_equal and len(names) > 1:
        from .equal_files import refuse_equal, refuse_sum

        refuse_equal(collection, merging.files.values())
        refuse_sum(total, merging.files)
    skipped = {name: str(error) for name, error in bad.items()}
    return Count(total, len(names) - len(bad), len(parts), skipped)


def _refuse_twice(names: Sequence[str]) -> None:
    first: dict[object, str] = {}
    for name in names:
        key = identity(name)
        if key in first:
            also = "" if first[key] == name else f", also as {first[key]!r},"
            raise MergeError(f"{name!r} was given twice{also} and would count twice; leave one out")
        first[key] = name


# --- parts ----------------------------------------------------------------------------------------


def _cut_all(names: Sequence[str], job: Job) -> tuple[list[Part], dict[str, SottovoceError]]:
    """The parts of all files, and what is wrong with those that cannot be read."""
    cuts: Iterable[tuple[str, list[Part], SottovoceError | None]]
    cuts = map(partial(_cut, job), names)
    if any(map(is_address, names)):
        from ..parallel import over_items

        cuts = over_items(partial(_cut, job), names, threads=_REQUESTS)
    by_name = {name: (parts, error) for name, parts, error in cuts}
    parts = [part for name in names for part in by_name[name][0]]
    bad = {name: error for name in names if (error := by_name[name][1]) is not None}
    return [replace(part, id=k) for k, part in enumerate(parts)], bad


def _cut(job: Job, name: str) -> tuple[str, list[Part], SottovoceError | None]:
    from ..contract.reports import cut_file, sniff

    try:
        with opened(name) as stream:
            form = sniff(stream)
            size = stream.seek(0, 2)
        if form == "sva" or size <= _WHOLE:
            return name, [Part(0, name, form, None, size)], None
        before = stamp(name)
        cuts = cut_file(name, expect=job.collection, form=form, rows=part_rows(job))
    except (WireError, OSError) as error:
        return name, [], explained(job.collection, name, error)
    return name, [Part(0, name, form, cut, size // len(cuts), before) for cut in cuts], None


def _stamp(name: str) -> tuple[int, ...]:
    try:
        return stamp(name)
    except OSError:
        return ()  # it is gone


def part_rows(job: Job) -> int:
    """How many reports a part has: not too many bytes, nor steps of counting."""
    from ..mechanisms.linear import LinearMechanism

    n, rows = 1 << 20, PART_BYTES / job.collection.report_bytes
    for kind in {way.mechanism for way in job.collection.ways()}:
        if isinstance(kind, LinearMechanism):
            steps = (kind.decode_steps(2 * n) - kind.decode_steps(n)) / n
            if job.chosen is not None:
                steps = min(steps, job.chosen.size)
            rows = min(rows, PART_STEPS / max(steps, 1))
    return int(max(1, rows))


def table_bytes(job: Job) -> int:
    """About how many bytes the counts of a part have, however few reports it has."""
    (first, *others), ways = job.collection.attributes, len(job.collection.ways())
    if job.chosen is not None:
        return 8 * ways * job.chosen.size
    return 8 * ways * (0 if others else getattr(first, "size", 0))


# --- count ----------------------------------------------------------------------------------------


def count_part(job: Job, part: Part) -> Partial:
    """The counts of one part; an error becomes a result, so that it survives every engine."""
    from ..contract.aggregate import Sum

    try:
        counts = Sum(_counted(job, part)).total()
    except (SottovoceError, OSError) as error:
        shown = explained(job.collection, part.file, error)
        return Partial(part.id, kind=type(shown).__name__, reason=str(shown))
    if counts is None:
        return Partial(part.id, kind="WireError", reason=f"{part.file!r} holds no reports")
    data = counts.to_bytes()
    return Partial(part.id, counts.reports, hashlib.sha256(data).digest(), data)


def _counted(job: Job, part: Part) -> Iterator[Aggregate]:
    if part.form == "sva":
        yield _stored(job, part.file)
        return
    from ..contract.reports import read_batches

    for batch in read_batches(part.file, expect=job.collection, form=part.form, cut=part.cut):
        yield job.collection.count_chosen(batch, job.chosen)


def _stored(job: Job, name: str) -> Aggregate:
    """The counts in a file."""
    from ..contract.aggregate import Aggregate, equal_candidates
    from ..randomness import refuse_seeded

    counts = Aggregate.load(name, expect=job.collection)
    if counts.seeded:
        refuse_seeded("these are")
    if job.chosen is not None and not equal_candidates(job.chosen, counts.candidates):
        what = "all values" if counts.candidates is None else "other values or in another order"
        raise MergeError(
            f"{name!r} holds counts of {what}; the candidates apply to reports only, so count "
            "these again"
        )
    return counts


def _here(job: Job, parts: Sequence[Part]) -> Iterable[Partial]:
    from ..kernels.compiling import compile_at_once
    from ..kernels.count import replaced

    if sum(part.size for part in parts) > _AT_ONCE:
        compile_at_once()
    count = partial(count_part, job)
    if len(parts) < 2 or replaced("hash_support"):  # a GPU counts one part after the other
        return map(count, parts)
    from ..parallel import over_items

    # Of small objects in a store nearly all the time is waiting for it. Many large results would
    # take much memory.
    little = table_bytes(job) <= _WHOLE
    groups: tuple[list[Part], list[Part]] = ([], [])
    for part in parts:
        groups[little and is_address(part.file) and part.size <= _WHOLE].append(part)
    others, small = groups
    return chain(over_items(count, small, threads=_REQUESTS), over_items(count, others))


# --- merge ----------------------------------------------------------------------------------------


class _Merging:
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
        if not 0 <= result.part < len(self._parts):  # a negative one would be another part
            raise TransportError(
                f"a result for part {result.part} came back, and there are {len(self._parts):,} "
                "parts; does a worker run different software?"
            )
        part, evidence = self._parts[result.part], (result.rows, result.checksum, result.reason)
        first = self._results.setdefault(part.id, evidence)
        if first is not evidence:
            if first != evidence:
                raise MergeError(
                    f"part {part.id} of {part.file!r} was counted twice with different results "
                    f"({first[0]:,} and {result.rows:,} reports): the file changed meanwhile, or a "
                    "worker runs different software; count again"
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
        if counts.reports != result.rows:
            raise MergeError(
                f"the counts of part {part.id} of {part.file!r} are of {counts.reports:,} reports, "
                f"and its worker read {result.rows:,}"
            )
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
