"""What parties promise the people in their data, each with its own budget.

ε_k is what the releases of all marginals really cost party k, exactly (`Method.spent`); it is at
most its budget. Releases add up by basic composition.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ..checks import float_above
from ..promise import DP, Against, Guarantee, Neighbours, Promise, Protected, Unit
from .design import Design

SEVERAL = (
    "a person in the data of several parties is protected by the sum of what these parties spend"
)
COMPUTATIONAL = (
    "masks are computed from X25519 and AES, which an observer cannot break; every party uses the "
    "key that the study names, and its system's randomness"
)
ONCE = (
    "epsilon counts this run alone; other runs over the same data add to it, and each party's "
    "ledger says what has been spent"
)
FOLLOWED = (
    "parties and curator who work together may show each other all they see, and send what the "
    "protocol says: in products of columns, and in noise that nobody draws, an altered message "
    "could single out a row"
)
PUBLIC_SIZES = "how many rows each party has is public"

ALONE = (
    "no party works with the curator or with another party; everyone follows the protocol, and may "
    "look at the result"
)


def colluders(collusion: int, dropouts: int = 0) -> str:
    """Whom the promise holds against, as a sentence."""
    others = "one other party works" if collusion == 1 else f"{collusion} other parties work"
    missing = f" and at most {dropouts} dropped out" if dropouts else ""
    return (
        f"at most {others} with the curator{missing}; all the rest add their noise and follow the "
        "protocol"
    )


def guarantee(
    costs: Mapping[str, Fraction],
    neighbours: Neighbours,
    protects: Protected,
    assuming: tuple[str, ...],
    deltas: Mapping[str, Fraction] | None = None,
) -> Guarantee:
    """One promise per party, with what it really spends, rounded up."""
    spare = deltas or {}
    return Guarantee(
        tuple(
            Promise(
                DP,
                float_above(epsilon),
                float_above(spare.get(party, Fraction(0))),
                neighbours,
                Unit(protects, group=party),
                Against.PARTIES,
                assuming,
            )
            for party, epsilon in costs.items()
        )
    )


def rows_guarantee(
    costs: Mapping[str, Fraction],
    design: Design,
    deltas: Mapping[str, Fraction] | None = None,
    others: tuple[str, ...] | None = None,
) -> Guarantee:
    """The same where every party has rows of the same attributes."""
    substituted = design.neighbours is Neighbours.SUBSTITUTION
    protects = Protected.PARTY_RECORD if substituted else Protected.PARTICIPATION
    sizes = (PUBLIC_SIZES,) if substituted else ()
    trusted = others or (colluders(design.collusion, design.dropouts),)
    assuming = (*trusted, SEVERAL, *sizes, COMPUTATIONAL, ONCE)
    return guarantee(costs, design.neighbours, protects, assuming, deltas)
