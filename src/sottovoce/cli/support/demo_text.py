"""The text of the demo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .estimates import show_estimate
from .show import (
    console,
    decimals_for,
    heading,
    percent,
    show_shared_words,
    show_table,
    strength,
    table_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ...estimate.estimate import Estimate
    from ...mechanisms.mechanism import Mechanism

NEXT = (
    "sottovoce serve --demo                   people answer over the network while you look",
    "sottovoce demo --people 1000000          more people, smaller error",
    "sottovoce study new --help               begin a study of your own",
    "sottovoce randomise --help               turn a column of answers into reports",
)


def show_demo(
    title: str,
    menu: Mechanism,
    examples: list[dict[str, Any]],
    estimate: Estimate,
    alone: Mapping[str, Estimate],
    truth: Mapping[Any, float],
    picture: str,
) -> None:
    """From the question to the guarantee, in the order in which things happen."""
    screen = console()
    screen.print(heading(f"{title}: {estimate.n:,} made-up people"))
    screen.print(
        "Everyone is asked how they get to work, and chooses how much privacy they want. Nobody's "
        "answer is collected: everyone randomises their own and sends only a report."
    )
    screen.print()
    _show_examples(screen, examples)
    screen.print(
        "\nNobody can say which reports are true. The fractions can still be estimated, from all "
        "levels together:"
    )
    screen.print()
    show_estimate(screen, estimate, truth=truth)
    rows = estimate.rows()
    covered = sum(row["low"] <= truth[row["value"]] <= row["high"] for row in rows)
    errors = estimate.error(dict(truth))
    screen.print(
        f"\n{covered} of {len(rows)} intervals cover the truth (95 in 100 do over many runs). "
        f"Root mean square error {100 * errors.rmse:.2f} points, largest {100 * errors.max:.2f}."
    )
    screen.print(picture)
    screen.print()
    screen.print(heading("What each level gives, and what it promises"))
    _show_levels(screen, menu, estimate, alone)
    screen.print(
        "\nalone: half an interval of a fraction of everyone, from this level's reports only; "
        "right only if those who chose it answer like the others. The combined estimate does not "
        "assume this: estimates of the levels are shrunk towards each other only as far as the "
        "data support it, and its interval holds in any case."
    )
    screen.print()
    show_shared_words(screen, estimate.guarantee)
    screen.print()
    screen.print(heading("What to try next"))
    for line in NEXT:
        screen.print(f"  {line}")


def _show_examples(screen: Console, examples: list[dict[str, Any]]) -> None:
    titles = ("", "chose", "answered", "the report says")
    table = table_of(screen, [(title, "left") for title in titles])
    for example in examples:
        table.add_row(*(str(example[key]) for key in ("name", "level", "answer", "report")))
    show_table(screen, table)


def _show_levels(
    screen: Console, menu: Mechanism, estimate: Estimate, alone: Mapping[str, Estimate]
) -> None:
    titles = ("epsilon", "people", "report is true", "sure at most", "alone")
    table = table_of(screen, [("level", "left"), *((title, "right") for title in titles)])
    promises = zip(menu.menu.items(), menu.guarantee.promises, strict=True)
    for (name, mechanism), promise in promises:
        own = alone.get(name)
        epsilon, _, sure = strength(promise)
        people = "0" if own is None else f"{own.n:,}"
        error = "–" if own is None else _half(_for_everyone(own, estimate.n))
        table.add_row(name, epsilon, people, _true(mechanism), sure, error)
    together = float((estimate.std_error**2).mean())
    table.add_row("together", "", f"{estimate.n:,}", "", "", _half(together))
    show_table(screen, table)


def _true(mechanism: Any) -> str:
    return percent(float(mechanism.p), 0)


def _for_everyone(part: Estimate, people: int) -> float:
    """Mean squared error of a level's fractions as those of everyone, if all levels are alike.

    Besides the noise, the people of the level are a sample of everyone.
    """
    fractions = part.project().values
    sample = fractions * (1 - fractions) * (1 / part.n - 1 / people)
    return float((part.std_error**2 + sample).mean())


def _half(variance: float) -> str:
    error = variance**0.5
    return f"± {percent(1.96 * error, decimals_for(error))}"
