"""Priors as people write them on the command line."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ParameterError

if TYPE_CHECKING:
    from ...domain.values import Domain
    from ...mechanisms.mechanism import Mechanism


def known_beforehand(
    values: Domain,
    epsilon: float | None,
    levels: Mapping[str, float] | None,
    rate: float | list[float] | None,
    mechanism: str | None,
    prior: str,
) -> Mechanism:
    """The mechanism of a question whose prior is public."""
    from ...mechanisms import LIP
    from ...participation import Levels, Sampled

    if mechanism not in (None, LIP.id):
        raise ParameterError(f"--prior goes with the mechanism 'lip', not with {mechanism!r}")
    known = prior_from(prior)
    made: Mechanism = (
        Levels.of(LIP, values, levels or {}, prior=known)
        if epsilon is None
        else LIP(values, epsilon=epsilon, prior=known)
    )
    return made if rate is None else Sampled(made, rate=rate)


def prior_from(text: str, option: str = "--prior") -> Any:
    """One probability, several in order, or one per name: 0.1, 0.1,0.9 or yes=0.1,no=0.9."""
    items = [item.strip() for item in next(csv.reader([text], skipinitialspace=True), [])]
    named = [item.rpartition("=") for item in items]
    names = [name.strip() for name, _, _ in named]
    try:
        shares = [float(share) for _, _, share in named]
    except ValueError:
        shares = []
    some = [bool(name) for name in names]
    if not shares or (any(some) and not all(some)) or len(set(names)) < len(names) * any(some):
        raise ParameterError(
            f"{option} is {text!r}; give one probability (of yes), several in the order of the "
            "values, or one for each name, such as yes=0.1,no=0.9"
        )
    if all(some):
        # As for values: whole numbers are numbers, and "007" stays text.
        whole = all(n.removeprefix("-").isdecimal() and str(int(n)) == n for n in names)
        return {int(n) if whole else n: s for n, s in zip(names, shares, strict=True)}
    return shares[0] if len(shares) == 1 else shares
