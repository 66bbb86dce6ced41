"""``sottovoce collection``: what the owner of a study does with its collection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import FileError, ParameterError
from .support.options import (
    COUNTS,
    PATH,
    REPORTS,
    check_output,
    force_option,
    json_option,
    question_option,
    store_of,
    store_option,
)
from .support.show import console, facts, heading, plural, print_json, show_next, show_table

if TYPE_CHECKING:
    from ..service.stores import Store
    from ..study import Study


@click.group()
def collection() -> None:
    """Look after a collection: status, close, export, backup.

    Every command takes the study file, works beside a running server, and takes --json.

    \b
    Examples:
      sottovoce collection status study.toml
      sottovoce collection close study.toml
      sottovoce collection export study.toml --out reports.svr
      sottovoce collection backup study.toml --out monday.backup

    Next: sottovoce collection status, with a study that is being served.
    """  # noqa: D301


@contextmanager
def _opened(
    study_path: Path, store: str | None, *, create: bool = False
) -> Iterator[tuple[Study, Store]]:
    from ..service.stores import open_store
    from ..study import Study

    study = Study.load(study_path)
    keep = open_store(store_of(study_path, store), study.digest, create=create)
    try:
        yield study, keep
    finally:
        keep.close()


@collection.command()
@click.argument("study_path", type=PATH, metavar="STUDY")
@store_option
@json_option
def status(study_path: Path, store: str | None, as_json: bool) -> None:
    """How many people took part, whether it is open, and how many invitations were used.

    \b
    Example:
      sottovoce collection status study.toml

    Next: sottovoce collection close study.toml, when enough people have answered.
    """  # noqa: D301
    from ..service.codes import Codes

    with _opened(study_path, store) as (study, keep), keep.transaction(write=False):
        codes = Codes(keep)
        codes.refresh()
        hours = keep.hours()
        submissions = keep.count_submissions()
        closed = keep.fact("closed") is not None
        engine = keep.engine
    people = dict.fromkeys(study.names, 0)
    reports = dict.fromkeys(study.names, 0)
    for name, _, asked, sent in hours:
        people[name] += asked
        reports[name] += sent
    made, used = codes.numbers
    if as_json:
        print_json(
            {
                "study": study.title,
                "digest": study.digest.hex(),
                "closed": closed,
                "store": engine,
                "submissions": submissions,
                "people": people,
                "reports": reports,
                "codes": made,
                "codes_used": used,
            }
        )
        return
    screen = console()
    screen.print(heading(f"{study.title}: {'closed' if closed else 'open'}"))
    rows = [("submissions", f"{submissions:,}")]
    rows += [
        (name, f"{plural(reports[name], 'report')} of {plural(people[name], 'person', 'people')}")
        for name in study.names
    ]
    if made:
        rows.append(("invitations", f"{used:,} of {made:,} used"))
    rows.append(("store", engine))
    show_table(screen, facts(rows))


@collection.command()
@click.argument("study_path", type=PATH, metavar="STUDY")
@store_option
@json_option
def close(study_path: Path, store: str | None, as_json: bool) -> None:
    """Accept no more reports, for good; a running server notices at once.

    The files are rewritten, so that not even the layout of their pages shows what came when.

    \b
    Example:
      sottovoce collection close study.toml

    Next: sottovoce collection export study.toml --out reports.svr
    """  # noqa: D301
    with _opened(study_path, store) as (study, keep):
        with keep.transaction():
            already = keep.fact("closed") is not None
            keep.put_fact("closed", b"1")
        keep.tidy()
    if as_json:
        print_json({"study": study.title, "closed": True, "already": already})
        return
    screen = console()
    screen.print(heading(f"{study.title} {'was closed before' if already else 'is closed'}"))
    show_next(screen, f"collection export {study_path} --out reports.svr")


@collection.command()
@click.argument("study_path", type=PATH, metavar="STUDY")
@question_option
@click.option(
    "--out",
    type=PATH,
    required=True,
    metavar="FILE",
    help="Reports (.svr, .parquet) or counts (.sva).",
)
@store_option
@force_option
@json_option
def export(
    study_path: Path,
    question: str | None,
    out: Path,
    store: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the reports or the counts of a question to a file.

    \b
    Example:
      sottovoce collection export study.toml --out counts.sva

    Next: sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301
    from ..contract.reports import Reports, ReportWriter
    from ..errors import EstimateError

    check_output(out, study_path, force=force, ends=(*REPORTS, *COUNTS))
    with _opened(study_path, store) as (study, keep):
        one = study.collection(question)
        with keep.transaction(write=False):
            batches = (
                Reports.from_bytes(blob.data, expect=one)
                for blob in keep.blobs()
                if blob.question == one.name
            )
            first = next(batches, None)
            if first is None:
                raise EstimateError(f"there are no reports of {one.name!r} yet")
            sent = len(first)
            if out.suffix.lower() in COUNTS:
                total = one.aggregate(first)
                for batch in batches:
                    total += one.aggregate(batch)
                    sent += len(batch)
                total.save(out, replace=force)
            else:
                with ReportWriter(out, replace=force) as writer:
                    writer.append(first)
                    for batch in batches:
                        writer.append(batch)
                        sent += len(batch)
    if as_json:
        print_json({"study": study.title, "question": one.name, "reports": sent, "out": str(out)})
        return
    screen = console()
    screen.print(heading(f"{study.title}: {plural(sent, 'report')} in {out}"))
    show_next(screen, f"estimate {out} --study {study_path}")


@collection.command()
@click.argument("study_path", type=PATH, metavar="STUDY")
@click.option("--out", type=PATH, required=True, metavar="FILE", help="Such as monday.backup.")
@store_option
@json_option
def backup(study_path: Path, out: Path, store: str | None, as_json: bool) -> None:
    """Copy the whole collection into one file, also while it is being served.

    \b
    Example:
      sottovoce collection backup study.toml --out monday.backup

    Next: sottovoce collection restore study.toml monday.backup, on any machine and engine.
    """  # noqa: D301
    from ..service.stores import copy_store, open_store

    check_output(out, study_path, force=False, ends=(".backup",))
    with _opened(study_path, store) as (study, keep):
        part = out.with_name(f".{out.name}.part.backup")
        part.unlink(missing_ok=True)
        copy = open_store(part, study.digest)
        try:
            copy_store(keep, copy)
            copy.tidy()
        except BaseException:
            copy.close()
            part.unlink(missing_ok=True)
            raise
        copy.close()
        part.rename(out)
    if as_json:
        print_json({"study": study.title, "out": str(out), "bytes": out.stat().st_size})
        return
    screen = console()
    screen.print(heading(f"{study.title}: backed up in {out}"))
    show_next(screen, f"collection restore {study_path} {out}")


@collection.command()
@click.argument("study_path", type=PATH, metavar="STUDY")
@click.argument("file", type=PATH)
@store_option
@json_option
def restore(study_path: Path, file: Path, store: str | None, as_json: bool) -> None:
    """Put a backup into an empty collection, of either engine.

    \b
    Example:
      sottovoce collection restore study.toml monday.backup --store postgresql://…

    Next: sottovoce collection verify study.toml
    """  # noqa: D301
    from ..service.stores import copy_store, open_store

    if not file.is_file() or file.suffix != ".backup":
        raise FileError(f"{str(file)!r} is no backup; its name must end in .backup")
    with _opened(study_path, store, create=True) as (study, keep):
        source = open_store(file, study.digest, create=False)
        try:
            copy_store(source, keep)
        finally:
            source.close()
    if as_json:
        print_json({"study": study.title, "file": str(file)})
        return
    screen = console()
    screen.print(heading(f"{study.title}: restored from {file}"))
    show_next(screen, f"collection verify {study_path}")


@collection.command()
@click.argument("study_path", type=PATH, metavar="STUDY")
@click.option("--receipt", metavar="HEX", help="Also say whether this receipt's submission is in.")
@store_option
@json_option
def verify(study_path: Path, receipt: str | None, store: str | None, as_json: bool) -> None:
    """Read every stored report and compare with what is recorded.

    \b
    Example:
      sottovoce collection verify study.toml --receipt 5c0d…

    Next: sottovoce collection export study.toml --out counts.sva
    """  # noqa: D301
    from ..contract.reports import Reports
    from ..errors import WireError

    try:
        key = None if receipt is None else bytes.fromhex(receipt)
    except ValueError:
        raise ParameterError(f"{receipt!r} is no receipt; it has 32 hexadecimal digits") from None
    blobs = reports = 0
    with _opened(study_path, store) as (study, keep):
        keep.check()
        with keep.transaction(write=False):
            for blob in keep.blobs():
                one = study.collection(blob.question)
                batch = Reports.from_bytes(blob.data, expect=one)
                counted = tuple(int(n.sum()) for n in one.headcount(batch))
                if counted != (blob.people, blob.reports):
                    raise WireError(
                        f"reports of {blob.question!r} are damaged: {counted} people and reports "
                        f"were counted, {(blob.people, blob.reports)} recorded; restore a backup"
                    )
                blobs += 1
                reports += blob.reports
            known = None if key is None else key in keep.tags([key])
    if as_json:
        print_json({"study": study.title, "blobs": blobs, "reports": reports, "receipt": known})
        return
    screen = console()
    screen.print(heading(f"{study.title}: {plural(reports, 'report')} verified"))
    if known is not None:
        screen.print("The receipt's submission is in." if known else "No such submission is in.")
