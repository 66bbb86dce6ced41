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

from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from ..accounting.two_stage import TwoStage
from ..checks import checked_count, checked_rate
from ..errors import ParameterError
from ..promise import Against, Guarantee
from ..randomness import Source
from ..transport import Machine
from .committee import CommitteeElector, CommitteeSummer, CommitteeUsers, quorum
from .dpcs import NO_COUNT, Sampling
from .elected import Elector, ReportingUsers, Summer
from .promises import FOLLOWED, ROSTER, listed_items, repeated, two_stage_promise
from .protocol import Prepared, Setting
from .receiving import Flags
from .selection import coins, one_hot, reported_sets

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
        Of adaptive selection.
    collusion : int, optional
        φ, the largest number of users who work together; it makes the protocol TSS'. Without it an
        item that few people report may be open to its elected users.
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
        insiders = 1 if collusion is None else collusion
        super().__init__(domain, collusion=insiders, **parameters)
        if selection not in ("uniform", "adaptive"):
            raise ParameterError(f"selection is {selection!r}; it is 'uniform' or 'adaptive'")
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

    def prepare(
        self, codes: NDArray[Any], source: Source, *, first: int = 0, people: int | None = None
    ) -> Prepared:
        sampled = coins(self.rate, codes.size, source)
        design = self.design
        sets = reported_sets(codes, sampled, self.items, design.reported, design.gamma, source)
        return Prepared(one_hot(codes, self.items, sampled), sets)

    def users_machine(self, prepared: Prepared, members: range, setting: Setting) -> Machine[Any]:
        people, field, source = setting.people, setting.field, setting.source
        secrets, sets = field.encode(prepared.rows), prepared.sets
        if sets is None:
            raise ParameterError("two-stage sampling needs the sets of reported items")
        if self.committee is None or self.phi is None:
            return ReportingUsers(members, people, field, secrets, sets, source)
        return CommitteeUsers(
            members,
            people,
            self.committee,
            self.phi,
            field,
            secrets,
            sets,
            self.design.reported,
            source,
            setting.exactly,
        )

    def server_machines(self, setting: Setting) -> list[Machine[Any]]:
        people, field, source = setting.people, setting.field, setting.source
        items, phi, size = self.items, self.phi, self.committee
        if phi is not None and people <= phi:
            raise ParameterError(f"{people:,} people take part; more than collusion={phi} must")
        if size is None or phi is None:
            reported = self.design.reported
            elector = Elector(people, items, reported, phi, source, setting.exactly)
            return [elector, Summer(people, items, field)]
        if size > people:
            raise ParameterError(f"a committee of {size} needs as many people; there are {people}")
        summer = CommitteeSummer(people, items, size, phi, field)
        return [CommitteeElector(people, size, source), summer]

    def message_rounds(self, people: int) -> int:
        return 4 if self.committee is None else 5

    def promise(self, people: int, senders: Flags | None, rounds: int) -> Guarantee:
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
        result = two_stage_promise(
            self.design,
            self.count,
            self.delta,
            self.neighbours,
            self.collusion,
            self.published,
            self.committee is not None,
            honest,
            ROSTER,
            FOLLOWED,
            epsilon=epsilon,
        )
        star = self.design.epsilon_star
        promises = [result]
        if self.committee is None:
            alone = "S1 works together with nobody and does not see the result"
            promises.append(listed_items(star, Against.S1, alone, FOLLOWED))
        if self.phi is not None:
            unseen = f"they are at most {self.phi}, and none of them sees the result"
            promises.append(listed_items(star, Against.COALITION, unseen, FOLLOWED))
        return Guarantee(tuple(repeated(promise, rounds) for promise in promises))
