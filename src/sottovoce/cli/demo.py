"""``sottovoce demo``: a whole collection in one command, with people who are made up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FileError, MissingExtraError
from .support.options import PATH, check_output, force_option, json_option
from .support.screen import console, heading, print_json, progress, show_guarantee, show_table
from .support.tables import check_picture, estimate_table, save_picture

if TYPE_CHECKING:
    from ..aggregate import Aggregate
    from ..estimate import Errors, Estimate
    from ..mechanism import PureMechanism

TITLE = "How we get to work"
QUESTION = "commute"
EPSILON = 1.0
#: How many of a hundred made-up people give each answer; None is no answer.
SHARES: dict[str | None, int] = {
    "car": 44,
    "public transport": 23,
    "bicycle": 14,
    "on foot": 7,
    "working from home": 9,
    None: 3,
}
PEOPLE = {"Ana": "bicycle", "Ben": "car", "Chidi": None, "Dora": "public transport"}
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
@force_option
@json_option
def demo(people: int, picture: Path | None, force: bool, as_json: bool) -> None:
    """Run a whole collection on made-up people.

    From their answers to a table and a picture. The noise is real, so every run comes out a little
    different.

    \b
    Examples:
      sottovoce demo
      sottovoce demo --people 1000000

    Next: sottovoce study new begins a collection of your own.
    """  # noqa: D301
    if picture is not None:
        check_picture(picture)
        check_output(picture, force=force)
    mechanism = _study_mechanism()
    examples = _examples(mechanism)
    counts = _counts(people)
    estimate = mechanism.estimate(_collect(mechanism, counts, people))
    truth = dict(zip(mechanism.domain.labels, (n / people for n in counts.values()), strict=True))
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
                "mechanism": mechanism.id,
                "people": people,
                "examples": examples,
                "values": rows,
                "errors": errors._asdict(),
                "plot": None if saved is None else str(saved),
                "guarantee": estimate.guarantee.as_dict(),
            }
        )
        return
    _narrate(estimate, mechanism, examples, truth, rows, errors, saved, why_not)


def _study_mechanism() -> PureMechanism:
    from ..domain import Attribute
    from ..mechanisms import GRR
    from ..study import Study

    values = [value for value in SHARES if value is not None]
    # With 6 values and this epsilon GRR has a smaller error than OUE.
    asked = GRR(Attribute(QUESTION, values, missing="value"), epsilon=EPSILON)
    bound = Study(TITLE, (asked,)).mechanism()
    return asked.bind(bound.digest)


def _counts(people: int) -> dict[str | None, int]:
    """Whole people: shares rounded down, and who is left goes by car."""
    counts = {value: people * share // 100 for value, share in SHARES.items()}
    counts["car"] += people - sum(counts.values())
    return counts


def _collect(mechanism: PureMechanism, counts: dict[str | None, int], people: int) -> Aggregate:
    """Everyone's side and the collector's: randomise, count, merge."""
    parts: list[Aggregate] = []
    with progress("people answer", people) as done:
        for block in _blocks(counts):
            parts.append(mechanism.aggregate(mechanism.randomise(block)))
            done(sum(part.n for part in parts))
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def _blocks(counts: dict[str | None, int]) -> Iterator[list[str | None]]:
    for value, n in counts.items():
        for start in range(0, n, _BLOCK):
            yield [value] * min(_BLOCK, n - start)


def _examples(mechanism: PureMechanism) -> list[dict[str, Any]]:
    """A few people, their answers and what their reports say."""
    from ..domain import NO_ANSWER

    reports = mechanism.randomise(list(PEOPLE.values()))
    examples = []
    for k, (name, answer) in enumerate(PEOPLE.items()):
        support = mechanism.support(reports[k : k + 1])
        says = [str(mechanism.domain.labels[v]) for v in range(support.size) if support[v]]
        examples.append({"name": name, "answer": answer or NO_ANSWER, "report": says})
    return examples


def _picture(
    estimate: Estimate, truth: dict[Any, float], picture: Path | None
) -> tuple[Path | None, str]:
    """Save the picture; the demo goes on without one unless it was asked for."""
    target = picture or _PICTURE
    try:
        save_picture(estimate, target, truth=truth)
    except (MissingExtraError, FileError) as error:
        if picture is not None:
            raise
        return None, str(error)
    return target, ""


def _narrate(
    estimate: Estimate,
    mechanism: PureMechanism,
    examples: list[dict[str, Any]],
    truth: dict[Any, float],
    rows: list[dict[str, Any]],
    errors: Errors,
    saved: Path | None,
    why_not: str,
) -> None:
    screen = console()
    screen.print(heading(f"{TITLE}: {estimate.n:,} made-up people"))
    screen.print(
        "Everyone is asked how they get to work. Nobody's answer is collected: each side "
        "randomises its own answer and sends only a report "
        f"({mechanism.id}, epsilon = {mechanism.epsilon:g})."
    )
    screen.print()
    for example in examples:
        said = ", ".join(example["report"]) or "nothing"
        screen.print(f"  {example['name']:<6} answered {example['answer']!r:<19} report: {said}")
    kept = float(mechanism.p)
    screen.print(
        f"\nA report tells the truth with probability {kept:.0%}; nobody can say which ones do. "
        "The crowd can still be heard:"
    )
    screen.print()
    show_table(screen, estimate_table(screen, estimate, truth=truth))
    covered = sum(row["covered"] for row in rows)
    screen.print(
        f"\n{covered} of {len(rows)} intervals cover the truth (95 in 100 do over many runs). "
        f"Root mean square error {100 * errors.rmse:.2f} points, largest "
        f"{100 * errors.max:.2f}, total variation {errors.tv:.4f}."
    )
    screen.print(f"Picture: {saved}" if saved else f"No picture: {why_not}")
    screen.print()
    show_guarantee(screen, estimate.guarantee, "What is promised to every one of them")
    screen.print()
    screen.print(heading("What to try next"))
    for line in (
        "sottovoce demo --people 1000000          more people, smaller error",
        "sottovoce study new --help               begin a study of your own",
        "sottovoce randomise --help               turn a column of answers into reports",
    ):
        screen.print(f"  {line}")
