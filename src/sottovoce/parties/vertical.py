"""Marginals over columns that several parties hold, each some attributes of the same people.

The parties compare their rows by key, compute additive shares of the table of all their columns
(`engines`), and every party sums its shares to those of each release, adds its share of noise and
sends the result masked; the curator opens the sums and turns them into a labelled table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..contract.aggregate import Aggregate
from ..contract.route import AddedNoise, Route
from ..domain.tables import columns_of
from ..errors import AnswerError, ParameterError, ShareError
from ..mechanisms.mechanism import SEEDED
from ..promise import Guarantee
from ..randomness import Source, source_of
from ..transport import Machine, drive
from ..transport.in_process import Tamper
from ..transport.keys import KeyPair
from .alignment import Keys
from .alike import check_frames, ended, index_of
from .budgets import CURATOR
from .column_machines import Columns, ColumnsCurator, ColumnsParty, ColumnsState
from .column_promises import columns_guarantee
from .column_study import ColumnStudy
from .counting import Rows
from .dealing import DealerMachine, check_dealer
from .methods import Method
from .methods.evidence import Margin
from .row_machines import CuratorState
from .run import Plan, Run
from .sums import MaskedSum, OpenedSum
from .tables import noisy_table


class Vertical(ColumnStudy):
    """A marginal over columns of K parties, each with a budget of its own.

    Parameters
    ----------
    schemas : mapping of str to Schema
        The public attributes of every party.
    attributes : sequence of str
        The attributes of the table, in its order. Several of one party act as one.
    budgets : mapping of str to number
        ε of each party for what it holds about a person.
    engine : {"dealer", "mpyc", "cheetah"}
        How shares of the table are computed; see `docs/parties-engines.md` for whom each trusts.
    collusion : int, optional
        How many parties may work with the curator: by default all but one, or as many as the
        engine allows.
    method : str
        How the table is estimated from sums.
    noise : {"shares", "oblivious"}
        Whether parties add shares of the noise, or the engine mpyc draws it so that nobody knows
        any of it.
    key : str
        The column that says whom a row is about.
    holds : mapping of str to str, optional
        Whose column counts where several parties have an attribute.
    addresses : mapping of str to str, optional
        For engines whose processes talk to each other: host:port of every party, and with mpyc of
        the curator as "curator".

    Examples
    --------
    >>> import sottovoce as sv
    >>> a = sv.Schema([sv.Attribute("age", ["young", "old"])])
    >>> b = sv.Schema([sv.Attribute("diagnosis", ["flu", "cold", "none"])])
    >>> v = Vertical({"A": a, "B": b}, ["diagnosis", "age"], {"A": 0.5, "B": 1.0})
    >>> v.spent()
    {'A': 0.5, 'B': 1.0}
    >>> [promise.epsilon for promise in v.guarantee.promises]
    [0.5, 1.0, 1.0]
    """

    # --- what the roles do ----------------------------------------------------------------------

    def check(self, name: str, data: Any) -> int:
        """How many rows a party's table has; refused where it does not fit the study.

        It spends nothing.
        """
        return len(self._columns(name, data))

    def _columns(self, name: str, data: Any) -> Columns:
        index_of(name, self.parties)
        try:
            keys = Keys.of(columns_of(data, [self.key])[0], f"the key {self.key!r}")
            rows = Rows.of(data, self.attributes_of(name))
        except AnswerError as error:
            raise AnswerError(f"the table of {name!r}: {error}") from error
        if len(rows) != len(keys.order):
            raise AnswerError(f"the table of {name!r} has {len(keys.order)} keys, {len(rows)} rows")
        return Columns(rows.cells(rows.names)[keys.order], keys)

    def party_machine(
        self,
        name: str,
        data: Any,
        keys: KeyPair,
        verify_keys: Mapping[str, bytes],
        *,
        source: Source | None = None,
    ) -> Machine[ColumnsState]:
        """The role of a party with its own columns; parameters as for `Horizontal`."""
        index, columns = index_of(name, self.parties), self._columns(name, data)
        if CURATOR not in verify_keys:
            raise ParameterError("the verification key of the curator is missing")
        party = MaskedSum(self.sum_design, index)
        engine = self.engine.party(index, self.parties)
        key, drawn = verify_keys[CURATOR], source_of(source)
        return ColumnsParty(self, index, columns, party, engine, key, drawn)

    def curator_machine(
        self, keys: KeyPair, verify_keys: Mapping[str, bytes] | None = None
    ) -> Machine[CuratorState]:
        """The role of the curator, who has no data and learns sums with noise."""
        engine = self.engine.curator(self.parties)
        return ColumnsCurator(self, OpenedSum(self.sum_design), keys, engine=engine)

    def dealer_machine(
        self,
        keys: KeyPair | None = None,
        verify_keys: Mapping[str, bytes] | None = None,
        *,
        source: Source | None = None,
    ) -> Machine[Any]:
        """The role of the dealer, who sees neither columns nor the result.

        Parameters
        ----------
        keys : KeyPair, optional
            Of the dealer: refused where the curator or a party has the same.
        verify_keys : mapping of str to bytes, optional
            Of the curator and of all parties.
        """
        if not self.dealer:
            raise ParameterError(f"the engine {self.engine.name!r} needs no dealer")
        if keys is not None:
            others = {name: key for name, key in (verify_keys or {}).items() if name != "dealer"}
            check_dealer(keys.verify_key, others)
        return DealerMachine(self.parties, self.product_plan, source_of(source))

    # --- results --------------------------------------------------------------------------------

    def outcome(
        self, state: CuratorState, *, refused: tuple[str, ...] = (), seeded: bool = False
    ) -> Run:
        """The result, from the curator's last state.

        Raises
        ------
        ShareError
            Where there is none; it names what is missing, and nothing partial is released.
        """
        sums, receipt = ended(state, refused)
        rows = self.rows_said(state.opened.rows)
        (releases,) = self.releases(rows)
        promised = columns_guarantee(self, releases, receipt.spent)
        shown = Guarantee.none(SEEDED) if seeded else promised
        solved = self.method.solve(self.design(rows), sums)
        whole = noisy_table(solved, self.columns, shown, self.method, axes=self._axes())
        names = [attribute.name for attribute in self.columns]
        asked = list(self.attributes)
        table = whole if names == asked else whole.marginal(asked)
        people = max(rows.values())
        aggregates = []
        for release, cells in zip(releases, sums, strict=True):
            alone = {party: release.cost(party, self.neighbours) for party in self.parties}
            costs = alone if release.kept is None else dict(receipt.spent)
            law = "discrete-gaussian" if release.gaussian else "discrete-laplace"
            noise = AddedNoise(law, release.variance)
            route = Route(self.name, columns_guarantee(self, (release,), costs), noise)
            tables = {release.name: cells}
            aggregates.append(
                Aggregate(self.name, self.digest, tables, people, people, seeded, route)
            )
        return Run((table,), tuple(aggregates), shown, refused=refused, receipt=receipt)

    def _axes(self) -> list[list[int]]:
        """Which attributes make up each party's axis."""
        axes, start = [], 0
        for party in self.parties:
            axes.append(list(range(start, start + len(self.held[party]))))
            start += len(self.held[party])
        return axes

    def plan(self, rows: Mapping[str, int] | int | None = None) -> Plan:
        """Costs and precision of a run over so many rows; nothing is spent to know it."""
        n = rows if isinstance(rows, int) or rows is None else max(rows.values())
        said = None if n is None else dict.fromkeys(self.parties, n)
        (releases,) = self.releases(said)
        texts = tuple(
            f"{release.name}: {release.cells:,} cells of "
            f"{' and '.join(repr(self.parties[axis]) for axis in release.axes)}, noise of standard "
            f"deviation {math.sqrt(release.variance):.4g}"
            for release in releases
        )
        sent = 0
        if n is not None:
            sent = self.engine.bytes(self.product_plan(n)) or 0
        sent += sum(block.cells * block.bits // 8 for block in self.blocks(said)) * len(
            self.parties
        )
        error = self._standard_error(said)
        return Plan(self.spent(), (error,), texts, sent, self.message_rounds)

    def _standard_error(self, said: Mapping[str, int] | None) -> float:
        """Of one unbiased fraction."""
        if said is None:
            return math.nan
        design, (releases,) = self.design(said), self.releases(said)
        nested = getattr(self.method, "nested", None)
        if nested is not None:
            zeros = [np.zeros(release.cells, np.int64) for release in releases]
            evidence = nested(design, zeros)[2]
            return math.sqrt(float(evidence.variance(Margin.whole(self.shape)).mean()))
        whole = [r for r in releases if r.cells == math.prod(self.shape) and r.kept is None]
        n = max(said.values())
        return min((math.sqrt(r.variance) / n for r in whole), default=math.nan)

    # --- all roles in one process ---------------------------------------------------------------

    def simulate(
        self,
        frames: Mapping[str, Any],
        *,
        key: str | None = None,
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
        key : str, optional
            Another key column than the study's.
        method : str, optional
            Another method than the study's.
        source : Source, optional
            Randomness; the system's by default.
        views : bool, optional
            Whether to keep all messages; by default where they are not too large.
        tamper : callable, optional
            What happens to messages on their way, for tests of failures.
        """
        check_frames(frames, self.parties)
        engine = self.engine.here(len(self.parties))
        study = self.varied(engine=engine, key=key or self.key, method=method or self.method)
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
        if stopped:
            also = f". Refused: {'; '.join(driven.refused[:3])}" if driven.refused else ""
            raise ShareError(f"{stopped[0]}{also}")
        run = self.outcome(driven.states[-1], refused=driven.refused, seeded=source.seeded)
        return replace(run, costs=driven.costs, views=driven.views)

    def varied(self, **changes: Any) -> Vertical:
        """The same study with other parameters."""
        names = ("engine", "collusion", "method", "noise", "key", "holds")
        own = {name: getattr(self, name) for name in names} | changes
        return Vertical(self.schemas, self.attributes, self.budgets, **own)

    def with_method(self, method: str | Method) -> Vertical:
        """The same study with another method."""
        return self.varied(method=method)
