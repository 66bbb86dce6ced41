"""Drawing reports and giving them out: the steps of `randomise`, in the order receipts need."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import AnswerError, FileError
from ..files import check_output
from .answers import Answers
from .choices import Choice, Tally
from .columns import Columns
from .ledger import Drawer, Receipt, Release, form_of_kept, place, sha256, with_release
from .progress import Done, Progress, silent

if TYPE_CHECKING:
    from ..contract.report_files import Form
    from ..contract.reports import Reports
    from ..mechanisms.mechanism import Mechanism

_MOST_ROWS = 1 << 18  # of one written batch
_MOST_BYTES = 1 << 25


@dataclass(frozen=True)
class Input:
    """A file of answers as it was when its digest was taken."""

    path: str
    digest: str
    stamp: tuple[int, int, int, int]

    @classmethod
    def of(cls, path: Path, progress: Progress = silent) -> Input:
        """Take the digest of the whole file."""
        stamp = _stamp(path)
        with progress("reading", stamp[2]) as done:
            return cls(str(path.resolve()), sha256(path, done), stamp)

    @property
    def size(self) -> int:
        """In bytes."""
        return self.stamp[2]

    def check_unchanged(self) -> None:
        """The receipt must speak of the answers that were randomised."""
        if _stamp(Path(self.path)) != self.stamp:
            raise FileError(
                f"{self.path!r} changed while it was read; nothing was written, run it again"
            )


def _stamp(path: Path) -> tuple[int, int, int, int]:
    try:
        about = path.stat()
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if not stat.S_ISREG(about.st_mode):
        raise FileError(f"{str(path)!r} is not a plain file; answers are a CSV or Parquet file")
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def form(path: Path) -> Form:
    """The form that a file's name asks for."""
    from ..contract.report_files import form_of

    return form_of(path)


@dataclass(frozen=True)
class Source:
    """What is read of a file: the answers, and beside them everyone's choices."""

    answers: Answers
    choices: tuple[Choice, ...] = ()

    @property
    def columns(self) -> Columns:
        """The file's columns that are needed."""
        chosen = {choice.column: choice.wanted for choice in self.choices if choice.column}
        wanted = {self.answers.column: self.answers.wanted, **chosen}
        return Columns(self.answers.path, wanted)

    @property
    def words(self) -> dict[str, str]:
        """Where choices come from, for receipts."""
        return {choice.what: choice.words for choice in self.choices}


@dataclass(frozen=True)
class Made:
    """What went into a release: people, their reports, where choices come from, and counts."""

    people: int
    reports: int
    choices: dict[str, str] = field(default_factory=dict)
    counts: dict[str, dict[str, list[int]]] = field(default_factory=dict)


def draw(
    mechanism: Mechanism,
    source: Source,
    given: Input,
    drawer: Drawer,
    receipt: Receipt,
    out: Path,
    progress: Progress = silent,
) -> Receipt:
    """Randomise into the drawer; the receipt with this release is not written yet."""
    tally = Tally(mechanism)

    def made() -> Made:
        return Made(tally.people, tally.reports, source.words, tally.counts)

    batches = partial(_batches, mechanism, source, tally)
    return released(batches, made, given, drawer, receipt, out, progress)


def released(
    batches: Callable[[Done], Iterator[Reports]],
    made: Callable[[], Made],
    given: Input,
    drawer: Drawer,
    receipt: Receipt,
    out: Path,
    progress: Progress = silent,
) -> Receipt:
    """Write batches of fresh reports into the drawer, and note what `made` says of them after."""
    from ..contract.report_files import ReportWriter

    kept = drawer.kept(len(receipt.releases) + 1, form(out))
    written = 0
    with progress("randomising", given.size) as done, ReportWriter(kept, form(out)) as writer:
        for batch in batches(done):
            written += len(batch)
            if len(batch):
                writer.append(batch)
        if not written:
            raise AnswerError(
                f"none of the {made().people:,} people in {given.path!r} "
                "answered, so there is nothing to report"
            )
        given.check_unchanged()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    digests: dict[str, str] = {form(out): sha256(kept)}
    about = made()
    release = Release(now, about.reports, kept.name, digests, about.choices, about.counts)
    return replace(with_release(receipt, release), rows=about.people)


def _batches(mechanism: Mechanism, source: Source, tally: Tally, done: Done) -> Iterator[Reports]:
    """Reports of as many people as fit into memory at once."""
    each = sum(column.nbytes for column in mechanism.layout)
    rows = min(_MOST_ROWS, max(1, _MOST_BYTES // each))
    columns = source.columns
    for first, chunk in columns.chunks(rows, done):
        coded = source.answers.coded(chunk[source.answers.column], first)
        arguments, level = {}, None
        for choice in source.choices:
            codes = choice.codes(chunk, first, coded.present, columns)
            arguments[choice.what] = choice.argument(codes)
            if choice.what == "level":
                level = codes if coded.present is None else codes[coded.present]
        batch = mechanism.randomise(coded, **arguments)
        tally.add(batch, chunk.num_rows, level)
        yield batch


def give(
    mechanism: Mechanism,
    drawer: Drawer,
    receipt: Receipt,
    out: Path,
    *,
    force: bool,
    progress: Progress = silent,
) -> Receipt:
    """Let the kept reports appear as the output, in the form that its name asks for."""
    kept = drawer.latest(receipt, progress)
    wanted = form(out)
    known = receipt.latest.sha256.get(wanted)
    if not (out.is_file() and known is not None and sha256(out) == known):
        check_output(out, force=force)
        try:
            if wanted == form_of_kept(kept):
                place(kept, out)
            else:
                _convert(mechanism, kept, out, progress)
        except OSError as error:
            raise FileError(
                f"{error}; the reports themselves are drawn and kept, so run the same command "
                "again (without --again), with another --out if need be"
            ) from error
    digests = {**receipt.latest.sha256, wanted: sha256(out)}
    latest = replace(receipt.latest, sha256=digests)
    receipt = replace(receipt, releases=(*receipt.releases[:-1], latest))
    if receipt != drawer.receipt():
        drawer.write(receipt)
    return receipt


def _convert(mechanism: Mechanism, kept: Path, out: Path, progress: Progress) -> None:
    from ..contract.report_files import ReportWriter, read_batches

    with (
        progress("converting", kept.stat().st_size) as done,
        ReportWriter(out, form(out)) as writer,
    ):
        read = 0
        for batch in read_batches(kept, expect=mechanism):
            writer.append(batch)
            read += batch.nbytes
            done(read)
