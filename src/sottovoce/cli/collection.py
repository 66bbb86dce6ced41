"""``sottovoce collection``: what the owner of a study does with its collection."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path

import click

from ..errors import FileError, ParameterError
from .support.command import Output, plural
from .support.options import (
    COUNTS,
    PATH,
    REPORTS,
    file_output,
    json_output,
    out_option,
    question_option,
)
from .support.place import Place, place_options, study_argument


@click.group()
def collection() -> None:
    """Manage a collection: status, close, export, backup.

    Every command takes the study file, works beside a running server, and takes --json.

    \b
    Examples:
      sottovoce collection status study.toml
      sottovoce collection close study.toml
      sottovoce collection export study.toml --out reports.svr
      sottovoce collection backup study.toml --out monday.backup

    Next: sottovoce collection status, with a study that is being served.
    """  # noqa: D301


@collection.command()
@study_argument
@place_options
@json_output
def status(place: Place, output: Output) -> None:
    """Show how many people took part, and whether it is open.

    Also how many invitations were used.

    \b
    Example:
      sottovoce collection status study.toml

    Next: sottovoce collection close study.toml, when enough people have answered.
    """  # noqa: D301
    from ..service.codes import Codes

    with place.open() as (study, keep), keep.transaction(write=False):
        codes = Codes(keep)
        codes.refresh()
        hours = keep.hours()
        submissions = keep.count_submissions()
        closed = keep.fact("closed") is not None
        engine = keep.engine
        if not {name for name, *_ in hours} <= set(study.names):
            raise keep.damaged("it has reports of another question")
    people = dict.fromkeys(study.names, 0)
    reports = dict.fromkeys(study.names, 0)
    for name, _, asked, sent in hours:
        people[name] += asked
        reports[name] += sent
    made, used = codes.numbers
    about = {
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
    rows = [("submissions", f"{submissions:,}")]
    rows += [
        (name, f"{plural(reports[name], 'report')} of {plural(people[name], 'person', 'people')}")
        for name in study.names
    ]
    if made:
        rows.append(("invitations", f"{used:,} of {made:,} used"))
    rows.append(("store", engine))
    output.show(about, f"{study.title}: {'closed' if closed else 'open'}", rows)


@collection.command()
@study_argument
@place_options
@json_output
def close(place: Place, output: Output) -> None:
    """Accept no more reports, for good.

    A running server notices at once. The files are rewritten, so that not even the layout of their
    pages shows what came when.

    \b
    Example:
      sottovoce collection close study.toml

    Next: sottovoce collection export study.toml --out reports.svr
    """  # noqa: D301
    with place.open() as (study, keep):
        with keep.transaction():
            already = keep.fact("closed") is not None
            keep.put_fact("closed", b"1")
        keep.tidy()
    which = ["--question", study.names[0]] if len(study.names) > 1 else []
    output.show(
        {"study": study.title, "closed": True, "already": already},
        f"{study.title} {'was closed before' if already else 'is closed'}",
        then=place.command("collection export", *which, "--out", "reports.svr"),
    )


@collection.command()
@study_argument
@question_option
@out_option("Reports (.svr, .parquet) or counts (.sva).")
@place_options
@file_output
def export(question: str | None, place: Place, output: Output) -> None:
    """Write the reports or the counts of a question to a file.

    \b
    Example:
      sottovoce collection export study.toml --out counts.sva

    Next: sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301
    from ..contract.reports import ReportWriter
    from ..errors import EstimateError
    from ..service.stored import stored_reports

    output.check(place.study_path, ends=(*REPORTS, *COUNTS))
    out = output.out
    with place.open() as (study, keep):
        one = study.collection(question)
        keep.check()
        with keep.transaction(write=False):
            every = stored_reports(keep, study)
            batches = (reports for blob, reports in every if blob.question == one.name)
            first = next(batches, None)
            if first is None:
                raise EstimateError(f"there are no reports of {one.name!r} yet")
            sent = len(first)
            counted = out.suffix.lower() in COUNTS
            if counted:
                total = one.aggregate(first)
                for batch in batches:
                    total += one.aggregate(batch)
                    sent += len(batch)
                total.save(out, replace=output.force)
            else:
                with ReportWriter(out, replace=output.force) as writer:
                    writer.append(first)
                    for batch in batches:
                        writer.append(batch)
                        sent += len(batch)
    output.show(
        {"study": study.title, "question": one.name, "reports": sent, "out": str(out)},
        f"{study.title}: {plural(sent, 'report')}{' counted' * counted} in {out}",
        then=place.estimate_command(out, one),
    )


