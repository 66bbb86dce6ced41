"""``sottovoce invite``: codes that are good for one submission each."""

from __future__ import annotations

from pathlib import Path

import click

from .support.options import (
    PATH,
    check_output,
    force_option,
    json_option,
    store_of,
    store_option,
)
from .support.show import console, facts, heading, plural, print_json, show_next, show_table


@click.command()
@click.argument("study_path", type=PATH, metavar="STUDY")
@click.option("--people", type=int, required=True, metavar="N", help="How many codes.")
@click.option(
    "--each",
    type=int,
    default=1,
    show_default=True,
    help="People in the one submission of each code, for organisations that send files.",
)
@click.option("--out", type=PATH, required=True, metavar="FILE", help="Where the codes go: .csv.")
@store_option
@force_option
@json_option
def invite(
    study_path: Path,
    people: int,
    each: int,
    out: Path,
    store: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Make invitation codes, each good for one submission.

    From the first code on, the study accepts nobody without one. Codes are stored hashed, so the
    file is their only copy; which code brought which report cannot be found out from the
    collection. A running server notices new codes by itself.

    \b
    Example:
      sottovoce invite study.toml --people 500 --out codes.csv

    Next: sottovoce serve study.toml
    """  # noqa: D301
    from ..files import whole_file
    from ..service.codes import make_codes
    from ..service.server import prepare
    from ..service.stores import open_store
    from ..study import Study

    study = Study.load(study_path)
    check_output(out, study_path, force=force, ends=(".csv",))
    keep = open_store(store_of(study_path, store), study.digest)
    try:
        prepare(study, keep)
        # The file first: codes that nobody has would close the study to everyone.
        with keep.transaction():
            codes = make_codes(keep, study.digest, people, people=each)
            with whole_file(out, replace=force, private=True) as stream:
                stream.write(("code\n" + "".join(f"{code}\n" for code in codes)).encode())
    finally:
        keep.close()
    if as_json:
        print_json({"study": study.title, "codes": len(codes), "people": each, "out": str(out)})
        return
    screen = console()
    screen.print(heading(f"{study.title}: {plural(len(codes), 'invitation code')} in {out}"))
    show_table(screen, facts([("each", f"one submission of {plural(each, 'person', 'people')}")]))
    show_next(screen, f"serve {study_path}")
