"""``sottovoce study``: make, check and show the contract of a collection."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..files import check_output
from .support.command import Output, facts, percent, plural, show_next, show_table
from .support.guarantees import show_guarantee
from .support.new_study import asking_options, new_collection
from .support.numbers import IntRange
from .support.options import PATH, full_output, guarantee_option, json_output

if TYPE_CHECKING:
    from ..contract.collection import Collection
    from ..study import Study

_MOST_LISTED = 1 << 20
_MOST_SHOWN = 12

path_argument = click.argument("path", type=PATH)


@click.group()
def study() -> None:
    """Create, extend, check or show a study.

    A study is the contract of a collection: what is asked, and how answers are randomised.

    \b
    Example:
      sottovoce study new study.toml --title "How we get to work" \\
          --question commute --values car,bicycle,train --epsilon 1

    Next: sottovoce randomise answers.csv --study study.toml --out reports.svr
    """  # noqa: D301


@study.command()
@path_argument
@click.option("--title", required=True, help="What the study is about.")
@asking_options
@full_output
def new(path: Path, title: str, output: Output, **options: Any) -> None:
    """Write a study file with one question, or with records.

    A study may ask more: add questions and records with `sottovoce study add` before anyone
    answers. Any change to the file makes it another study, whose reports do not mix with those of
    the first.

    \b
    Examples:
      sottovoce study new study.toml --title "How we get to work" \\
          --question commute --values car,bicycle,train --epsilon 1 --missing value
      sottovoce study new ages.toml --title "Ages" \\
          --question age --edges 0,18,65,inf --epsilon 2
      sottovoce study new mean.toml --title "Mean age" \\
          --question age --range 0 120 --epsilon 1
      sottovoce study new drinks.toml --title "What people drink" \\
          --question drink --alphabet a-z --length 8 --longer cut --other _ --epsilon 4
      sottovoce study new menu.toml --title "How we get to work" \\
          --question commute --values car,bicycle,train --levels strong=0.5,normal=2 --rate 0.1
      sottovoce study new health.toml --title "Health and habits" --records health \\
          --attribute smokes=yes,no --attribute age=bins:0,30,60,inf --epsilon 2
      sottovoce study new survey.toml --title "Survey" --records survey \\
          --codebook codebook.csv --epsilon 2

    Next: sottovoce study show study.toml --people 10000
    """  # noqa: D301
    from ..study import Study

    collection = new_collection(options)
    check_output(path, force=output.force)
    study = Study(title, (collection,))
    study.save(path, replace=output.force)
    then = _next_randomise(path, study, collection)
    _show_study(output, path, study, f"{title}: the study is in {path}", then=then)


@study.command()
@path_argument
@asking_options
@guarantee_option
@json_output
def add(path: Path, output: Output, **options: Any) -> None:
    """Add a question or records to a study file.

    Only before anyone answers: the file becomes another study with another digest, and reports
    made under the first are not counted under the second. What the file says so far stays as it
    is, comments included.

    \b
    Examples:
      sottovoce study add study.toml --question age --range 0 120 --epsilon 1
      sottovoce study add study.toml --records health \\
          --attribute smokes=yes,no --attribute age=bins:0,30,60,inf --epsilon 2

    Next: sottovoce study show study.toml
    """  # noqa: D301
    from ..study import Study

    before = Study.load(path)
    collection = new_collection(options)
    study = before.add_to_file(path, collection)
    digest = before.digest.hex()
    note = (
        f"\nThis is another study now: reports made under the digest {digest[:12]}… are not "
        "counted with it. If people have answered already, take the block out again, and ask this "
        "in a study of its own."
    )
    then = _next_randomise(path, study, collection)
    title = f"{study.title}: {collection.name} was added to {path}"
    _show_study(output, path, study, title, note=note, then=then, digest_before=digest)


def _next_randomise(path: Path, study: Study, collection: Collection) -> str:
    which = f" --question {shlex.quote(collection.name)}" * (len(study) > 1)
    which += " --levels COLUMN" * (len(collection.level_names) > 1)
    which += " --rate COLUMN" * (len(collection.rates) > 1)
    return f"randomise answers.csv --study {shlex.quote(str(path))}{which} --out reports.svr"


@study.command()
@path_argument
@json_output
def check(path: Path, output: Output) -> None:
    """Check whether a study file can be used.

    If not, it says what is wrong.

    \b
    Example:
      sottovoce study check study.toml

    The exit code is 0 for a valid study and 1 otherwise. Next: sottovoce study show study.toml
    """  # noqa: D301
    from ..study import Study

    loaded = Study.load(path)
    advice = [line for line in map(_advice, loaded) if line]
    about = {"path": str(path), "ok": True, **_about(loaded, None), "advice": advice}
    screen = output.begin(about)
    if screen is None:
        return
    records = sum(one.section == "records" for one in loaded)
    asked = [plural(len(loaded) - records, "question")] * (len(loaded) > records)
    asked += [plural(records, "set of records", "sets of records")] * (records > 0)
    screen.print(
        f"{path} is a valid study: {loaded.title!r}, {' and '.join(asked)}, "
        f"digest {loaded.digest.hex()[:12]}…",
        soft_wrap=True,
    )
    for line in advice:
        screen.print(line, style="yellow")


@study.command()
@path_argument
@click.option("--people", type=IntRange(1), metavar="N", help="Predict the error for N people.")
@guarantee_option
@json_output
def show(path: Path, people: int | None, output: Output) -> None:
    """Show questions, records, values and guarantee.

    Nothing is randomised: this is what people can read before they answer. With --people, it also
    predicts how precise the estimates will be.

    \b
    Example:
      sottovoce study show study.toml --people 10000

    Next: sottovoce randomise answers.csv --study study.toml --out reports.svr
    """  # noqa: D301
    from ..study import Study

    loaded = Study.load(path)
    _show_study(output, path, loaded, loaded.title, people)


def _show_study(
    output: Output,
    path: Path,
    study: Study,
    title: str,
    people: int | None = None,
    *,
    note: str = "",
    then: str = "",
    **more: str,
) -> None:
    about = _about(study, people) if output.as_json else {}  # lists up to a million values
    screen = output.begin({"path": str(path), **more, **about}, title)
    if screen is None:
        return
    show_table(screen, facts([("digest", study.digest.hex())]))
    for one in study:
        screen.print()
        show_table(screen, facts(_rows(one, people)))
    screen.print()
    show_guarantee(screen, study.guarantee, full=output.full)
    if note:
        screen.print(note, style="yellow")
    if then:
        show_next(screen, then)


def _about(study: Study, people: int | None) -> dict[str, Any]:
    from ..domain.text import Text
    from ..planning.predict import predicted_error

    sections: dict[str, list[dict[str, Any]]] = {"question": [], "records": []}
    for one in study:
        domains = [
            {
                "name": domain.name,
                # 2^31 numbers are not listed.
                "values": list(domain.labels) if domain.size <= _MOST_LISTED else domain.size,
                **({} if domain.wording is None else {"codes": list(domain.values)}),
                **(domain.canonical() if isinstance(domain, Text) else {}),
                "missing": domain.missing,
            }
            for domain in one.attributes
        ]
        about: dict[str, Any] = {
            **(domains[0] if one.section == "question" else {"name": one.name}),
            **({"attributes": domains} if one.section == "records" else {}),
            **one.entries(),
            "question_digest": one.digest.hex(),
        }
        if people is not None:
            about["std_error"] = predicted_error(one, people)
        sections[one.section].append(about)
    return {
        "title": study.title,
        "digest": study.digest.hex(),
        "people": people,
        "questions": sections["question"],
        "records": sections["records"],
        "guarantee": study.guarantee.as_dict(),
    }


def _advice(collection: Collection) -> str:
    """Another mechanism with a clearly smaller error, if there is one."""
    from ..planning.predict import better_kind

    better = better_kind(collection)
    if better is None:
        return ""
    kind, less = better
    names = " or ".join(dict.fromkeys(way.mechanism.id for way in collection.ways()))
    return (
        f"{collection.name!r}: {kind.id} promises the same with {less:.0%} less error than {names}"
    )


def _rows(collection: Collection, people: int | None) -> list[tuple[str, str]]:
    from ..domain.ranges import Range
    from ..domain.text import Text

    rows = [(collection.section, collection.name)]
    for domain in collection.attributes:
        shown = [str(label) for label in domain.labels[:_MOST_SHOWN]]
        if domain.wording is not None:
            shown[: len(domain.values)] = [
                f"{value} {label}" for value, label in zip(domain.values, shown, strict=False)
            ]
        values = ", ".join(shown)
        more = domain.size - _MOST_SHOWN
        if collection.section == "records":
            rows.append(("attribute", domain.name))
        many = "" if isinstance(domain, Text) else f"{domain.size:,}: "
        values = many + values + (f", … and {more:,} more" if more > 0 else "")
        if isinstance(domain, Range):
            clipped = ", and numbers outside count as the nearest of the two" * domain.clip
            rows.append(("range", f"{domain.low:.15g} to {domain.high:.15g}{clipped}"))
        else:
            rows.append(("values", values))
        if isinstance(domain, Text):
            rows += [("alphabet", domain.alphabet), ("longer", domain.longer)]
            rows += [] if domain.other is None else [("other", domain.other)]
        rows.append(("missing", domain.missing))
    rows += [("mechanism", collection.words), *_choices(collection)]
    rows.append(("digest", f"{collection.digest.hex()[:12]}…"))
    return rows if people is None else [*rows, ("error", _error(collection, people))]


def _choices(collection: Collection) -> list[tuple[str, str]]:
    """What people choose or are given, where there is something."""
    entries = collection.entries()
    levels = {
        name: entry["epsilon"] if isinstance(entry, Mapping) else entry
        for name, entry in entries.get("levels", {}).items()
    }
    choices = {
        "levels": [f"{name} {epsilon:g}" for name, epsilon in levels.items()],
        "rates": [f"{rate:g}" for rate in collection.rates] if len(collection.rates) > 1 else [],
    }
    rows = [
        (name, ", ".join(several[:_MOST_SHOWN]) + ", …" * (len(several) > _MOST_SHOWN))
        for name, several in choices.items()
        if several
    ]
    if "public" in entries:
        sent = "sent along with the reports" if entries["public"] else "not sent"
        rows.append(("allocation", sent))
    return rows


def _error(collection: Collection, people: int) -> str:
    from ..heavy import HeavyHitters
    from ..planning.predict import predicted_error

    if isinstance(collection, HeavyHitters):
        least = collection.threshold(people)
        if least > 1:
            return f"too large for {people:,} people to find any text with a probability of 95 %"
        return f"texts of {percent(least, 2)} or more are found with a probability of 95 %"
    error = predicted_error(collection, people)
    if error is None and collection.allocations:
        return "depends on how people divide epsilon: see sottovoce plan --attributes"
    if error is None:
        return "not predictable: people with rate 0 never report"
    (domain,) = collection.attributes
    numeric = domain.edges is not None and len(domain.edges) == 2
    words = f"of the mean at most {float(f'{error:.3g}'):,.10g}"
    if not numeric:
        words = f"of each fraction {100 * error:.2f} percentage points"
    spread = ", spread evenly" * (len(collection.ways()) > 1)
    who = plural(people, "person", "people")
    return f"standard error {words}, predicted for {who}{spread}"
