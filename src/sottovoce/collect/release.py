"""Drawing reports and handing them out: the steps of `randomise`, in the order receipts need."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import AnswerError, FileError
from ..files import check_output
from ..object_store import refuse_address
from .fingerprint import Content, Fingerprint
from .ledger import Entry, Ledger, Subject, form_of_kept, place, sha256
from .notes import notes_of, other_choices, refused, total_of
from .progress import Progress, silent
from .receipts import Receipt, Release
from .source import Checked, Source, Tally

if TYPE_CHECKING:
    from ..contract.collection import Collection
    from ..contract.reports import Form
    from ..promise import Guarantee


@dataclass(frozen=True)
class Input:
    """A file of answers as it was when it was read, and the fingerprint of its answers.

    `checked` are the answers themselves where they fit into little memory.
    """

    path: str
    content: Content
    stamp: tuple[int, ...]
    checked: list[Checked] | None

    @classmethod
    def of(
        cls,
        path: Path,
        source: Source,
        ledger: Ledger,
        mechanism_digest: str,
        progress: Progress = silent,
    ) -> Input:
        """Read the whole file once."""
        stamp = _stamp(path)
        stops = ledger.lengths(mechanism_digest)
        fingerprint = Fingerprint(ledger.key, source.names, stops)
        with progress("reading", stamp[2]) as done:
            checked = source.read_into(fingerprint, done)
        own_input = cls(str(path.resolve()), fingerprint.content(), stamp, checked)
        own_input.check_unchanged()
        return own_input

    @property
    def size(self) -> int:
        """In bytes."""
        return self.stamp[2]

    def check_unchanged(self) -> None:
        """The receipt must describe the answers that were randomised."""
        if _stamp(Path(self.path)) != self.stamp:
            raise FileError(
                f"{self.path!r} changed while it was read; nothing was written, run it again"
            )


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes with a file's content; the time of the last change (ctime) cannot be set."""
    try:
        about = path.stat()
    except (OSError, ValueError) as error:
        refuse_address(path)
        raise FileError.of("cannot read", path, error) from error
    if not stat.S_ISREG(about.st_mode):
        raise FileError(f"{str(path)!r} is not a plain file; answers are a CSV or Parquet file")
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def check_plain(path: Path) -> None:
    """Refuse what is not a plain file before anything of it is read."""
    _stamp(path)


def form(path: Path) -> Form:
    """The form that a file's name asks for."""
    from ..contract.reports import form_of

    return form_of(path)


@dataclass(frozen=True)
class Released:
    """The result of a run: the receipt, and what earlier releases of these people mean for it."""

    receipt: Receipt
    receipt_path: Path
    fresh: bool
    releases: int
    guarantee: Guarantee
    notes: list[str]


def release(
    title: str,
    source: Source,
    ledger: Ledger,
    out: Path,
    *,
    inputs: Sequence[Path] = (),
    again: bool = False,
    force: bool = False,
    progress: Progress = silent,
) -> Released:
    """Hand out reports of a file: those of an earlier release, or fresh ones.

    Parameters
    ----------
    title : str
        Of the study.
    inputs : sequence of Path
        Files beside the answers that the output must not replace.
    again : bool
        Draw fresh noise although these answers were released before.
    force : bool
        Replace an output file that exists.
    """
    collection, digest = source.collection, source.collection.digest.hex()
    own_input = Input.of(source.path, source, ledger, digest, progress)
    subject = Subject(
        title,
        collection.name,
        collection.id,
        digest,
        source.column,
        own_input.path,
        own_input.content,
    )
    with ledger.entry(subject) as entry:
        receipt = entry.receipt().of_file(own_input.path)
        others = entry.others()
        fresh = again or not receipt.releases
        if fresh:
            if others and not again:
                raise refused(source.label, own_input.content, others)
            check_output(out, source.path, *inputs, force=force)
            receipt = draw(source, own_input, entry, receipt, out, progress)
            promised = _guarantee(collection, receipt, others)
            receipt = replace(receipt, guarantee=promised.as_dict())
            entry.write(receipt)  # before anyone can see the reports
        elif _choice_digests(receipt.latest) != (own_input.content.choices, source.allocation):
            raise other_choices(source.label, receipt, source.words)
        receipt = give(collection, entry, receipt, out, force=force, progress=progress)
        elsewhere = entry.elsewhere()
    notes = notes_of(receipt, others, elsewhere, fresh) + ledger.notes
    total = total_of(receipt, others)
    promised = _guarantee(collection, receipt, others)
    return Released(receipt, entry.path, fresh, total, promised, notes)


