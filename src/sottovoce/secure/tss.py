"""TSS: two-stage sampling. Everyone reports a random set of M of the N items only.

Items       M = round(αN), at least 1; α means M/N everywhere
Selection   uniform, or adaptive: sets with the person's own item are γ times as likely
Estimate    ψ̂_j = s_j / (q_χ n), s_j ~ Bin(Π_j, q_χ), q_χ = p p_χ; total L2 error (1 − q)/(n q)
Elected     TSS (Algorithm 3), and TSS' (Algorithm 4) where `collusion` is given
Committee   `committee=K`: Shamir shares to K users once and for all; survives drop-outs
Guarantee   where the result is published (the default): certified against S1, elected and
            committee users, who see who reports which items, and the result. Otherwise S1 learns
            ε* (0 for uniform selection), and S2 what a sample of rate p shows, or, with a
            committee, of rate q_χ

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", section 3.1.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from numpy.typing import NDArray

from ..accounting.two_stage import TwoStage
from ..checks import check_choice, checked_count, checked_rate
from ..errors import GuaranteeError, ParameterError
from ..promise import Against, Guarantee, Promise
from ..randomness import Source
from ..transport import Machine
from .committee import CommitteeElector, CommitteeSummer, CommitteeUsers, quorum
from .dpcs import NO_COUNT, Sampling
from .elected import Elector, ReportingUsers, Summer
from .promises import (
    FOLLOWED,
    PRESENT,
    ROSTER,
    Sizes,
    least_epsilon,
    local_promise,
    repeated,
    result_promise,
)
from .protocol import Prepared
from .receiving import Flags, Setting
from .selection import reported_sets

Selection = Literal["uniform", "adaptive"]


@dataclass(frozen=True, eq=False, init=False)
class TSS(Sampling):
    """Two-stage sampling, with elected users or a committee.

    Parameters
    ----------
    domain, rate, users, count, epsilon, delta, neighbours
        As in `Sampling`. An epsilon plans the rate of the first stage as for DPDS; what is
        promised is stated separately.
    report : float
        α, the fraction of the items that everyone reports.
    selection : {"uniform", "adaptive"}
        How the items are chosen.
    gamma : float, optional
        How much adaptive selection favours a person's own item.
    collusion : int, optional
        φ, the largest number of users who work together, 1 or more: an elected user counts as one.
        It makes the protocol TSS'. Without it an item that few people report may be open to its
        elected users.
    committee : int, optional
        Size of a fixed committee; needs `collusion`.
    published : bool
        Whether the result goes to anyone but S2.

    Examples
    --------
    >>> protocol = TSS(5, rate=0.5, report=0.4, selection="adaptive", gamma=2, collusion=3)
    >>> protocol.design.reported, round(protocol.design.epsilon_star, 3), round(protocol.kept, 3)
    (2, 0.348, 0.286)
    """

    report: float
    design: TwoStage
    phi: int | None
    committee: int | None
    published: bool

    name = "tss"

    def __init__(
        self,
        domain: Any,
        *,
        report: float,
        selection: Selection = "uniform",
        gamma: float | None = None,
        collusion: int | None = None,
        committee: int | None = None,
        published: bool = True,
        **parameters: Any,
    ) -> None:
        super().__init__(domain, collusion=1 if collusion is None else collusion, **parameters)
        if collusion is not None:
            collusion = self.collusion  # an integer without limits, so that no quorum overflows
            if collusion == 0:
                raise ParameterError(
                    "collusion is 0; then one share is the whole answer, and whoever is elected "
                    "would see it. Take 1 or more"
                )
        check_choice(selection, "selection", get_args(Selection))
        if (gamma is not None) != (selection == "adaptive"):
            raise ParameterError("adaptive selection needs a gamma, and uniform selection has none")
        reported = max(1, round(checked_rate(report, "report") * self.items))
        design = TwoStage(self.rate, self.items, reported, 1.0 if gamma is None else float(gamma))
        if committee is not None:
            if collusion is None:
                raise ParameterError("a committee needs collusion: how many members may collude")
            committee = checked_count(committee, "committee", 1)
            if quorum(committee, collusion) > committee:
                raise ParameterError(
                    f"a committee of {committee} cannot agree when {collusion} may collude; take "
                    f"at least {collusion + 1}, and more for members who drop out"
                )
        self._set(
            report=float(report),
            design=design,
            phi=collusion,
            committee=committee,
            published=bool(published),
        )

    @property
    def kept(self) -> float:
        return self.design.counted

    def draw_sets(self, codes: NDArray[Any], sampled: Flags, source: Source) -> Flags:
        reported, gamma = self.design.reported, self.design.gamma
        return reported_sets(codes, sampled, self.items, reported, gamma, source)

    def users_machine(self, prepared: Prepared, members: range, setting: Setting) -> Machine[Any]:
        if prepared.sets is None:
            raise ParameterError("two-stage sampling needs the sets of reported items")
        mine = {"secrets": setting.field.encode(prepared.rows), "sets": prepared.sets}
        about = {**vars(setting), "members": members, **mine}
        if self.committee is None:
            return ReportingUsers(**about)
        return CommitteeUsers(**about, **self._rules, reported=self.design.reported)

    @property
    def _rules(self) -> dict[str, Any]:
        """What all roles know about a committee."""
        return {"committee": self.committee, "collusion": self.phi}

    def server_machines(self, setting: Setting) -> list[Machine[Any]]:
        people, phi, size, about = setting.people, self.phi, self.committee, vars(setting)
        if phi is not None and people <= phi:
            raise ParameterError(f"{people:,} people take part; more than collusion={phi} must")
        if size is None:
            elector = Elector(**about, reported=self.design.reported, collusion=phi)
            return [elector, Summer(**about)]
        if size > people:
            raise ParameterError(f"a committee of {size} needs as many people; there are {people}")
        summer = CommitteeSummer(**about, **self._rules)
        return [CommitteeElector(**about, committee=size), summer]

    def message_rounds(self, people: int) -> int:
        return 4 if self.committee is None else 5

    def promise(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        return self.promise_at(None, rounds)

    def promise_at(self, epsilon: float | None, rounds: int = 1) -> Guarantee:
        """The promise with a given epsilon, which must hold; with None the smallest one."""
        if self.count is None:
            return Guarantee.none(NO_COUNT)
        honest = f"at most {self.collusion} users work together" + (
            ""
            if self.phi is not None
            else ", and every item has more elected users than that (collusion=… sees to it)"
        )
        result = self._result_promise(self.count, epsilon, honest, ROSTER, FOLLOWED)
        star = self.design.epsilon_star
        promises = [result]
        if self.committee is None:
            alone = "S1 works together with nobody and does not see the result"
            promises.append(local_promise(star, Against.S1, alone, FOLLOWED))
        if self.phi is not None:
            unseen = f"they are at most {self.phi}, and none of them sees the result"
            promises.append(local_promise(star, Against.COALITION, unseen, FOLLOWED))
        return Guarantee(tuple(repeated(promise, rounds) for promise in promises))

    def _result_promise(self, count: int, epsilon: float | None, *assuming: str) -> Promise:
        """The promise of the counts.

        Where the result is published, certified against those who see senders and result (what S2
        alone sees is not enough then); otherwise against S2 alone. The smallest epsilon is searched
        for, unless one is given, which must hold.
        """
        delta, insiders, design = self.delta, self.collusion, self.design
        account: Callable[..., float]
        if self.published:
            account = partial(design.delta_with_output, insiders=insiders)
            against, others = Against.SENDERS, count - 1 - insiders
            seen = "nobody who looks knows whether the others were in the sample"
        else:
            hidden = self.committee is not None  # how many report an item
            account = design.delta_hidden_reporters if hidden else design.delta_alone
            against, others = Against.S2, count - 1
            seen = "S2 works together with nobody who sees senders, and the result goes to no user"
        delta_at = partial(account, count=count, neighbours=self.neighbours)
        if epsilon is None:
            epsilon = least_epsilon(delta_at, delta)
        elif delta_at(epsilon) > delta:
            raise GuaranteeError(f"epsilon = {epsilon:g} does not hold with delta = {delta:g}")
        if math.isinf(epsilon):
            raise GuaranteeError(
                f"no epsilon holds with delta = {delta:g} for {count:,} holders, of whom "
                f"{insiders:,} collude; ask for a larger delta, report more items, or choose a "
                "smaller rate"
            )
        provided = (
            f"every answer has at least {others:,} holders other than the person, who do not work "
            "together with anyone who looks",
            PRESENT,
            seen,
            *assuming,
        )
        return result_promise(epsilon, delta, self.neighbours, *provided, against=against)
