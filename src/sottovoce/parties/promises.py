"""What parties promise the people in their data, each with its own budget.

ε_k is what the releases of all marginals really cost party k, exactly (`Method.spent`); it is at
most its budget. Releases add up by basic composition.
"""

from __future__ import annotations

from .engines import Engine

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
ALIGNED = (
    "everyone's rows are about the same people, which the parties compare by their keys; who these "
    "people are is known to all parties"
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


def trusted_members(
    engine: Engine | None, collusion: int, dropouts: int, parties: int
) -> tuple[str, ...]:
    """Whom a promise trusts, as sentences: no more colluders than the engine tolerates."""
    if engine is None:
        return (colluders(collusion, dropouts),)
    alone = engine.tolerates(parties) < collusion + 1  # the curator is one of them
    return (ALONE if alone else colluders(collusion), engine.assuming, FOLLOWED)
