"""A menu of privacy levels: everyone chooses how much privacy they want."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..domain.values import Domain, Label
from ..errors import ParameterError
from ..mechanisms.mechanism import Mechanism
from .menu import Level
from .participation import Participation
from .rates import MOST_CHOICES


class Levels(Participation):
    """Mechanisms by level; each person's report is made by that of the level they chose.

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
