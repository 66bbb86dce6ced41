"""The people of the experiments: two real data sets and two synthetic ones, as item numbers.

Gowalla     the 5° × 5° cell of [30, 45) × [−100, −80) that a user visited most, 12 cells
Census      hourly wage in intervals of 100 cents from 400 to 2,000, 16 intervals
Uniform     30 items, each person one of them uniformly at random
Normal      a standard normal number in 30 intervals of equal length over [−3, 3]
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.reproduce import Data, Job

Codes = NDArray[np.int64]

#: Of each population: the data set it needs, and how many items it has.
NEEDS = {"gowalla": ("gowalla",), "gowalla-18737": ("gowalla_18737",),
         "census": ("census_income",), "uniform": (), "normal": ()}  # fmt: skip
ITEMS = {"gowalla": 12, "gowalla-18737": 12, "census": 16, "uniform": 30, "normal": 30}


def jobs_of(
    panels: Mapping[str, str],
    places: Iterable[float],
    about: Callable[[float], dict[str, Any]],
    *,
    fast: Callable[[str, float], bool],
    repeats: Mapping[tuple[str, float], int] | None = None,
) -> tuple[Job, ...]:
    """A job for the people of each panel at each place, about 1,000 of them or the size stated."""
    return tuple(
        Job(
            panel,
            x,
            {"people": people, **about(x)},
            about(x).get("size", 1000),
            NEEDS[people],
            fast(panel, x),
            (repeats or {}).get((panel, x)),
        )
        for (panel, people), x in product(panels.items(), places)
    )


@dataclass(frozen=True, eq=False)
class People:
    """Some people, each with one of the public items."""

    codes: Codes
    items: int

    @property
    def fractions(self) -> NDArray[np.float64]:
        """The true frequencies, which are to be estimated."""
        return np.bincount(self.codes, minlength=self.items) / self.codes.size

    @property
    def least(self) -> int:
        """Holders of the rarest item, the protected person included: one at least."""
        return max(1, int(np.bincount(self.codes, minlength=self.items).min()))


def draw(name: str, size: int, data: Data) -> People:
    """So many people of a population, always the same ones.

    Parameters
    ----------
    name : str
        A key of `ITEMS`.
    size : int
        How many.
    data : Data
        Where the real data sets are.
    """
    digest = hashlib.sha256(f"{name}/{size}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    if name == "uniform":
        return People(rng.integers(ITEMS[name], size=size), ITEMS[name])
    if name == "normal":
        return People(in_intervals(rng.normal(size=size), ITEMS[name]), ITEMS[name])
    everyone = census(data) if name == "census" else gowalla(name.replace("-", "_"), data)
    return People(rng.choice(everyone, size, replace=False), ITEMS[name])


def in_intervals(numbers: NDArray[np.float64], items: int) -> Codes:
    """Numbers over [−3, 3] in intervals of equal length; what lies outside goes to the ends."""
    return np.clip(((numbers + 3) / 6 * items).astype(np.int64), 0, items - 1)


def gowalla(name: str, data: Data) -> Codes:
    """Everyone's most visited cell of the window; users who were never there are left out."""
    table = data(name)
    latitude, longitude = table["lat"].astype(float), table["lon"].astype(float)
    inside = (latitude >= 30) & (latitude < 45) & (longitude >= -100) & (longitude < -80)
    cell = ((latitude[inside] - 30) // 5 * 4 + (longitude[inside] + 100) // 5).astype(np.int64)
    users, row = np.unique(table["user"][inside], return_inverse=True)
    visits = np.zeros((users.size, 12))
    np.add.at(visits, (row, cell), table["checkins"][inside].astype(float))
    return visits.argmax(axis=1)


def census(data: Data) -> Codes:
    """The interval of the hourly wage, of people who have one from 400 to below 2,000 cents."""
    wage = data("census_income", "wage per hour")["wage per hour"].astype(np.int64)
    return wage[(wage >= 400) & (wage < 2000)] // 100 - 4
