"""What is promised to a person who divides a budget among the attributes of a record."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..checks import float_above
from ..estimate.intervals import Floats
from ..promise import LDP, OWN_DEVICE, WHO_ANSWERED, Guarantee, Promise, Protected, Unit
from ..promise.assumptions import HIDDEN, INDEPENDENT, OWN_PART


def promises(
    names: Sequence[str],
    row: Floats,
    average: float,
    *,
    public: bool,
    dropped: bool,
    also: tuple[str, ...] = (),
) -> Guarantee:
    """The total for all reported answers together, then each answer's own budget.

    `row` are the person's budgets, NaN where unreported; missing answers of some attribute may be
    declared public (`dropped`).
    """
    hidden = () if public else (HIDDEN,)
    assuming = (OWN_DEVICE, INDEPENDENT, *hidden, *((WHO_ANSWERED,) if dropped else ()), *also)
    many = int((~np.isnan(row)).sum())
    total = Promise(
        LDP,
        float_above(many * Fraction(average)),
        unit=Unit(Protected.RECORD, answers=many),
        assuming=assuming,
    )
    each = (
        Promise(LDP, float(epsilon), unit=Unit(attribute=name), assuming=(*assuming, OWN_PART))
        for name, epsilon in zip(names, row, strict=True)
        if not np.isnan(epsilon)
    )
    return Guarantee((total, *each))
