"""What is said of earlier releases of the same answers, and when it is refused to add one."""

from __future__ import annotations

from ..errors import ParameterError
from .ledger import Receipt


def total_of(receipt: Receipt, others: list[Receipt]) -> int:
    """How often someone who is in all of these files was released."""
    return len(receipt.releases) + sum(len(other.releases) for other in others)


def changed(what: str, others: list[Receipt]) -> ParameterError:
    """The error for a file that held other answers when it was randomised."""
    last = max(other.latest.time for other in others)
    return ParameterError(
        f"{what} was randomised under this study on {last} and has changed since; whoever is in "
        "both versions would be released twice, and their guarantee would be weaker; put only new "
        "people into a file of its own, or say --again to release everyone in it once more"
    )


def notes_of(
    receipt: Receipt, others: list[Receipt], elsewhere: list[Receipt], fresh: bool, same: str
) -> list[str]:
    """What earlier releases mean for this one; `same` begins the note on other studies."""
    notes = []
    if not fresh:
        notes.append(
            "These answers were randomised before: the very same reports were given again, no new "
            "noise was drawn, and the guarantee is unchanged."
        )
    elif len(receipt.releases) > 1:
        notes.append(
            f"This is release {len(receipt.releases)} of the same answers: whoever sees all of "
            "them learns more than from one."
        )
    if any(release.choices != receipt.latest.choices for release in receipt.releases):
        notes.append(
            "Levels or rates were others in an earlier release: the guarantee below holds whatever "
            "levels people had."
        )
    if others:
        notes.append(
            "The file held other answers before: the guarantee below is that of people who are in "
            "every version; new people have a stronger one."
        )
    if elsewhere:
        titles = ", ".join(sorted({repr(found.study) for found in elsewhere}))
        notes.append(
            f"{same} randomised under {titles} too: for these people the promises of all these "
            "studies add up."
        )
    return notes
