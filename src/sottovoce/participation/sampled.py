"""Only some people report: each is drawn with a public rate, by their own side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import ParameterError
from ..mechanisms.mechanism import Mechanism
from .menu import EVERYONE, Level, free_epsilon
from .participation import Participation
from .rates import checked_rates


class Sampled(Participation):
    """A mechanism that each person uses with a public probability.

    Parameters
    ----------
    inner : Mechanism
        Makes the reports; it may be a menu of levels.
    rate : float or sequence of float
        Everyone's rate, or the public grid that personal rates are taken from.
    study : bytes, optional
        Digest of the study that the reports belong to.

    Examples
    --------
    >>> import sottovoce as sv
    >>> s = sv.Sampled(sv.GRR(["yes", "no"], epsilon=2), rate=[0.2, 0.5])
    >>> agg = s.aggregate(s.randomise(["yes", "no"] * 500, rate=[0.2] * 400 + [0.5] * 600))
    >>> agg.tables["asked"].tolist()
    [400, 600]
    """

    def __init__(self, inner: Mechanism, *, rate: Any, study: bytes | None = None) -> None:
        if not isinstance(inner, Mechanism):
            raise ParameterError(
                f"{inner!r} is not a mechanism; give one, such as GRR(4, epsilon=1)"
            )
        levels = inner.levels if isinstance(inner, Participation) else (Level(None, inner),)
        if any(level.rates != EVERYONE for level in levels):
            raise ParameterError("this mechanism is sampled already; multiply its rates instead")
        epsilon = max(free_epsilon(level.mechanism) for level in levels)
        rates = checked_rates(rate, epsilon)
        super().__init__([replace(level, rates=rates) for level in levels], study=study)
