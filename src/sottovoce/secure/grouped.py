"""One run per privacy level, joined by `combine`.

Each level is a protocol of its own: its people hide among the people of the same level only, so
`count` speaks of the level. Who chose which level is visible and not protected.

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..estimate.combine import combine, with_guarantee
from ..estimate.estimate import Estimate
from ..promise import Guarantee
from ..promise.assumptions import LEVEL_IS_PUBLIC
from ..randomness import Source
from .protocol import Protocol, Run

OF_THIS_LEVEL = (
    "people are counted within this level: holders of an answer and those who add noise are people "
    "who chose it, since those of other levels hide nobody"
)


@dataclass(frozen=True, eq=False)
class GroupedRun:
    """The runs of all levels, and one estimate of them.

    Attributes
    ----------
    runs : mapping of str to Run
        By level.
    estimate : Estimate
        Of all people.
    guarantee : Guarantee
        Every level's promises, side by side.
    """

    runs: Mapping[str, Run]
    estimate: Estimate
    guarantee: Guarantee


class Grouped:
    """A menu of privacy levels, each with a protocol.

    Parameters
    ----------
    levels : mapping of str to Protocol
        All over the same values.

    Examples
    --------
    >>> from sottovoce.secure import DPDS
    >>> menu = Grouped({"strong": DPDS(2, rate=0.2), "weak": DPDS(2, rate=0.6)})
    >>> run = menu.simulate([0, 1] * 100, level=["strong", "weak"] * 100)
    >>> sorted(run.runs), run.estimate.n
    (['strong', 'weak'], 200)
    """

    def __init__(self, levels: Mapping[str, Protocol]) -> None:
        self.levels = MappingProxyType(dict(levels))
        if not self.levels or not all(isinstance(p, Protocol) for p in self.levels.values()):
            raise ParameterError("levels must map at least one name to a protocol")
        domains = {protocol.counts.digest for protocol in self.levels.values()}
        if len(domains) > 1:
            raise ParameterError("the levels ask for different values; one question has one domain")

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to people of each level."""
        return _by_level({name: p.guarantee for name, p in self.levels.items()})

    def simulate(
        self,
        values: Any,
        *,
        level: Any,
        method: str = "james-stein",
        source: Source | None = None,
    ) -> GroupedRun:
        """Run every level in this process, and combine the estimates.

        Parameters
        ----------
        values : array-like
            One answer per person.
        level : array-like of str
            The level that each person chose.
        method : str
            A weighting of `combine`.
        """
        protocol = next(iter(self.levels.values()))
        codes, chosen = protocol.domain.encode(values), np.asarray(level)
        if chosen.shape != (codes.size,):
            raise ParameterError(f"{chosen.size} levels for {codes.size} answers; give one each")
        strange = sorted(set(np.unique(chosen).tolist()) - set(self.levels))
        if strange:
            raise ParameterError(f"there is no level {strange[0]!r}; there are {list(self.levels)}")
        answers = protocol.domain.decode(codes)
        runs = {}
        for name, of_level in self.levels.items():
            mine = np.flatnonzero(chosen == name)
            if mine.size:
                runs[name] = of_level.simulate([answers[i] for i in mine], source=source)
        joined = combine({name: run.estimate for name, run in runs.items()}, method=method)
        guarantee = _by_level({name: run.guarantee for name, run in runs.items()})
        return GroupedRun(MappingProxyType(runs), with_guarantee(joined, guarantee), guarantee)


def _by_level(guarantees: Mapping[str, Guarantee]) -> Guarantee:
    for guarantee in guarantees.values():
        if not guarantee.promises:
            return guarantee
    also = LEVEL_IS_PUBLIC, OF_THIS_LEVEL
    return Guarantee(
        tuple(
            replace(promise, unit=promise.unit.at_level(name), assuming=(*promise.assuming, *also))
            for name, guarantee in guarantees.items()
            for promise in guarantee.promises
        )
    )
