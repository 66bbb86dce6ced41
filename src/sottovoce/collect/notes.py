"""Messages about earlier releases of the same answers, and refusals to add one."""

from __future__ import annotations

from collections.abc import Mapping

from ..domain.columns import first_few
from ..errors import ParameterError
from .fingerprint import Content
from .receipts import Receipt


def total_of(receipt: Receipt, others: list[Receipt]) -> int:
    """How often the answers of someone in all of these files were released."""
    return len(receipt.releases) + sum(len(other.releases) for other in others)


def refused(what: str, content: Content, others: list[Receipt]) -> ParameterError:
    """The error for answers of people some of whom were released before, saying how that is known.

    `what` begins the sentence: a file and its column.
    """
    last = max(others, key=lambda other: other.latest.day)
    rest = (
        "would be released twice, and their guarantee would be weaker; put new people into a "
        "separate file, or add --again to release everyone in it once more"
    )
    day, before = last.latest.day, first_few(last.inputs, 2)
    shared = last.shared_rows(content.prefixes)
    if last.answers == content.answers:
        return ParameterError(
            f"{what} holds the same answers as {before}, randomised under this study on {day}, but "
            "so few, or sorted, that other people's may be equal by chance; if they are the same "
            "people's, use the reports of that file; if not, say --again, which counts them as "
            "released twice"
        )
    if shared == last.rows:
        return ParameterError(
            f"{what} begins with the {shared:,} people of {before}, randomised under this study on "
            f"{day}, and more follow; those {shared:,} {rest}"
        )
    if shared:
        return ParameterError(
            f"{what} begins with the same {shared:,} people or more as {before}, randomised under "
            f"this study on {day}; they {rest}"
        )
    return ParameterError(
        f"{what} was randomised under this study on {day} and has changed since; whoever is in "
        f"both versions {rest}"
    )


def other_choices(what: str, receipt: Receipt, words: Mapping[str, str]) -> ParameterError:
    """The error for answers that were released while people chose otherwise."""
    latest = receipt.latest
    before, now = (
        ", ".join(f"{choice}: {where}" for choice, where in one.items())
        for one in (latest.choices, words)
    )
    return ParameterError(
        f"{what}, was randomised on {latest.day} with {before}, and now {now} is asked for, or "
        "holds other choices; everyone would be released twice, and their guarantee would be "
        "weaker: choose as then, or say --again, which is a second release of everyone"
    )


def notes_of(
    receipt: Receipt, others: list[Receipt], elsewhere: list[Receipt], fresh: bool
) -> list[str]:
    """What earlier releases mean for this one."""
    notes = []
    if not fresh:
        notes.append(
            "These answers were randomised before: the same reports were returned, no new noise "
            "was drawn, and the guarantee is unchanged."
        )
    elif len(receipt.releases) > 1:
        notes.append(
            f"This is release {len(receipt.releases)} of the same answers: anyone who sees all of "
            "them learns more than from one."
        )
    if any(release.chosen != receipt.latest.chosen for release in receipt.releases):
        notes.append(
            "Levels or rates differed in an earlier release: the guarantee below holds whatever "
            "levels people had."
        )
    if others:
        notes.append(
            "Some of these people were released before, from this file or another: the guarantee "
            "below is that of people who are in every version; new people have a stronger one."
        )
    if elsewhere:
        titles = ", ".join(sorted({repr(earlier.study) for earlier in elsewhere}))
        notes.append(
            f"Some of these columns were randomised under {titles} too: for these people the "
            "promises of all these studies add up."
        )
    return notes
