"""``sottovoce demo``: a whole collection in one command, with simulated people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..errors import FileError, MissingExtraError
from .support.command import Output, heading, percent, progress, show_rows
from .support.estimates import show_estimate
from .support.guarantees import show_guarantee
from .support.levels import levels_json
from .support.numbers import IntRange
from .support.options import full_output, plot_option
from .support.saving import save_figure

if TYPE_CHECKING:
    from rich.console import Console

    from ..contract.aggregate import Aggregate
    from ..estimate.estimate import Estimate
    from ..mechanisms.mechanism import Mechanism

TITLE = "How we get to work"
QUESTION = "commute"
#: How many of a hundred simulated people give each answer; None is no answer.
PERCENTAGES: dict[str | None, int] = {
    "car": 44,
    "public transport": 23,
    "bicycle": 14,
    "on foot": 7,
    "working from home": 9,
    None: 3,
}
#: The menu, and how many of ten people choose each level.
MENU = {"very strong": 0.5, "strong": 1.0, "normal": 2.0, "weak": 4.0}
CHOSEN = {"very strong": 1, "strong": 3, "normal": 4, "weak": 2}
PEOPLE = {
    "Ana": ("very strong", "bicycle"),
    "Ben": ("weak", "car"),
    "Chidi": ("strong", None),
    "Dora": ("normal", "public transport"),
}
_PICTURE = Path("sottovoce-demo.png")
_BLOCK = 1 << 17
NEXT = {
    "sottovoce serve --demo": "people answer over HTTP while you look",
    "sottovoce demo --people 1000000": "more people, smaller error",
    "sottovoce study new --help": "begin a study of your own",
}
_WIDE = 68
_FEW = 2  # examples where lines are short


@click.command()
@click.option(
    "--people",
    type=IntRange(100, 10_000_000),
    default=20_000,
    show_default=True,
    metavar="N",
    help="How many people answer.",
)
@plot_option(f"Where the picture goes; by default {_PICTURE} here.")
@full_output
def demo(people: int, output: Output) -> None:
    """Run a whole collection with simulated people.

    Everyone chooses how much privacy they want; the demo goes from their answers to a table and a
    picture. The noise is real, so every run gives slightly different numbers.

    \b
    Examples:
      sottovoce demo
      sottovoce demo --people 1000000

    Next: sottovoce study new begins a collection of your own.
    """  # noqa: D301
    output.check()
    menu = _study_mechanism()
    examples = _examples(menu)
    answers = _counts(people)
    counts = _collect(menu, answers, people)
    estimate, alone = menu.estimate(counts), menu.estimates(counts)
    truth = dict(zip(menu.domain.labels, (n / people for n in answers.values()), strict=True))
    errors = estimate.error(truth)
    rows = [
        {
            **row,
            "truth": truth[row["value"]],
            "covered": row["low"] <= truth[row["value"]] <= row["high"],
        }
        for row in estimate.rows()
    ]
    saved, why_not = _picture(estimate, truth, output.picture)
    about = {
        "study": TITLE,
        "question": QUESTION,
        "mechanism": menu.id,
        "people": people,
        "examples": examples,
        "method": estimate.method,
        "assuming": estimate.assuming,
        "values": rows,
        "errors": errors._asdict(),
        "levels": levels_json(menu, alone),
        "plot": None if saved is None else str(saved),
        "guarantee": estimate.guarantee.as_dict(),
    }
    screen = output.begin(about)
    if screen is None:
        return
    shown = f"Picture: {saved}" if saved else f"No picture: {why_not}"
    wide = screen.width >= _WIDE
    gap = "\n" * wide  # an empty line, where there is room for it
    crowd = f"{estimate.n:,} simulated people"
    screen.print(heading(f"{TITLE}: {crowd}" if wide else crowd))
    screen.print(
        "Everyone chooses how much privacy they want, randomises their own answer, and sends only "
        f"the report:{gap}"
    )
    _show_examples(screen, examples, wide=wide)
    screen.print(
        f"\nNobody can say which reports are true. The fractions can still be estimated:{gap}"
    )
    show_estimate(screen, estimate, truth=truth)
    covered = sum(row["covered"] for row in rows)
    screen.print(
        f"{gap}{covered} of {len(rows)} intervals cover the truth (95 in 100 do over many runs); "
        f"the root mean square error is {100 * errors.rmse:.2f} percentage points. {shown}"
    )
    screen.print()
    _show_levels(screen, menu, alone, wide=wide)
    if wide and not output.full:
        screen.print(
            "\nSure at most: how sure anyone can be of an answer after seeing the report, if they "
            "considered it and another one equally likely beforehand."
        )
    screen.print()
    if output.full:
        show_guarantee(screen, estimate.guarantee)
    else:
        screen.print(f"{estimate.guarantee.line()}; details: --guarantee")
    screen.print("\nNext:", style="dim")
    for command, why in NEXT.items():
        screen.print(f"  {command:<34}{why}" if wide else f"  {command}", style="dim")


def _show_examples(screen: Console, examples: list[dict[str, Any]], *, wide: bool) -> None:
    if not wide:
        for example in examples[:_FEW]:
            screen.print("{name}, {level}: {answer} → {report}".format(**example))
        return
    cells = (map(str, example.values()) for example in examples)
    show_rows(screen, ["", "chose", "answered", "the report says"], cells, left=4)


def _show_levels(screen: Console, menu: Any, alone: Mapping[str, Estimate], *, wide: bool) -> None:
    from ..promise.words import level_cells

    titles = ("epsilon", "people", "report is true", "sure at most")
    if not wide:
        titles = ("ε", "people", "report\nis true", "sure at\nmost")
    rows = []
    promises = zip(menu.menu.items(), menu.guarantee.promises, strict=True)
    for (name, mechanism), promise in promises:
        epsilon, _, sure = level_cells(promise)
        people = f"{alone[name].n:,}" if name in alone else "0"
        rows.append([name, epsilon, people, percent(float(mechanism.p), 0), sure])
    show_rows(screen, ["level", *titles], rows)


def _study_mechanism() -> Mechanism:
    from ..domain.values import Attribute
    from ..mechanisms import GRR
    from ..participation import Levels
    from ..study import Study

    values = [value for value in PERCENTAGES if value is not None]
    # With 6 values GRR's reports are single values, and at these epsilons as precise as any.
    asked = Levels.of(GRR, Attribute(QUESTION, values, missing="value"), MENU)
    return Study(TITLE, (asked,)).mechanism()


def _counts(people: int) -> dict[str | None, int]:
    """Whole people: fractions rounded down; the rest go by car."""
    counts = {value: people * percent // 100 for value, percent in PERCENTAGES.items()}
    counts["car"] += people - sum(counts.values())
    return counts


def _collect(menu: Mechanism, answers: Mapping[str | None, int], people: int) -> Aggregate:
    """Everyone's side and the collector's: randomise, count, merge."""
    total: Any = 0
    with progress("people answer", people) as done:
        for block, levels in _blocks(answers):
            total += menu.aggregate(menu.randomise(block, level=levels))
            done(total.people)
    return cast("Aggregate", total)


def _blocks(answers: Mapping[str | None, int]) -> Iterator[tuple[list[str | None], Any]]:
    """Answers with the levels of those who give them, some at a time.

    Made-up people choose at random, whatever they answer; real ones choose for themselves.
    """
    import numpy as np

    choice = np.random.default_rng()
    fractions = np.array(list(CHOSEN.values())) / sum(CHOSEN.values())
    for value, n in answers.items():
        for start in range(0, n, _BLOCK):
            size = min(_BLOCK, n - start)
            yield [value] * size, choice.choice(list(CHOSEN), size, p=fractions)


def _examples(menu: Mechanism) -> list[dict[str, Any]]:
    """A few people, their levels and answers, and what their reports say."""
    from ..domain.values import NO_ANSWER

    examples = []
    for name, (level, answer) in PEOPLE.items():
        report = menu.randomise([answer], level=level)
        label = menu.domain.decode(report.columns["value"])
        examples.append(
            {"name": name, "level": level, "answer": answer or NO_ANSWER, "report": label[0]}
        )
    return examples


def _picture(
    estimate: Estimate, truth: dict[Any, float], picture: Path | None
) -> tuple[Path | None, str]:
    """Save the picture; without --plot, the demo goes on if that fails."""
    target = picture or _PICTURE
    try:
        save_figure(lambda: estimate.plot(truth=truth), target)
    except (MissingExtraError, FileError) as error:
        if picture is not None:
            raise
        return None, str(error)
    return target, ""