def _choice_digests(release: Release) -> tuple[str, str]:
    """What decides whether people chose the same: digests of columns, and a named allocation."""
    return release.chosen, release.choices.get("allocation", "")


def _guarantee(collection: Collection, receipt: Receipt, others: list[Receipt]) -> Guarantee:
    """What holds for someone in all these releases, whose choices may differ between them."""
    same = not others and len({_choice_digests(release) for release in receipt.releases}) == 1
    once = collection.guarantee_at()
    if same:
        equal = [receipt.latest.choices.get("allocation")] == [*collection.allocations[:1]]
        once = collection.undivided() if equal else collection.guarantee
    return once.times(total_of(receipt, others))


def draw(
    source: Source,
    own_input: Input,
    entry: Entry,
    receipt: Receipt,
    out: Path,
    progress: Progress = silent,
) -> Receipt:
    """Randomise into the entry's folder; the receipt with this release is not written yet."""
    from ..contract.reports import ReportWriter

    kept, tally = entry.kept(len(receipt.releases) + 1, form(out)), Tally(source.collection)
    written = 0
    with progress("randomising", own_input.size) as done, ReportWriter(kept, form(out)) as writer:
        for people, batch in source.batches(done, own_input.checked, own_input.size):
            tally.add(people, batch)
            written += len(batch)
            if len(batch):
                writer.append(batch)
        if not written:
            raise AnswerError(
                f"none of the {tally.people:,} people in {own_input.path!r} "
                "answered, so there is nothing to report"
            )
        own_input.check_unchanged()
    today = datetime.now(UTC).date().isoformat()  # never to the second
    release = Release(
        today,
        sum(tally.reported),
        kept.name,
        {form(out): sha256(kept)},
        source.words,
        own_input.content.choices,
        tally.counts,
    )
    return replace(receipt.with_release(release), rows=tally.people)


def give(
    collection: Collection,
    entry: Entry,
    receipt: Receipt,
    out: Path,
    *,
    force: bool,
    progress: Progress = silent,
) -> Receipt:
    """Write the kept reports to the output, in the form that its name asks for."""
    kept = entry.latest(receipt, progress)
    out_form = form(out)
    known = receipt.latest.sha256.get(out_form)
    if not (out.is_file() and known is not None and sha256(out) == known):
        check_output(out, force=force)
        try:
            if out_form == form_of_kept(kept):
                place(kept, out, replace=force)
            else:
                _convert(collection, kept, out, progress, replace=force)
        except OSError as error:
            raise FileError(
                f"{error}; the reports themselves are drawn and kept, so run the same command "
                "again (without --again), with another --out if necessary"
            ) from error
    digests = {**receipt.latest.sha256, out_form: sha256(out)}
    latest = replace(receipt.latest, sha256=digests)
    receipt = replace(receipt, releases=(*receipt.releases[:-1], latest))
    if receipt != entry.receipt():
        entry.write(receipt)
    return receipt


def _convert(
    collection: Collection, kept: Path, out: Path, progress: Progress, *, replace: bool
) -> None:
    from ..contract.reports import ReportWriter, read_batches

    with (
        progress("converting", kept.stat().st_size) as done,
        ReportWriter(out, form(out), replace=replace) as writer,
    ):
        read = 0
        for batch in read_batches(kept, expect=collection):
            writer.append(batch)
            read += batch.nbytes
            done(read)
