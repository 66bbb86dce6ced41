"""What is promised to a person who divides a budget over a record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..estimate.intervals import Floats
from ..promise.guarantee import LDP, OWN_DEVICE, WHO_ANSWERED, Guarantee, Promise

INDEPENDENT = (
    "how a person divides epsilon, and which attributes they report, was decided without "
    "regard to the answers; otherwise nothing is promised"
)
HIDDEN = (
    "nobody relies on the division being secret: it is not sent, but how many bits are set tells "
    "much of it"
)


def promises(
    names: Sequence[str], row: Floats, average: float, *, public: bool, dropped: bool
) -> Guarantee:
    """The total for all reported answers together, then each answer's own budget.

    Parameters
    ----------
    row : ndarray
        The person's budgets, NaN where unreported.
    dropped : bool
        Whether missing answers of some attribute are declared public.
    """
    hidden = () if public else (HIDDEN,)
    assuming = (OWN_DEVICE, INDEPENDENT, *hidden, *((WHO_ANSWERED,) if dropped else ()))
    many = int((~np.isnan(row)).sum())
    total = Promise(
        LDP,
        float(many * average),
        neighbours="any two records",
        unit=f"all {many} reported answers of one person together",
        assuming=assuming,
    )
    each = (
        Promise(
            LDP,
            float(epsilon),
            unit=f"the answer to {name!r} of one person who gives it this epsilon",
            assuming=assuming,
        )
        for name, epsilon in zip(names, row, strict=True)
        if not np.isnan(epsilon)
    )
    return Guarantee((total, *each))
