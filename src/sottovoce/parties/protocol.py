"""What studies over rows and over columns do alike: roles, simulation, plan and result.

A run is driven here (`simulate`), or by `transport` between machines; both end in `outcome`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ..checks import checked_count
from ..contract.aggregate import Aggregate
from ..contract.collection import SEEDED
from ..contract.route import AddedNoise, Route
from ..errors import AnswerError, ParameterError, ShareError
from ..promise import Guarantee
from ..randomness import Source, source_of
from ..transport import Machine, drive
from ..transport.in_process import Tamper
from ..transport.keys import KeyPair
from .curator import Curator, CuratorState
from .design import CURATOR, Design
from .double_masking import DoublyMaskedSum, DoublyOpenedSum
from .engines.dealer import DealerMachine, check_dealer
from .machines import PartyMachine, PartyState
from .marginals import Marginals
from .methods import Method, Solved
from .methods.evidence import Margin
from .releases import Release
from .run import Plan, Run
from .sums import MaskedSum, OpenedSum
from .tables import NoisyTable


class Protocol(Marginals):
    """A study that can be run; see `Horizontal` and `Vertical`."""

    party_kind: ClassVar[type[PartyMachine]]
    #: What the constructor takes besides the attributes and the budgets.
    options: ClassVar[tuple[str, ...]]

    def varied(self, **changes: Any) -> Self:
        """The same study with other parameters."""
        own = {name: getattr(self, name) for name in self.options} | changes
        return type(self)(*self.asked, self.budgets, **own)  # type: ignore[call-arg]

    def with_method(self, method: str | Method) -> Self:
        """The same study with another method."""
        return self.varied(method=method)

    @abstractmethod
    def own_table(self, name: str, data: Any) -> Any:
        """A party's table as its machine takes it; AnswerError where it does not fit."""

    @abstractmethod
    def labelled(self, marginal: int, solved: Solved, guarantee: Guarantee) -> NoisyTable:
        """The table of a marginal."""

    @abstractmethod
    def described(self, marginal: int, release: Release) -> str:
        """A release in words, without its noise."""

    @abstractmethod
    def bytes_sent(self, rows: Mapping[str, int] | None) -> int:
        """Payload of all messages to others; envelopes and seals are small beside it."""

    # --- roles ----------------------------------------------------------------------------------

    def index_of(self, name: str) -> int:
        """A party's place in the study."""
        if name not in self.parties:
            known = ", ".join(map(repr, self.parties))
            raise ParameterError(f"there is no party {name!r}; the study has {known}")
        return self.parties.index(name)

    def check(self, name: str, data: Any) -> int:
        """How many rows a party's table has; refused where it does not fit the study.

        It spends nothing.
        """
        return len(self._table_of(name, data))

    def _table_of(self, name: str, data: Any) -> Any:
        self.index_of(name)
        try:
            return self.own_table(name, data)
        except AnswerError as error:
            raise AnswerError(f"the table of {name!r}: {error}") from error

    def party_machine(
        self,
        name: str,
        data: Any,
        keys: KeyPair,
        verify_keys: Mapping[str, bytes],
        *,
        source: Source | None = None,
    ) -> Machine[PartyState]:
        """The role of a party with its own table and keys.

        `verify_keys` are those of all parties by name, and of the curator as "curator".
        """
        index, table = self.index_of(name), self._table_of(name, data)
        needed = (*self.parties, CURATOR) if self.dropouts else (CURATOR,)
        missing = [one for one in needed if one not in verify_keys]
        if missing:
            raise ParameterError(f"the verification keys of {missing} are missing")
        party = MaskedSum(self.sum_design, index)
        if self.dropouts:
            everyone = tuple(verify_keys[one] for one in self.parties)
            party = DoublyMaskedSum(self.sum_design, index, keys, everyone)
        engine = None if self.engine is None else self.engine.party(index, self.parties)
        key, drawn = verify_keys[CURATOR], source_of(source)
        return self.party_kind(self, index, table, party, key, drawn, engine)

    def curator_machine(
        self, keys: KeyPair, verify_keys: Mapping[str, bytes] | None = None
    ) -> Machine[CuratorState]:
        """The role of the curator, who has no data and learns sums with noise."""
        opened = (DoublyOpenedSum if self.dropouts else OpenedSum)(self.sum_design)
        engine = None if self.engine is None else self.engine.curator(self.parties)
        return Curator(self, opened, keys, engine)

    def dealer_machine(
        self,
        keys: KeyPair | None = None,
        verify_keys: Mapping[str, bytes] | None = None,
        *,
        source: Source | None = None,
    ) -> Machine[Any]:
        """The role of the dealer, who sees neither columns nor the result.

        Refused where the curator or a party has the same keys.
        """
        if not self.dealer:
            who = self.split if self.engine is None else f"the engine {self.engine.name!r}"
            raise ParameterError(f"{who} needs no dealer; only the engine 'dealer' does")
        if keys is not None:
            others = {name: key for name, key in (verify_keys or {}).items() if name != "dealer"}
            check_dealer(keys.verify_key, others)
        return DealerMachine(self.parties, self.product_plan, source_of(source))

    def simulate(
        self,
        frames: Mapping[str, Any],
        *,
        method: str | Method | None = None,
        source: Source | None = None,
        views: bool | None = None,
        tamper: Tamper | None = None,
    ) -> Run:
        """Run every role on this machine, with the same messages as between machines.

        Parameters
        ----------
        frames : mapping of str to data frame or mapping
            The table of every party.
        method : str, optional
            Another method than the study's.
        source : Source, optional
            Randomness; the system's by default.
        views : bool, optional
            Whether to keep all messages; by default where they are not too large.
        tamper : callable, optional
            What happens to messages on their way, for tests of failures.
        """
        if not isinstance(frames, Mapping) or set(frames) != set(self.parties):
            tables = list(frames) if isinstance(frames, Mapping) else type(frames).__name__
            raise ParameterError(
                f"frames are {tables}; give one table for each of {list(self.parties)}"
            )
        study = self.varied(method=method or self.method)
        if self.engine is not None:
            object.__setattr__(study, "engine", self.engine.here(len(self.parties)))
        return study._simulate(frames, source_of(source), views, tamper)

    def _simulate(
        self, frames: Mapping[str, Any], source: Source, views: bool | None, tamper: Tamper | None
    ) -> Run:
        keys = {one: KeyPair.generate() for one in (*self.parties, CURATOR)}
        public = {one: pair.verify_key for one, pair in keys.items()}
        machines: list[Machine[Any]] = [
            self.party_machine(one, frames[one], keys[one], public, source=source)
            for one in self.parties
        ]
        if self.dealer:
            machines.append(self.dealer_machine(source=source))
        machines.append(self.curator_machine(keys[CURATOR], public))
        driven = drive(machines, self.message_rounds, tamper=tamper, views=views)
        stopped = [state.failed for state in driven.states[: len(self.parties)] if state.failed]
        if self.engine is not None and stopped:
            raise _no_result(stopped[0], driven.refused)
        run = self.outcome(driven.states[-1], refused=driven.refused, seeded=source.seeded)
        return replace(run, costs=driven.costs, views=driven.views)

    # --- results --------------------------------------------------------------------------------

    def outcome(
        self, state: CuratorState, *, refused: tuple[str, ...] = (), seeded: bool = False
    ) -> Run:
        """The result, from the curator's last state.

        ShareError where there is none; it names what is missing, and nothing partial is released.
        """
        if state.sums is None or state.receipt is None:
            raise _no_result(state.failed, refused)
        rows, receipt = self.rows_said(state.opened.rows), state.receipt
        promised = self.promised(receipt.spent, [one for _, one in self.all_releases(rows)])
        shown = Guarantee.none(SEEDED) if seeded else promised
        designs = self.designs(rows, receipt.parties)
        estimates, aggregates, left = [], [], list(state.sums)
        for m, (design, releases) in enumerate(zip(designs, self.releases(rows), strict=True)):
            opened, left = left[: len(releases)], left[len(releases) :]
            estimates.append(self.labelled(m, self.method.solve(design, opened), shown))
            people = max(0, int(opened[0].sum()))  # what the noisy sum says, where N is not public
            if rows is not None:
                people = self.people({party: rows[party] for party in receipt.parties})
            for release, cells in zip(releases, opened, strict=True):
                route, table = _route(self, design, release), {release.name: cells}
                aggregates.append(
                    Aggregate(self.name, self.digest, table, people, people, seeded, route)
                )
        return Run(
            tuple(estimates),
            tuple(aggregates),
            shown,
            refused=refused,
            dropped=tuple(party for party in self.parties if party not in receipt.parties),
            receipt=receipt,
        )

    def plan(self, rows: Mapping[str, int] | int | None = None) -> Plan:
        """Costs and precision of a run; nothing is spent to know it.

        `rows` is how many rows each party has, where known: by party, or one number for all.
        """
        said = dict.fromkeys(self.parties, rows) if isinstance(rows, int) else rows
        if said is not None and set(said) != set(self.parties):
            raise ParameterError(
                f"rows are of {list(said)}; give a number for each of {list(self.parties)}"
            )
        for party, n in (said or {}).items():
            checked_count(n, f"the number of rows of {party!r}", int(self.sizes_are_public))
        if said is not None:
            checked_count(self.people(said), "the number of all rows", 1)
        errors = [
            math.nan if said is None else _standard_error(self, design, releases)
            for design, releases in zip(self.designs(said), self.releases(said), strict=True)
        ]
        texts = [
            f"{self.described(m, release)}, noise of standard deviation "
            f"{math.sqrt(release.variance):.4g}"
            for m, release in self.all_releases(said)
        ]
        sent, rounds = self.bytes_sent(said), self.message_rounds
        return Plan(self.spent(said), tuple(errors), tuple(texts), sent, rounds)


