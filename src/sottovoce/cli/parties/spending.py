"""A party's side of the money: the ledger before, during and after a run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...parties.budget import Account, Ledger
    from ...study.parties import PartyStudy
    from ...transport import Machine
    from ...transport.network import Played


class Spending:
    """What one run spends from a party's data set; a rehearsal spends nothing.

    `resumed` says that an interrupted run goes on from its journal; `content` is the SHA-256 of the
    file with the rows.
    """

    def __init__(
        self,
        study: PartyStudy,
        party: str,
        data: str,
        path: Path | None,
        *,
        resumed: bool = False,
        content: bytes = b"",
    ) -> None:
        from ...parties.budget import Ledger, default_path

        self.study, self.party, self.data, self.resumed = study, party, data, resumed
        self.content = content
        self.budget: Fraction = study.budget_of(party)
        self.cost: Fraction = study.cost_of(party)
        self.delta: Fraction = study.delta_of(party)
        self.ledger: Ledger | None = None
        if not study.rehearsal:
            self.ledger = Ledger(path or default_path())
        self.session = b""
        self.refusal: Exception | None = None
        self.failure = ""

    def check_before(self) -> None:
        """Refuse a run that the budget does not allow, before anyone hears of it."""
        if self.ledger is not None and not self.resumed:
            self._check()

    def _check(self) -> None:
        if self.ledger is not None:
            self.ledger.check(
                self.data,
                self.cost,
                budget=self.budget,
                content=self.content,
                delta=self.delta,
            )

    def join(self, session: bytes) -> None:
        """Note which run it is, before anything is sent.

        A session that was charged goes on only from its journal: otherwise a curator who uses its
        name again would get a second release for one charge.
        """
        from ...errors import GuaranteeError

        self.session = session
        if self.ledger is None:
            return
        if self._account() is None:
            self._check()
        elif not self.resumed:
            raise GuaranteeError(
                f"the data set {self.data!r} was charged for the session {session.hex()[:16]} "
                "before, and there is no journal to continue it from; nothing was sent. Ask the "
                "curator to begin a new run"
            )

    def charged(self, machine: Machine[Any]) -> Machine[Any]:
        """The party's machine, which charges before its masked vector leaves."""
        from ...parties.machines import Charged

        return Charged(machine, self._charge)

    def _charge(self) -> None:
        from ...errors import GuaranteeError, ShareError, SottovoceError

        if self.ledger is None:
            return
        try:
            if self._account() is not None:
                # A vector that was sent comes from the journal and is not charged again; this one
                # was drawn now. The journal is older than the ledger, or a crash came between.
                raise GuaranteeError(
                    f"the data set {self.data!r} was charged for this run before, and the journal "
                    "does not have what was sent; another vector would be a second release of the "
                    "same data. Nothing was sent now; ask the curator to begin a new run"
                )
            self.ledger.charge(
                self.data,
                self.cost,
                study=self.study.digest,
                session=self.session,
                budget=self.budget,
                content=self.content,
                delta=self.delta,
            )
        except SottovoceError as error:
            # Others hear that the run ends, and nothing about this party's other runs. Where it
            # can go on without this party, it just drops out.
            self.refusal = error
            kind = ShareError if self.study.protocol.dropouts else GuaranteeError
            raise kind("its budget does not allow the run") from error

    def finish(self, played: Played) -> None:
        """Keep the curator's receipt, which the machine has checked."""
        state = played.state
        if state.receipt is None:
            reason = state.failed or "no receipt came, so the curator has no result"
            charged = " This run was charged all the same." if self._account() is not None else ""
            self.failure = f"the run has ended without a result: {reason}.{charged}"
        elif self.ledger is not None:
            about = {"study": self.study.digest, "session": self.session}
            self.ledger.keep_receipt(self.data, receipt=state.receipt.to_bytes(), **about)

    def _account(self) -> Account | None:
        """The data set's account, where this run was charged to it."""
        accounts = () if self.ledger is None else self.ledger.accounts()
        own = (one for one in accounts if one.data == self.data and one.of(self.session))
        return next(own, None)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        account = self._account()
        return {
            "session": self.session.hex(),
            "data_set": None if account is None else account.data,
            "spent": 0.0 if account is None else float(self.cost),
            "left": None if account is None else float(account.left),
            "delta_spent": 0.0 if account is None else float(self.delta),
            "delta_left": None if account is None else account.as_dict()["delta_left"],
            "receipt": not self.failure,
        }

    def facts(self) -> list[tuple[str, str]]:
        """Lines for the screen."""
        from ...parties.budget import shown

        account = self._account()
        if account is None:
            return [("spent", "nothing: a rehearsal with synthetic rows")]
        spent = f"ε = {shown(self.cost)}" + f" and δ = {shown(self.delta)}" * bool(self.delta)
        left = f"{shown(account.left, down=True)} of {shown(account.budget)} left"
        return [
            ("spent", f"{spent} of the data set {account.data}; {left}"),
            ("receipt", "signed by the curator, kept in the ledger"),
        ]
