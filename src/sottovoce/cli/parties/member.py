"""What the commands of `parties` share: options, and a member's place in its study."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..support.command import Output, progress
from ..support.numbers import SECONDS
from ..support.options import PATH, together

if TYPE_CHECKING:
    from ...study.parties import PartyStudy
    from ...transport import Machine
    from ...transport.batch import Role
    from ...transport.network import Played
    from ...transport.post import Seat

study_argument = click.argument("study_path", metavar="STUDY", type=PATH)
party_option = click.option("--party", "name", required=True, metavar="ID", help="Who you are.")
key_option = click.option(
    "--key",
    "key_path",
    type=PATH,
    metavar="FILE",
    help="Your private key; by default ID.key beside the study.",
)
ledger_options = together(
    click.option(
        "--ledger",
        "ledger_path",
        type=PATH,
        metavar="FILE",
        help="Your budget ledger; by default that of this user.",
    ),
    click.option(
        "--dataset", metavar="NAME", help="Whose budget is spent; the party's name by default."
    ),
)
playing_options = together(
    key_option,
    click.option(
        "--journal",
        "journal_path",
        type=PATH,
        metavar="FILE",
        help="File needed to continue after a crash; by default beside the key.",
    ),
    click.option("--dry-run", is_flag=True, help="A rehearsal: synthetic rows, nothing is spent."),
)
curator_options = together(
    click.option(
        "--curator",
        "address",
        required=True,
        metavar="HOST:PORT",
        help="Where the curator listens.",
    ),
    click.option(
        "--timeout",
        type=SECONDS,
        default=600.0,
        show_default=True,
        metavar="S",
        help="Seconds without an answer after which the curator counts as lost.",
    ),
)


@dataclass(frozen=True)
class Member:
    """Somebody who takes part: the study, or a rehearsal of it, and their place in it."""

    study: PartyStudy
    name: str
    key: Path  # the private key
    seat: Seat
    journal: Path

    @classmethod
    def of(
        cls,
        study_path: Path,
        who: str | Role,
        key_path: Path | None,
        journal_path: Path | None = None,
        *,
        dry_run: bool = False,
    ) -> Member:
        """The member of a name, or the only one with a role.

        The key must be the one that the roster has for it; the journal of a rehearsal is another
        file.
        """
        from ...errors import FileError, StudyError
        from ...study.parties import PartyStudy
        from ...transport.keys import KeyPair
        from ...transport.post import Seat

        study = PartyStudy.load(study_path)
        study = study.rehearsed() if dry_run else study
        name = who if isinstance(who, str) else _only_member(study, who)
        study.roster.party(name)  # refuses unknown names before any file is read
        key = key_path if key_path is not None else study_path.parent / f"{name}.key"
        try:
            keys = KeyPair.load(key)
        except FileError as error:
            raise FileError(f"{error}; name the private key of {name} with --key") from error
        seat = Seat(study.roster, study.digest, keys)
        if seat.party.id != name:
            raise StudyError(f"{str(key)!r} is the key of {seat.party.id}, not of {name}")
        beside = key.with_name(f"{key.name}{'.rehearsal' * dry_run}.journal")
        return cls(study, name, key, seat, journal_path or beside)

    @property
    def rounds(self) -> int:
        """Of messages."""
        return self.study.protocol.message_rounds

    @property
    def is_resumed(self) -> bool:
        """Whether a run of this study was interrupted and goes on from its journal."""
        from ...transport.journal import Journal

        if not self.journal.exists():
            return False
        about = {"study": self.seat.study.hex(), "party": self.name, "rounds": self.rounds}
        kept = Journal(self.journal, {"journal": "party", **about})
        try:
            return kept.session is not None
        finally:
            kept.close()

    def play(
        self,
        run: Callable[..., Coroutine[Any, Any, Played]],
        machine: Machine[Any],
        *arguments: Any,
        **options: Any,
    ) -> Played:
        """Run a role to the end with `serve` or `take_part`, with a bar over the rounds.

        The bar is gone when `finished` is called, which may print.
        """
        then = options.pop("finished", None)
        with ExitStack() as bar:
            done = bar.enter_context(progress("Rounds", self.rounds))

            def finished(played: Played) -> None:
                bar.close()
                if then is not None:
                    then(played)

            options |= {"progress": lambda closed, _: done(closed), "journal": self.journal}
            options["finished"] = finished
            return asyncio.run(run(machine, self.rounds, self.seat, *arguments, **options))

    def show_end(
        self, output: Output, lines: list[tuple[str, str]], about: dict[str, Any], then: str = ""
    ) -> None:
        """Say at the end what happened, to a member who gets no tables."""
        about = {"party": self.name, "study": self.study.digest.hex(), **about}
        rows = [*lines, *(("refused", reason) for reason in about["refused"])]
        output.show(about, f"{self.name}: the run has ended", rows, then=then)


def _only_member(study: PartyStudy, role: Role) -> str:
    """The name of the curator or the dealer."""
    from ...errors import StudyError

    for party in study.roster:
        if party.role is role:
            return party.id
    raise StudyError(f"this study has no {role.value}")


def url_of(address: str) -> str:
    """An address with its scheme: plain HTTP on this machine, TLS elsewhere."""
    from ...transport.http import is_loopback

    if "://" in address:
        return address
    host = address.rpartition(":")[0].strip("[]")
    return f"http{'' if is_loopback(host) else 's'}://{address}"