def _no_result(reason: str, refused: Sequence[str]) -> ShareError:
    """Why there is no result, with the first messages that were refused."""
    also = f". Refused: {'; '.join(refused[:3])}" if refused else ""
    return ShareError(f"{reason}{also}")


def _route(study: Protocol, design: Design, release: Release) -> Route:
    """How one sum came about: its noise, and what it alone costs."""
    costs = {party: release.cost(party, design.neighbours) for party in design.parties}
    if release.kept is not None:
        costs = study.method.spent(design)
    present = [party for party in release.noise_from if party in design.summed]
    law = "discrete-gaussian" if release.gaussian else "discrete-laplace"
    noise = AddedNoise(law, release.variance * (len(present) / release.shares))
    return Route(study.name, study.promised(costs, (release,)), noise)


def _standard_error(study: Protocol, design: Design, releases: Sequence[Release]) -> float:
    """Of one unbiased fraction; NaN where no release gives one."""
    nested = getattr(study.method, "nested", None)
    if nested is not None:
        zeros = [np.zeros(release.cells, np.int64) for release in releases]
        evidence = nested(design, zeros)[2]
        return math.sqrt(float(evidence.variance(Margin.whole(design.shape)).mean()))
    errors = []
    for release in releases:
        weights = {release.weights.get(party, 0) for party in design.parties}
        if len(weights) == 1 and release.kept is None and release.cells == design.cells:
            people = study.people(design.rows or {}) * weights.pop()
            errors.append(math.sqrt(release.variance) / people)
    return min(errors, default=math.nan)
