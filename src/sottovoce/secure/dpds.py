"""DPDS: everyone samples themselves, and only the sum of secret shares is opened (Algorithm 2).

Up to 3,000 users every user shares with every user, as printed; with more, or with `helpers`, each
shares with a few helper servers. Counts, estimate and guarantee are those of DPCS, without a
curator: with the same coins the result is the same number. Against users without the result the
promise is perfect; whoever sees the result and holds an answer knows their own coin (`collusion`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..checks import checked_count
from ..errors import ParameterError
from ..promise import Against, Guarantee
from ..transport import Machine
from .dpcs import Sampling
from .everyone import Aggregator, SharingUsers
from .helpers import Helper, SeedingUsers
from .promises import FOLLOWED, ROSTER, SEEDS, Sizes, local_promise, repetition
from .protocol import Prepared, Protocol
from .receiving import Flags, Setting

MOST_TO_THE_LETTER = 3_000
_HELPERS = 3


@dataclass(frozen=True, eq=False, init=False)
class SecureSum(Protocol):
    """Protocols whose users add vectors up: among all users, or through helpers."""

    #: How many helpers; 0 is the published protocol, None leaves it to the number of people.
    helpers: int | None

    def __init__(self, domain: Any, *, helpers: int | None = None, **parameters: Any) -> None:
        super().__init__(domain, **parameters)
        if helpers is not None:
            helpers = checked_count(helpers, "helpers", 0)
        if helpers == 1:
            raise ParameterError(
                "one helper would see every answer; take 0 (users only) or 2 or more"
            )
        self._set(helpers=helpers)

    def helpers_for(self, people: int) -> int:
        """How many helpers a run of so many people has; 0 where users share with all users."""
        if self.helpers is None:
            return 0 if people <= MOST_TO_THE_LETTER else _HELPERS
        return self.helpers

    def users_machine(self, prepared: Prepared, members: range, setting: Setting) -> Machine[Any]:
        helpers = self.helpers_for(setting.people)
        secrets, about = setting.field.encode(prepared.rows), vars(setting)
        if helpers == 0:
            return SharingUsers(**about, members=members, secrets=secrets)
        return SeedingUsers(**about, members=members, secrets=secrets, helpers=helpers)

    def server_machines(self, setting: Setting) -> list[Machine[Any]]:
        count, least = self.helpers_for(setting.people), self.least_senders(setting.people)
        about = {**vars(setting), "helpers": count}
        helpers = [Helper(**about, index=k, least=least) for k in range(count)]
        return [*helpers, Aggregator(**about)]

    def least_senders(self, people: int) -> tuple[int, int]:
        """(a, b): without b of the first a people no sum is opened."""
        return people, 1

    def message_rounds(self, people: int) -> int:
        return 3 if self.helpers_for(people) else 2

    def with_shares(self, result: Guarantee, people: int, rounds: int) -> Guarantee:
        """The promise about the result, beside that about the shares alone."""
        if not result.promises:
            return result
        also: tuple[str, ...] = ()
        against, unless = Against.COALITION, "none of them sees the result"
        if self.helpers_for(people):
            against, unless = Against.HELPERS, "one helper works together with nobody"
            also = (SEEDS,)
        alone = local_promise(0.0, against, unless, FOLLOWED, *repetition(rounds))
        promises = (replace(p, assuming=(*p.assuming, *also)) for p in (*result.promises, alone))
        return Guarantee(tuple(promises))


@dataclass(frozen=True, eq=False, init=False)
class DPDS(SecureSum, Sampling):
    """Everyone samples themselves; users or helpers add up secret shares.

    Parameters
    ----------
    domain, rate, users, count, epsilon, delta, collusion, neighbours
        As in `Sampling`.
    helpers : int, optional
        Helper servers, 2 or more; 0 is Algorithm 2 to the letter. By default that up to 3,000
        people, and 3 helpers beyond.

    Examples
    --------
    >>> protocol = DPDS(["car", "bike", "foot"], rate=0.4, users=600, count=100)
    >>> run = protocol.simulate(["car", "bike", "foot"] * 200)
    >>> run.estimate.n, run.aggregate.route.kept
    (600, 0.4)
    """

    name = "dpds"

    def least_senders(self, people: int) -> tuple[int, int]:
        return people, self.least_people

    def promise(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        result = self.sampled(rounds, ROSTER, FOLLOWED, against=Against.AGGREGATOR)
        return self.with_shares(result, people, rounds)