@collection.command()
@study_argument
@out_option("Where the backup goes, such as monday.backup.")
@place_options
@file_output
def backup(place: Place, output: Output) -> None:
    """Copy the whole collection into one file.

    The collection can be served meanwhile.

    \b
    Example:
      sottovoce collection backup study.toml --out monday.backup

    Next: sottovoce collection restore study.toml monday.backup, on any machine and engine.
    """  # noqa: D301
    from ..service.stores import copy_store, open_store

    output.check(place.study_path, ends=(".backup",))
    out = output.out
    with place.open() as (study, keep):
        part = out.with_name(f".{out.name}.part.backup")
        part.unlink(missing_ok=True)
        try:
            with closing(open_store(part, study.digest)) as copy:
                copy_store(keep, copy)
                copy.tidy()
            part.rename(out)
        finally:
            part.unlink(missing_ok=True)
    output.show(
        {"study": study.title, "out": str(out), "bytes": out.stat().st_size},
        f"{study.title}: backed up in {out}",
        then=shlex.join(["collection", "restore", str(place.study_path), str(out)]),
    )


@collection.command()
@study_argument
@click.argument("file", type=PATH)
@place_options
@json_output
def restore(file: Path, place: Place, output: Output) -> None:
    """Put a backup into an empty collection, of either engine.

    \b
    Example:
      sottovoce collection restore study.toml monday.backup --store postgresql://…

    Next: sottovoce collection verify study.toml
    """  # noqa: D301
    from ..service.stores import copy_store, open_store

    if not file.is_file() or file.suffix != ".backup":
        raise FileError(f"{str(file)!r} is not a backup; its name must end in .backup")
    study = place.study
    with (
        place.open(create=True) as (_, keep),
        closing(open_store(file, study.digest, create=False)) as source,
    ):
        copy_store(source, keep)
    output.show(
        {"study": study.title, "file": str(file)},
        f"{study.title}: restored from {file}",
        then=place.command("collection verify"),
    )


@collection.command()
@study_argument
@click.option("--receipt", metavar="HEX", help="Also say whether this receipt's submission is in.")
@place_options
@json_output
def verify(receipt: str | None, place: Place, output: Output) -> None:
    """Read every stored report and compare with what is recorded.

    \b
    Example:
      sottovoce collection verify study.toml --receipt 5c0d…

    Next: sottovoce collection export study.toml --out counts.sva
    """  # noqa: D301
    from ..service.stored import stored_reports

    try:
        key = None if receipt is None else bytes.fromhex(receipt)
    except ValueError:
        raise ParameterError(
            f"{receipt!r} is not a receipt, which has 32 hexadecimal digits; `sottovoce send` and "
            "the participant's page show it (the file beside the reports stays with the sender)"
        ) from None
    blobs = reports = 0
    with place.open() as (study, keep):
        keep.check()
        with keep.transaction(write=False):
            for blob, _ in stored_reports(keep, study):
                blobs += 1
                reports += blob.reports
            known = None if key is None else key in keep.tags([key])
    notes = {None: "", True: "The receipt's submission is in.", False: "No such submission is in."}
    output.show(
        {"study": study.title, "blobs": blobs, "reports": reports, "receipt": known},
        f"{study.title}: {plural(reports, 'report')} verified",
        notes=[notes[known]] * (known is not None),
    )
