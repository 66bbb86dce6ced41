"""``sottovoce demo``: a whole collection in one command, with made-up people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FileError, MissingExtraError
from .support.demo_text import show_demo
from .support.options import PATH, force_option, guarantee_option, json_option
from .support.pictures import check_picture, save_figure
from .support.show import print_json, progress

if TYPE_CHECKING:
    from ..contract.aggregate import Aggregate
    from ..estimate.estimate import Estimate
    from ..mechanisms.mechanism import Mechanism

TITLE = "How we get to work"
QUESTION = "commute"
#: How many of a hundred made-up people give each answer; None is no answer.
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


@click.command()
@click.option(
    "--people",
    type=click.IntRange(100, 10_000_000),
    default=20_000,
    show_default=True,
    metavar="N",
    help="How many people answer.",
)
@click.option(
    "--plot",
    "picture",
    type=PATH,
    metavar="FILE",
    help=f"Where the picture goes; by default {_PICTURE} here.",
)
@guarantee_option
@force_option
@json_option
def demo(people: int, picture: Path | None, full: bool, force: bool, as_json: bool) -> None:
    """Run a whole collection with made-up people.

    Everyone chooses how much privacy they want; the demo goes from their answers to a table and a
    picture. The noise is real, so every run comes out a little different.

    \b
    Examples:
      sottovoce demo
      sottovoce demo --people 1000000

    Next: sottovoce study new begins a collection of your own.
    """  # noqa: D301
    check_picture(picture, force=force)
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
    saved, why_not = _picture(estimate, truth, picture)
    if as_json:
        print_json(
            {
                "study": TITLE,
                "question": QUESTION,
                "mechanism": menu.id,
                "people": people,
                "examples": examples,
                "method": estimate.method,
                "assuming": estimate.assuming,
                "values": rows,
                "errors": errors._asdict(),
                "levels": [
                    {
                        "level": name,
                        "epsilon": menu.menu[name].epsilon,
                        "people": part.n,
                        "values": part.rows(),
                    }
                    for name, part in alone.items()
                ],
                "plot": None if saved is None else str(saved),
                "guarantee": estimate.guarantee.as_dict(),
            }
        )
        return
    shown = f"Picture: {saved}" if saved else f"No picture: {why_not}"
    show_demo(TITLE, menu, examples, estimate, alone, truth, shown, full=full)


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
    parts: list[Aggregate] = []
    with progress("people answer", people) as done:
        for block, levels in _blocks(answers):
            parts.append(menu.aggregate(menu.randomise(block, level=levels)))
            done(sum(part.people for part in parts))
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


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
