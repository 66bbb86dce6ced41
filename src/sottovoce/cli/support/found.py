"""Estimates from records, on the screen or as JSON."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .options import check_output
from .screen import console, heading, plural, print_json, show_guarantee, show_table
from .tables import MOST_ROWS, check_picture, estimate_table


@contextmanager
def noted() -> Iterator[list[str]]:
    """What is warned of inside, each once, for JSON; it is shown as usual, too."""
    said: list[str] = []
    before = warnings.showwarning

    def show(message: Warning | str, *arguments: Any, **options: Any) -> None:
        if str(message) not in said:
            said.append(str(message))
        before(message, *arguments, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield said


def check_picture_of(picture: Path | None, *inputs: Path, force: bool) -> None:
    """Refuse a picture that cannot be saved, before any work."""
    if picture is not None:
        check_picture(picture)
        check_output(picture, *inputs, force=force)


def show_found(
    title: str,
    found: Any,
    confidence: float,
    picture: Path | None,
    as_json: bool,
    **more: Any,
) -> None:
    """Show a marginal or joint distribution; `more` goes into the JSON object."""
    if as_json:
        print_json(
            {
                "title": title,
                "attributes": found.name,
                "people": found.n,
                "reports": found.n if found.reports is None else found.reports,
                "method": found.method,
                "biased": found.biased,
                "error_from": found.error_from,
                "assuming": found.assuming,
                "confidence": confidence,
                "values": found.rows(confidence),
                "plot": None if picture is None else str(picture),
                "guarantee": found.guarantee.as_dict(),
                **more,
            }
        )
        return
    screen = console()
    screen.print(heading(f"{title}: {found.name}"))
    steps = more.get("steps")
    taken = "" if steps is None else f", {plural(steps, 'step')}"
    people = "" if found.reports in (None, found.n) else f" of {found.n:,} people"
    reports = plural(found.n if found.reports is None else found.reports, "report")
    screen.print(f"{reports}{people}, {found.method}{taken}")
    if steps == 0 and more.get("stop") is None and len(found.attributes) > 1:
        screen.print("No dependence was found: this is the product of the attributes' own shares.")
    if found.assuming:
        screen.print(f"Assuming that {found.assuming}.")
    screen.print()
    show_table(screen, estimate_table(screen, found, confidence))
    if found.values.size > MOST_ROWS:
        screen.print(
            f"\nThe {MOST_ROWS} largest of {found.values.size:,} cells; --json lists all of them."
        )
    information = more.get("mutual_information")
    if information is not None:
        screen.print(
            f"\nMutual information: {information['estimate']:.3f} nats "
            f"({information['low']:.3f} to {information['high']:.3f}); 0 would be independence."
        )
    if picture is not None:
        screen.print(f"The picture is in {picture}.")
    screen.print()
    show_guarantee(screen, found.guarantee, "What is promised to someone who reports everything")
