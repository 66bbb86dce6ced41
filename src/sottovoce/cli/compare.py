"""``sottovoce compare``: the difference of two collections, with intervals and a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import click

from ..collect.counting import count_files
from ..errors import ParameterError
from ..files import files_of, is_address, opened
from .support.command import Output, console, heading, plural, print_json, progress
from .support.estimates import estimate_json, noise_words, noted, show_estimate
from .support.guarantees import show_guarantee
from .support.options import PATH, question_option, result_options
from .support.saving import picture_of

if TYPE_CHECKING:
    from ..contract.collection import Collection
    from ..estimate.contrasts import Contrast
    from ..estimate.estimate import Estimate


@click.command()
@click.argument("first", type=click.Path(), metavar="FIRST")
@click.argument("second", type=click.Path(), metavar="SECOND")
@click.option(
    "--study",
    "studies",
    type=PATH,
    required=True,
    multiple=True,
    metavar="FILE",
    help="The study file; twice if the second collection had another one.",
)
@question_option
@click.option("--attribute", metavar="NAME", help="For records: which attribute.")
@click.option(
    "--names", metavar="A,B", help="What to call the two; by default the names of the files."
)
@click.option("--method", help="As for sottovoce estimate.")
@result_options
def compare(
    first: str,
    second: str,
    studies: tuple[Path, ...],
    question: str | None,
    attribute: str | None,
    names: str | None,
    method: str | None,
    allow_equal: bool,
    output: Output,
) -> None:
    """Compare two groups, or two waves: second minus first.

    Takes two files of counts (.sva) or reports (.svr, .parquet) of the same question; a folder, a
    quoted pattern or an address of an object store stands for the files in it. Differences are in
    percentage points, each with an interval and the p-value of "no difference". Mechanisms and
    levels may differ as long as the values are the same; then give --study twice.

    \b
    Examples:
      sottovoce compare 2025.sva 2026.sva --study study.toml --plot change.png
      sottovoce compare north.sva south.sva --study study.toml --simultaneous --csv change.csv

    Next: sottovoce estimate 2026.sva --study study.toml shows one of them on its own.
    """  # noqa: D301
    from ..estimate.display import p_value_words
    from ..study import Study

    if len(studies) > 2:
        raise ParameterError(f"--study is given {len(studies)} times; give it once or twice")
    sides = [files_of(first), files_of(second)]
    output.check(*studies, *(Path(file) for files in sides for file in files))
    both = _names(names, first, second)
    loaded = [Study.load(path) for path in studies]
    collections = [each.collection(question) for each in (loaded * 2)[:2]]
    if not allow_equal:
        _refuse_equal(*sides)
    with noted() as warned:
        for collection in collections:
            _check_attribute(collection, attribute)
        counts = [
            count_files(files, collection, allow_equal=allow_equal, progress=progress).aggregate
            for files, collection in zip(sides, collections, strict=True)
        ]
        if not allow_equal and counts[0] == counts[1] and _forms(sides[0]) != _forms(sides[1]):
            raise ParameterError(
                f"{first!r} and {second!r} have the same counts in different forms, so they seem "
                "to be the same reports; name two collections (--allow-equal if they are equal by "
                "chance)"
            )
        attributes = () if attribute is None else (attribute,)
        pair: list[Estimate] = [
            each.marginal(some, attributes, method=method or each.shown_method)
            for each, some in zip(collections, counts, strict=True)
        ]
        change = _name_promises(pair[1] - pair[0], both[::-1])
        change.interval(output.confidence)  # refuses a wrong confidence before anything is shown
    test = change.test()
    drawn = {"names": both, "sort": output.sort, **output.intervals}
    output.save(lambda: picture_of("difference", *pair, **drawn), change)
    shown = dict(zip(both, pair, strict=True))
    if output.as_json:
        reports = sum(map(_reports, pair))
        print_json(
            {
                "study": loaded[0].title,
                "question": change.name,
                "unit": change.unit,
                "test": {"p_value": test.p_value, "method": test.method},
                **estimate_json(change, reports, **output.intervals, picture=output.picture),
                "parts": [
                    {"name": name, **estimate_json(each, _reports(each), output.confidence)}
                    for name, each in shown.items()
                ],
                "warnings": warned,
            }
        )
        return
    screen = console()
    screen.print(heading(f"{loaded[0].title}: {change.name}, {both[1]} − {both[0]}"))
    counted = (f"{name} {plural(_reports(each), 'report')}" for name, each in shown.items())
    screen.print(f"{', '.join(counted)}; {change.method}\n")
    show_estimate(screen, change, **output.intervals, sort=output.sort, others=shown)
    unit = " in percentage points" if change.unit == "points" else ""
    screen.print(f"\nDifferences are {both[1]} − {both[0]}{unit}.")
    if change.values.size > 1:
        chance = f"{p_value_words(test.p_value).strip()} ({test.method})"
        screen.print(f'p-value of "nothing differs", for all values together: {chance}.')
    noise = noise_words(any(each.sampled for each in collections))
    screen.print(f"Intervals and p-values measure {noise}.", style="dim")
    output.show_files(screen)
    screen.print()
    units = [promise.unit for promise in change.guarantee.promises]
    after = ", for someone who may be in both"
    if any(unit.group for unit in units):
        after = ", for someone in one of them; for someone in both they add up"
    elif any(unit.level for unit in units):
        after = f"{after}, at the same level"
    show_guarantee(screen, change.guarantee, full=output.full, after=after)


def _names(names: str | None, *sides: str) -> list[str]:
    if names is None:
        # The options of an address are no part of its name.
        paths = [unquote(side.partition("?")[0]) if is_address(side) else side for side in sides]
        both = [Path(path).stem for path in paths]
        return both if both[0] != both[1] else ["first", "second"]
    both = [name.strip() for name in names.split(",")]
    if len(both) != 2 or not all(both) or both[0] == both[1]:
        raise ParameterError(f"--names is {names!r}; give two different names, such as 2025,2026")
    return both


def _name_promises(change: Contrast, names: Sequence[str]) -> Contrast:
    """Promises that stand side by side, each made to the people of a collection by its name."""
    from ..estimate.contrasts import APART

    known = dict(zip(APART, names, strict=True))
    promises = []
    for promise in change.guarantee.promises:
        first, *inner = (promise.unit.group or "").split(" / ")
        if first in known:
            group = " / ".join([known[first], *inner])
            promise = replace(promise, unit=replace(promise.unit, group=group))
        promises.append(promise)
    return replace(change, guarantee=replace(change.guarantee, promises=tuple(promises)))


def _refuse_equal(first: list[str], second: list[str]) -> None:
    """The same reports twice have no difference to estimate."""
    from ..collect.ledger import sha256

    sizes = [[_size(file) for file in files] for files in (first, second)]
    alike = set(sizes[0]) & set(sizes[1])  # only these are read
    digests: dict[str, str] = {}
    for file, size in zip(first, sizes[0], strict=True):
        if size in alike:
            digests.setdefault(sha256(file), file)
    for file, size in zip(second, sizes[1], strict=True):
        if size in alike and (other := digests.get(sha256(file))):
            raise ParameterError(
                f"{other!r} and {file!r} have the same content, so they are the same "
                "reports; name two collections (--allow-equal if they are equal by chance)"
            )


def _size(file: str) -> int:
    with opened(file) as stream:
        return stream.seek(0, 2)


def _forms(files: list[str]) -> set[str]:
    """Whether files are counts, reports or tables of reports, by their endings."""
    return {Path(file).suffix.lower() for file in files}


def _check_attribute(collection: Collection, attribute: str | None) -> None:
    if collection.allocations and attribute is None:
        known = ", ".join(repr(each.name) for each in collection.attributes)
        raise ParameterError(
            f"{collection.name!r} are records; say which attribute with --attribute, one of {known}"
        )


def _reports(estimate: Estimate) -> int:
    return estimate.n if estimate.reports is None else estimate.reports
