"""Drawing reports and giving them out: the steps of `randomise`, in the order receipts need."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import AnswerError, FileError
from ..files import check_output
from .answers import Answers
from .choices import Choice, Tally
from .columns import Columns
from .ledger import Entry, Ledger, form_of_kept, place, sha256
from .progress import Done, Progress, silent
from .receipts import Receipt, Release

if TYPE_CHECKING:
    from ..contract.report_files import Form
    from ..contract.reports import Reports
    from ..mechanisms.mechanism import Mechanism
    from .fingerprint import Content, Fingerprint

_MOST_ROWS = 1 << 18  # of one written batch
_MOST_BYTES = 1 << 25


class Readable(Protocol):
    """A file of answers whose people can be known again."""

    @property
    def names(self) -> Sequence[str]:
        """The columns of answers."""

    def read_into(self, fingerprint: Fingerprint, done: Done) -> None:
        """Read everyone's answers and choices, refusing what is not allowed."""


@dataclass(frozen=True)
class Input:
    """A file of answers as it was when it was read, and what its answers are known by."""

    path: str
    content: Content
    stamp: tuple[int, ...]

    @classmethod
    def of(
        cls,
        path: Path,
        source: Readable,
        ledger: Ledger,
        mechanism_digest: str,
        progress: Progress = silent,
    ) -> Input:
        """Read the whole file once."""
        from .fingerprint import Fingerprint

        stamp = _stamp(path)
        stops = ledger.lengths(mechanism_digest)
        fingerprint = Fingerprint(ledger.key, source.names, stops)
        with progress("reading", stamp[2]) as done:
            source.read_into(fingerprint, done)
        given = cls(str(path.resolve()), fingerprint.content(), stamp)
        given.check_unchanged()
        return given

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


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes with a file's content; the time of the last change (ctime) cannot be set."""
    try:
        about = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"cannot read {str(path)!r}: {reason}") from error
    if not stat.S_ISREG(about.st_mode):
        raise FileError(f"{str(path)!r} is not a plain file; answers are a CSV or Parquet file")
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def check_plain(path: Path) -> None:
    """Refuse what is not a plain file before anything of it is read."""
    _stamp(path)


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

    @property
    def names(self) -> list[str]:
        """The column of answers."""
        return [self.answers.column]

    def read_into(self, fingerprint: Fingerprint, done: Done) -> None:
        """Read everyone's answer and choices, refusing what is not allowed."""
        columns, name = self.columns, self.answers.column
        for first, chunk in columns.chunks(_MOST_ROWS, done):
            coded = self.answers.coded(chunk[name], first)
            choices = [c.codes(chunk, first, coded.present, columns) for c in self.choices]
            tags = fingerprint.tags(self.answers.domain, chunk[name])
            fingerprint.add([tags], choices)


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
    entry: Entry,
    receipt: Receipt,
    out: Path,
    progress: Progress = silent,
) -> Receipt:
    """Randomise into the entry's folder; the receipt with this release is not written yet."""
    tally = Tally(mechanism)

    def made() -> Made:
        return Made(tally.people, tally.reports, source.words, tally.counts)

    batches = partial(_batches, mechanism, source, tally)
    return released(batches, made, given, entry, receipt, out, progress)


def released(
    batches: Callable[[Done], Iterator[Reports]],
    made: Callable[[], Made],
    given: Input,
    entry: Entry,
    receipt: Receipt,
    out: Path,
    progress: Progress = silent,
) -> Receipt:
    """Write batches of fresh reports into the entry, and note what `made` says of them after."""
    from ..contract.report_files import ReportWriter

    kept = entry.kept(len(receipt.releases) + 1, form(out))
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
    today = datetime.now(UTC).date().isoformat()  # never to the second
    digests: dict[str, str] = {form(out): sha256(kept)}
    about = made()
    release = Release(
        today,
        about.reports,
        kept.name,
        digests,
        about.choices,
        given.content.choices,
        about.counts,
    )
    return replace(receipt.with_release(release), rows=about.people)


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
    entry: Entry,
    receipt: Receipt,
    out: Path,
    *,
    force: bool,
    progress: Progress = silent,
) -> Receipt:
    """Let the kept reports appear as the output, in the form that its name asks for."""
    kept = entry.latest(receipt, progress)
    wanted = form(out)
    known = receipt.latest.sha256.get(wanted)
    if not (out.is_file() and known is not None and sha256(out) == known):
        check_output(out, force=force)
        try:
            if wanted == form_of_kept(kept):
                place(kept, out, replace=force)
            else:
                _convert(mechanism, kept, out, progress, replace=force)
        except OSError as error:
            raise FileError(
                f"{error}; the reports themselves are drawn and kept, so run the same command "
                "again (without --again), with another --out if need be"
            ) from error
    digests = {**receipt.latest.sha256, wanted: sha256(out)}
    latest = replace(receipt.latest, sha256=digests)
    receipt = replace(receipt, releases=(*receipt.releases[:-1], latest))
    if receipt != entry.receipt():
        entry.write(receipt)
    return receipt


def _convert(
    mechanism: Mechanism, kept: Path, out: Path, progress: Progress, *, replace: bool
) -> None:
    from ..contract.report_files import ReportWriter, read_batches

    with (
        progress("converting", kept.stat().st_size) as done,
        ReportWriter(out, form(out), replace=replace) as writer,
    ):
        read = 0
        for batch in read_batches(kept, expect=mechanism):
            writer.append(batch)
            read += batch.nbytes
            done(read)
