"""Every outcome of a tiny collection with its probability, so that nothing is simulated."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from sottovoce import Estimate, Mechanism


def estimates(mechanism: Mechanism, answers: Sequence[int]) -> Iterator[tuple[float, Estimate]]:
    """The estimate of every table of counts that these answers can lead to."""
    law = np.array(mechanism.channel().matrix, float)
    reports = mechanism.every_report()
    single = [mechanism.aggregate(reports[y : y + 1]) for y in range(len(reports))]
    chances: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for outcome in itertools.product(range(law.shape[1]), repeat=len(answers)):
        chance = float(np.prod([law[a, y] for a, y in zip(answers, outcome, strict=True)]))
        chances[tuple(sorted(outcome))] += chance
    for outcome, chance in chances.items():
        counts = sum((single[y] for y in outcome[1:]), single[outcome[0]])
        yield chance, mechanism.estimate(counts)


def samples(population: Sequence[int], n: int, *, replace: bool) -> Iterator[tuple[float, list]]:
    """Every sample of n people, with its probability."""
    chances: defaultdict[tuple[int, ...], float] = defaultdict(float)
    ways = (
        itertools.product(population, repeat=n)
        if replace
        else itertools.combinations(population, n)
    )
    every = [tuple(sorted(way)) for way in ways]
    for way in every:
        chances[way] += 1 / len(every)
    for way, chance in chances.items():
        yield chance, list(way)
