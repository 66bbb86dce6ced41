"""What the commands of `secure` share: options, answers from files, and the result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..support.command import Output, console, heading, plural, print_json, progress
from ..support.estimates import estimate_json, show_estimate
from ..support.guarantees import show_guarantee
from ..support.numbers import INT, REAL, SECONDS
from ..support.options import PATH, confidence_option, csv_option, full_output, together

if TYPE_CHECKING:
    from ...collect.dialect import Dialect
    from ...contract.aggregate import Aggregate
    from ...domain.columns import Coded
    from ...domain.values import Domain
    from ...secure import Protocol
    from ...secure.parts import Part
    from ...study.secure import SecureStudy
    from ...transport import Cost, Role
    from ...transport.network import Played
    from ...transport.post import Seat
    from ...transport.sessions import Sessions

_ROWS = 1 << 18

#: Names of the protocols; a test compares them with the study's.
NAMES = ("binomial", "dpdg", "dummies", "suppressed", "dpds", "tss", "dpcs")


#: The parameters of protocols.
protocol_options = together(
    click.option(
        "--epsilon",
        type=REAL,
        help="Epsilon of the promise; for sampling, the rate is planned from it.",
    ),
    click.option("--delta", type=REAL, help="Delta of the promise; 1e-6 by default."),
    click.option("--rate", type=REAL, metavar="P", help="Probability of being sampled."),
    click.option(
        "--count",
        type=INT,
        metavar="C",
        help="For sampling: a public lower bound on the holders of every answer; never read "
        "from the data.",
    ),
    click.option("--collusion", type=INT, metavar="N", help="How many people may work together."),
    click.option(
        "--neighbours",
        type=click.Choice(["substitute", "add-remove"]),
        help="What is protected: a changed answer (the default), or a record more or less.",
    ),
    click.option("--report", type=REAL, metavar="A", help="tss: fraction of the items to report."),
    click.option(
        "--selection",
        type=click.Choice(["uniform", "adaptive"]),
        help="tss: how these items are chosen.",
    ),
    click.option(
        "--gamma",
        type=REAL,
        metavar="G",
        help="tss: how much adaptive selection favours a person's own item.",
    ),
    click.option("--committee", type=INT, metavar="K", help="tss: size of a committee."),
)

#: Which party it is, of which study.
party_options = together(
    click.option(
        "--study",
        "study_path",
        type=PATH,
        required=True,
        metavar="FILE",
        help="Question, protocol and roster; everyone has the same file.",
    ),
    click.option(
        "--key", "key_path", type=PATH, required=True, metavar="FILE", help="Your private key."
    ),
)

#: Where the relay is.
relay_options = together(
    click.option(
        "--relay",
        required=True,
        metavar="URL",
        help="Where the relay listens: https, or http on this machine.",
    ),
    click.option(
        "--certificate",
        type=PATH,
        metavar="FILE",
        help="The only certificate to trust; by default those of the system.",
    ),
    click.option(
        "--timeout",
        type=SECONDS,
        default=60.0,
        show_default=True,
        metavar="S",
        help="Seconds without an answer after which the relay counts as lost.",
    ),
)

#: How a result is shown, or saved.
result_options = together(confidence_option, csv_option, full_output)


def read_answers(path: Path, column: str, domain: Domain, dialect: Dialect) -> Coded:
    """A column of answers, checked; an error names the row."""
    import numpy as np

    from ...collect.answers import Answers
    from ...collect.columns import Columns
    from ...collect.release import check_plain
    from ...domain.columns import Coded

    check_plain(path)
    answers = Answers(path, column, domain)
    columns = Columns(path, {column: answers.wanted}, dialect=dialect)
    with progress("Reading answers", path.stat().st_size) as done:
        parts = [
            answers.coded(chunk[column], first).codes
            for first, chunk in columns.chunks(_ROWS, done)
        ]
    return Coded(np.concatenate(parts))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say on stderr that something is being done, where that is a terminal."""
    import sys

    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@dataclass(frozen=True)
class Place:
    """A party's place in a study, and what its key has taken part in."""

    study: SecureStudy
    seat: Seat
    sessions: Sessions

    @classmethod
    def load(cls, study_path: Path, key_path: Path) -> Place:
        """From the files of the study and of the key."""
        from ...study.secure import SecureStudy
        from ...transport.keys import KeyPair
        from ...transport.post import Seat
        from ...transport.sessions import Sessions

        study = SecureStudy.load(study_path)
        seat = Seat(study.roster, study.digest, KeyPair.load(key_path))
        return cls(study, seat, Sessions(f"{key_path}.sessions", study.subject))

    def server_part(self) -> Part:
        """What a server plays."""
        from ...secure.parts import server_part

        return server_part(self.study.protocol, self.study.roster, self.seat.party.id)

    def play(
        self, part: Part, run: Callable[..., Coroutine[Any, Any, Played]], output: Output
    ) -> None:
        """Play a part to the end, with a bar over the rounds, and show the end."""
        with progress("Rounds", part.rounds) as done:
            playing = run(
                part.machine,
                part.rounds,
                self.seat,
                sessions=self.sessions,
                progress=lambda closed, _: done(closed),
            )
            played = asyncio.run(playing)
        about = {
            "party": self.seat.party.id,
            "study": self.study.digest.hex(),
            "refused": list(played.refused),
            "too_late": list(played.missing),
        }
        if part.last:
            show_result(self.study.protocol, self._result(played), about, output)
        else:
            rows = [("refused", reason) for reason in played.refused]
            rows += [("too late", who) for who in played.missing]
            output.show(about, f"{self.seat.party.id}: the run has ended", rows)

    def _result(self, played: Played) -> Aggregate:
        from ...errors import ShareError
        from ...secure.parts import result_of

        protocol, roster = self.study.protocol, self.study.roster
        drawn, refused = played.times, played.refused
        try:
            return result_of(protocol, roster, played.state, rounds=drawn, refused=refused)
        except ShareError as error:
            late = f". Too late: {', '.join(played.missing)}" if played.missing else ""
            raise ShareError(f"{error}{late}") from error


def show_result(
    protocol: Protocol,
    aggregate: Aggregate,
    about: dict[str, Any],
    output: Output,
    *,
    costs: Mapping[Role, Cost] | None = None,
) -> None:
    """Estimate, promise and costs."""
    estimate = protocol.counts.estimate(aggregate)
    confidence = output.confidence
    estimate.interval(confidence)  # refuses a wrong confidence before anything is shown
    output.save(estimate.plot, estimate)
    spent: dict[str, Any] = {}
    if costs is not None:
        spent["costs"] = {role.value: vars(cost) for role, cost in costs.items()}
    if output.as_json:
        shown = estimate_json(estimate, aggregate.reports, confidence)
        print_json({"protocol": protocol.name, **about, **shown, **spent})
        return
    screen = console()
    screen.print(heading(f"{estimate.name}: {plural(estimate.n, 'person', 'people')}"))
    screen.print(f"{protocol.name}; {estimate.method}\n")
    show_estimate(screen, estimate, confidence)
    for reason in (*about["refused"], *about.get("too_late", ())):
        screen.print(f"\nNot counted: {reason}", style="yellow")
    output.show_files(screen)
    screen.print()
    show_guarantee(screen, estimate.guarantee, full=output.full)
