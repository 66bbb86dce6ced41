"""What the commands of `parties` share: options, keys, and the place of a party in its study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..support.options import PATH
from ..support.show import printable, show_guarantee

if TYPE_CHECKING:
    from rich.console import Console

    from ...promise import Guarantee
    from ...study.parties import PartyStudy
    from ...transport.batch import Role
    from ...transport.post import Seat

F = TypeVar("F", bound=Callable[..., Any])

study_argument = click.argument("study_path", metavar="STUDY", type=PATH)
dry_option = click.option(
    "--dry-run", is_flag=True, help="A rehearsal: synthetic rows, nothing is spent."
)
ledger_option = click.option(
    "--ledger",
    "ledger_path",
    type=PATH,
    metavar="FILE",
    help="Your budget ledger; by default that of this user.",
)
dataset_option = click.option(
    "--dataset", metavar="NAME", help="Whose budget is spent; the party's name by default."
)
party_option = click.option("--party", "name", required=True, metavar="ID", help="Who you are.")


def key_option(command: F) -> F:
    """--key."""
    return click.option(
        "--key",
        "key_path",
        type=PATH,
        metavar="FILE",
        help="Your private key; by default ID.key beside the study.",
    )(command)


def playing_options(command: F) -> F:
    """--key, --journal and --dry-run."""
    command = dry_option(command)
    command = click.option(
        "--journal",
        "journal_path",
        type=PATH,
        metavar="FILE",
        help="What is needed to go on after a crash; by default beside the key.",
    )(command)
    return key_option(command)


def curator_options(command: F) -> F:
    """--curator and --timeout."""
    command = click.option(
        "--timeout",
        type=float,
        default=600.0,
        show_default=True,
        metavar="S",
        help="Seconds without an answer after which the curator counts as lost.",
    )(command)
    return click.option(
        "--curator",
        "address",
        required=True,
        metavar="HOST:PORT",
        help="Where the curator listens.",
    )(command)


def load_study(path: Path, *, dry_run: bool = False) -> PartyStudy:
    """The study, or a rehearsal of it."""
    from ...study.parties import PartyStudy

    study = PartyStudy.load(path)
    return study.rehearsed() if dry_run else study


def key_beside(study_path: Path, name: str, key_path: Path | None) -> Path:
    """Where a party's private key is."""
    return key_path if key_path is not None else study_path.parent / f"{name}.key"


def seat_of(study: PartyStudy, name: str, key_path: Path) -> Seat:
    """A party's place in the study; the key must be the one that the roster has for it."""
    from ...errors import FileError, StudyError
    from ...transport.keys import KeyPair
    from ...transport.post import Seat

    study.roster.party(name)  # refuses unknown names before any file is read
    try:
        keys = KeyPair.load(key_path)
    except FileError as error:
        raise FileError(f"{error}; name the private key of {name} with --key") from error
    seat = Seat(study.roster, study.digest, keys)
    if seat.party.id != name:
        raise StudyError(f"{str(key_path)!r} is the key of {seat.party.id}, not of {name}")
    return seat


def only_member(study: PartyStudy, role: Role) -> str:
    """The name of the curator or the dealer."""
    from ...errors import StudyError

    for party in study.roster:
        if party.role is role:
            return party.id
    raise StudyError(f"this study has no {role.value}")


def journal_beside(key_path: Path, journal_path: Path | None, study: PartyStudy) -> Path:
    """Where a run's journal is; that of a rehearsal is another file."""
    if journal_path is not None:
        return journal_path
    return key_path.with_name(f"{key_path.name}{'.rehearsal' * study.rehearsal}.journal")


def is_resumable(journal: Path, seat: Seat, rounds: int) -> bool:
    """Whether a run of this study was interrupted and goes on from its journal."""
    from ...transport.journal import Journal

    if not journal.exists():
        return False
    about = {"study": seat.study.hex(), "party": seat.party.id, "rounds": rounds}
    kept = Journal(journal, {"journal": "party", **about})
    try:
        return kept.session is not None
    finally:
        kept.close()


def show_promises(screen: Console, guarantee: Guarantee, *, full: bool) -> None:
    """A line for every party, or all words."""
    if full:
        show_guarantee(screen, guarantee)
        return
    for promise in guarantee.promises:
        screen.print(printable(promise.line()), soft_wrap=True)
    screen.print("details: --guarantee", style="dim")


def url_of(address: str) -> str:
    """An address with its scheme: plain HTTP on this machine, TLS elsewhere."""
    from ...transport.http import is_loopback

    if "://" in address:
        return address
    host = address.rpartition(":")[0].strip("[]")
    return f"http{'' if is_loopback(host) else 's'}://{address}"
