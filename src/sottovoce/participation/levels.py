"""The two constructors: privacy levels that people choose from, and rates at which they report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..domain.values import Domain, Label
from ..errors import ParameterError
from ..mechanisms.mechanism import Mechanism
from .menu import Level, free_epsilon
from .participation import Participation
from .rates import EVERYONE, MOST_CHOICES, checked_rates


class Levels(Participation):
    """Mechanisms by level; each person's report comes from the mechanism of the level they chose.

    Parameters
    ----------
    menu : mapping of str to Mechanism
        Level names and their mechanisms, all over the same domain; a mechanism may be sampled.
    study : bytes, optional
        Digest of the study that the reports belong to.

    Examples
    --------
    >>> import sottovoce as sv
    >>> menu = sv.Levels.of(sv.OUE, ["yes", "no"], {"strong": 0.5, "weak": 4})
    >>> reports = menu.randomise(["yes", "no", "yes"], level=["strong", "weak", "weak"])
    >>> menu.aggregate(reports).tables["asked"].tolist()
    [1, 2]
    """

    def __init__(self, menu: Mapping[str, Mechanism], *, study: bytes | None = None) -> None:
        super().__init__(_levels(menu), study=study)

    @classmethod
    def of(
        cls,
        kind: type[Mechanism],
        domain: Domain | int | Sequence[Label],
        epsilons: Mapping[str, float],
        **extras: Any,
    ) -> Levels:
        """One kind of mechanism at several epsilons."""
        if not isinstance(epsilons, Mapping):
            raise ParameterError(
                f"levels are {epsilons!r}; give names and epsilons, such as "
                "{'strong': 0.5, 'weak': 4}"
            )
        return cls({name: kind(domain, epsilon=e, **extras) for name, e in epsilons.items()})


def _levels(menu: Mapping[str, Mechanism]) -> list[Level]:
    if not isinstance(menu, Mapping) or not 1 <= len(menu) <= MOST_CHOICES:
        raise ParameterError(
            f"levels are {menu!r:.80}; give a mapping of 1 to {MOST_CHOICES} names to mechanisms"
        )
    levels = []
    for name, mechanism in menu.items():
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"{name!r} cannot name a level; use a non-empty text")
        if not isinstance(mechanism, Mechanism):
            raise ParameterError(
                f"level {name!r} is {mechanism!r}; give a mechanism, or names and epsilons to "
                "Levels.of(kind, domain, {…})"
            )
        if not isinstance(mechanism, Participation):
            levels.append(Level(name, mechanism))
            continue
        (only,) = mechanism.levels[:1]
        if only.name is not None:
            raise ParameterError(f"level {name!r} is a menu itself; put all levels in one menu")
        levels.append(Level(name, only.mechanism, only.rates))
    return levels


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
