"""The text of the demo: one screen of 40 lines, also where it is 40 columns wide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .estimates import show_estimate
from .show import console, heading, percent, show_guarantee, show_table, strength, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from ...estimate.estimate import Estimate
    from ...mechanisms.mechanism import Mechanism

NEXT = {
    "sottovoce serve --demo": "people answer over HTTP while you look",
    "sottovoce demo --people 1000000": "more people, smaller error",
    "sottovoce study new --help": "begin a study of your own",
}
_WIDE = 68
_FEW = 2  # examples where lines are short


def show_demo(
    title: str,
    menu: Mechanism,
    examples: list[dict[str, Any]],
    estimate: Estimate,
    alone: Mapping[str, Estimate],
    truth: Mapping[Any, float],
    picture: str,
    *,
    full: bool,
) -> None:
    """From the answers to the guarantee, in the order in which things happen."""
    screen = console()
    wide = screen.width >= _WIDE
    people = f"{estimate.n:,} made-up people"
    screen.print(heading(f"{title}: {people}" if wide else people))
    screen.print(
        "Everyone chooses how much privacy they want, randomises their own answer, and sends only "
        "the report:"
    )
    _space(screen, wide)
    _show_examples(screen, examples, wide=wide)
    screen.print("\nNobody can say which reports are true. The fractions can still be estimated:")
    _space(screen, wide)
    show_estimate(screen, estimate, truth=truth)
    _space(screen, wide)
    rows = estimate.rows()
    covered = sum(row["low"] <= truth[row["value"]] <= row["high"] for row in rows)
    errors = estimate.error(dict(truth))
    screen.print(
        f"{covered} of {len(rows)} intervals cover the truth (95 in 100 do over many runs); the "
        f"root mean square error is {100 * errors.rmse:.2f} percentage points. {picture}"
    )
    screen.print()
    _show_levels(screen, menu, alone, wide=wide)
    if wide and not full:
        screen.print(
            "\nSure at most: how sure anyone can be of an answer, who considered it and another "
            "one equally likely before seeing the report."
        )
    screen.print()
    if full:
        show_guarantee(screen, estimate.guarantee)
    else:
        screen.print(f"{estimate.guarantee.line()}; details: --guarantee")
    screen.print("\nNext:", style="dim")
    for command, why in NEXT.items():
        screen.print(f"  {command:<34}{why}" if wide else f"  {command}", style="dim")


def _space(screen: Console, wide: bool) -> None:
    """An empty line, where there is room for it."""
    if wide:
        screen.print()


def _show_examples(screen: Console, examples: list[dict[str, Any]], *, wide: bool) -> None:
    if not wide:
        for example in examples[:_FEW]:
            screen.print("{name}, {level}: {answer} → {report}".format(**example))
        return
    titles = ("", "chose", "answered", "the report says")
    table = table_of(screen, [(title, "left") for title in titles])
    for example in examples:
        table.add_row(*(str(example[key]) for key in ("name", "level", "answer", "report")))
    show_table(screen, table)


def _show_levels(
    screen: Console, menu: Mechanism, alone: Mapping[str, Estimate], *, wide: bool
) -> None:
    titles = ("epsilon", "people", "report is true", "sure at most")
    if not wide:
        titles = ("ε", "people", "report\nis true", "sure at\nmost")
    table = table_of(screen, [("level", "left"), *((title, "right") for title in titles)])
    promises = zip(menu.menu.items(), menu.guarantee.promises, strict=True)
    for (name, mechanism), promise in promises:
        own = alone.get(name)
        epsilon, _, sure = strength(promise)
        people = "0" if own is None else f"{own.n:,}"
        table.add_row(name, epsilon, people, _true(mechanism), sure)
    show_table(screen, table)


def _true(mechanism: Any) -> str:
    return percent(float(mechanism.p), 0)
