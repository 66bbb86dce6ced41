"""What parties promise where columns are split: each for its own, and all for a whole person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ..checks import float_above
from ..promise import DP, Against, Guarantee, Promise, Protected, Unit
from .engines import trusted_members
from .oblivious import delta
from .promises import COMPUTATIONAL, FOLLOWED, ONCE, PUBLIC_SIZES, guarantee
from .releases import Release

if TYPE_CHECKING:
    from .column_study import ColumnStudy

ALIGNED = (
    "everyone's rows are about the same people, which the parties compare by their keys; who these "
    "people are is known to all parties"
)


def columns_guarantee(
    study: ColumnStudy, releases: Sequence[Release], costs: Mapping[str, Fraction]
) -> Guarantee:
    """Promises per party, and for a whole person: the sum of what all releases cost."""
    trusted = trusted_members(study.engine, study.collusion, len(study.parties))
    assuming = (*trusted, FOLLOWED, ALIGNED, PUBLIC_SIZES, COMPUTATIONAL, ONCE)
    coins = study.coins()
    deltas = {
        party: sum((r.delta for r in releases if party in r.weights), Fraction(0))
        + (Fraction(delta(epsilon, coins)) if coins else 0)
        for party, epsilon in costs.items()
    }
    parties = guarantee(costs, study.neighbours, Protected.PARTY_RECORD, assuming, deltas)
    whole = sum((r.cost(next(iter(r.weights)), study.neighbours) for r in releases), Fraction(0))
    spare = sum((r.delta for r in releases), Fraction(0))
    if coins:
        spare += Fraction(delta(whole, coins))
    person = Promise(
        DP,
        float_above(whole),
        float_above(spare),
        study.neighbours,
        Unit(Protected.RECORD),
        Against.PARTIES,
        assuming,
    )
    return Guarantee((*parties.promises, person))
