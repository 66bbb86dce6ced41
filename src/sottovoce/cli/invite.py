"""``sottovoce invite``: codes that are good for one submission each."""

from __future__ import annotations

import click

from .support.command import Output, plural
from .support.numbers import INT
from .support.options import file_output, out_option
from .support.place import Place, place_options, study_argument


@click.command()
@study_argument
@click.option("--people", type=INT, required=True, metavar="N", help="How many codes.")
@click.option(
    "--each",
    type=INT,
    default=1,
    show_default=True,
    help="People in the one submission of each code, for organisations that send files.",
)
@out_option("Where the codes go: .csv.")
@place_options
@file_output
def invite(people: int, each: int, place: Place, output: Output) -> None:
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

    study = place.study
    output.check(place.study_path, ends=(".csv",))
    with place.open(create=True) as (_, keep):
        prepare(study, keep)
        # The file first: codes that nobody has would close the study to everyone.
        with keep.transaction():
            codes = make_codes(keep, study.digest, people, people=each)
            with whole_file(output.out, replace=output.force, private=True) as stream:
                stream.write(("code\n" + "".join(f"{code}\n" for code in codes)).encode())
    output.show(
        {"study": study.title, "codes": len(codes), "people": each, "out": str(output.out)},
        f"{study.title}: {plural(len(codes), 'invitation code')} in {output.out}",
        [("each", f"one submission of {plural(each, 'person', 'people')}")],
        then=place.command("serve"),
    )
