"""Marginals over rows that several parties hold: everyone has the same attributes of other people.

Every party counts its own rows, adds its share of noise, and sends the result masked; the curator
opens the sums and turns them into labelled tables. See `sums` for the messages, `releases` for what
they cost, `methods` for what is opened and how tables are estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import AnswerError, ParameterError
from ..randomness import Source, source_of
from ..transport import Machine, drive
from ..transport.in_process import Tamper
from ..transport.keys import KeyPair
from .alike import check_frames, ended, index_of
from .budgets import CURATOR
from .counting import Rows
from .double_masking import DoublyMaskedSum
from .methods import Method
from .oblivious_rows import ObliviousCurator, ObliviousParty
from .results import plan_of, run_of
from .row_machines import CuratorState, PartyState, RowsCurator, RowsParty
from .row_study import RowStudy
from .run import Plan, Run
from .sums import MaskedSum, OpenedSum
from .unmasking import DoublyOpenedSum


class Horizontal(RowStudy):
    """Marginals over rows of K parties, each with a budget of its own.

    Parameters
    ----------
    schema : Schema or sequence of Attribute
        The public attributes that every party has.
    attributes : sequence of str, or sequence of such sequences
        The attributes of the marginal, or those of several marginals, which divide the budgets.
    budgets : mapping of str to number
        ε of each party for the whole run; a float counts as the decimal number that it prints as.
    fractions : mapping or sequence, optional
        How several marginals divide each budget: fractions that add up to at most 1, by marginal
        or in order. Equal by default.
    collusion : int, optional
        How many parties may work with the curator: by default all but one, or as many as
        `dropouts` allows.
    dropouts : int
        How many parties may be missing from the sums.
    neighbours : {"substitution", "add-remove"}
        What is protected: the content of a record (numbers of rows are public), or also whether
        somebody has one (they are not).
    method : str
        How tables are estimated from sums.
    noise : {"shares", "oblivious"}
        Whether parties add shares of the noise, or the package mpyc draws it so that nobody knows
        any of it, as long as fewer than half of parties and curator work together.
    addresses : mapping of str to str, optional
        With oblivious noise: host:port of every party's process, and of the curator's.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = sv.Schema([sv.Attribute("smoker", ["yes", "no"]), sv.Attribute("ward", 3)])
    >>> h = Horizontal(schema, ["smoker", "ward"], {"A": 0.5, "B": 1.0}, method="mh")
    >>> h.spent()
    {'A': 0.5, 'B': 0.5}
    """

    dealer = False

    def plan(self, rows: Mapping[str, int] | None = None) -> Plan:
        """Costs and precision of a run; `rows` is how many rows each party has, where known."""
        return plan_of(self, rows)

    # --- what the roles do ----------------------------------------------------------------------

    def check(self, name: str, data: Any) -> int:
        """How many rows a party's table has; refused where it does not fit the study.

        It spends nothing.
        """
        return len(self._rows(name, data))

    def _rows(self, name: str, data: Any) -> Rows:
        index_of(name, self.parties)
        try:
            return Rows.of(data, self._attributes, may_be_empty=not self.sizes_are_public)
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
        """The role of a party with its own table.

        Parameters
        ----------
        name : str
            Of the party.
        data : data frame or mapping
            Its rows.
        keys : KeyPair
            Of the party.
        verify_keys : mapping of str to bytes
            Of all parties by name, and of the curator as "curator".
        source : Source, optional
            Randomness; the system's by default.
        """
        index, rows = index_of(name, self.parties), self._rows(name, data)
        missing = [one for one in (*self.parties, CURATOR) if one not in verify_keys]
        if missing:
            raise ParameterError(f"the verification keys of {missing} are missing")
        party = MaskedSum(self.sum_design, index)
        if self.dropouts:
            everyone = tuple(verify_keys[one] for one in self.parties)
            party = DoublyMaskedSum(self.sum_design, index, keys, everyone)
        key, drawn = verify_keys[CURATOR], source_of(source)
        if self.engine is not None:
            engine = self.engine.party(index, self.parties)
            return ObliviousParty(self, index, rows, party, key, drawn, engine=engine)
        return RowsParty(self, index, rows, party, key, drawn)

    def curator_machine(
        self, keys: KeyPair, verify_keys: Mapping[str, bytes] | None = None
    ) -> Machine[CuratorState]:
        """The role of the curator, who has no data and learns sums with noise."""
        opened = (DoublyOpenedSum if self.dropouts else OpenedSum)(self.sum_design)
        if self.engine is not None:
            engine = self.engine.curator(self.parties)
            return ObliviousCurator(self, opened, keys, engine=engine)
        return RowsCurator(self, opened, keys)

    def dealer_machine(self) -> Machine[Any]:
        """Refused: sums over rows need no dealer."""
        raise ParameterError("sums over rows need no dealer; only columns may")

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
        return run_of(self, sums, rows, receipt, refused=refused, seeded=seeded)

    # --- all roles in one process ---------------------------------------------------------------

    def simulate(
        self,
        frames: Mapping[str, Any],
        *,
        method: str | Method | None = None,
        source: Source | None = None,
        views: bool | None = None,
        tamper: Tamper | None = None,
    ) -> Run:
        """Run every role in this process, with the same messages as between machines.

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
        if method is not None:
            return self.with_method(method).simulate(
                frames, source=source, views=views, tamper=tamper
            )
        check_frames(frames, self.parties)
        if self.engine is not None and not self.engine.addresses:
            free = self.engine.here(len(self.parties)).addresses
            addresses = dict(zip((*self.parties, CURATOR), free, strict=True))
            return self._with(addresses=addresses).simulate(
                frames, source=source, views=views, tamper=tamper
            )
        randomness = source_of(source)
        keys = {one: KeyPair.generate() for one in (*self.parties, CURATOR)}
        public = {one: pair.verify_key for one, pair in keys.items()}
        machines: list[Machine[Any]] = [
            self.party_machine(one, frames[one], keys[one], public, source=randomness)
            for one in self.parties
        ]
        machines.append(self.curator_machine(keys[CURATOR], public))
        driven = drive(machines, self.message_rounds, tamper=tamper, views=views)
        run = self.outcome(driven.states[-1], refused=driven.refused, seeded=randomness.seeded)
        return replace(run, costs=driven.costs, views=driven.views)

    def with_method(self, method: str | Method) -> Horizontal:
        """The same study with another method."""
        return self._with(method=method)

    def _with(self, **changes: Any) -> Horizontal:
        names = ("fractions", "collusion", "dropouts", "neighbours", "method", "noise")
        own = {name: getattr(self, name) for name in names} | changes
        return Horizontal(self.schema, self.marginals, self.budgets, **own)
