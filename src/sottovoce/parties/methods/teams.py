"""Releases over split columns: budget segmentation, teams and their noise.

Axes by ascending budget ε_1 ≤ … ≤ ε_K. Release i is the table of axes i..K at Δ_i = ε_i − ε_{i−1}
(ε_0 = 0), opened by the team of these parties; Δ_i = 0 opens nothing. Party k takes part in
releases 1..k and so spends ε_k in all; a person's attributes together cost ε_max.

Noise comes from all K parties (any K − t shares are enough) or from the K_i of the team alone (any
K_i − min(t, K_i − 1)), whichever has the smaller variance; a lone party adds full noise.

Paper 002 §6.2; algorithms.md §4.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ...errors import EstimateError, ParameterError
from ...promise import Neighbours
from ..design import Design
from ..releases import Release


def ascending(design: Design) -> tuple[int, ...]:
    """Axes by ascending budget; equal budgets in the order of the study."""
    if design.neighbours is not Neighbours.SUBSTITUTION:
        raise ParameterError(
            "where columns are split, neighbours are a person's attributes replaced "
            "(substitution): every party has a row of every person"
        )
    if len(design.shape) != len(design.budgets):
        raise ParameterError(
            f"there are {len(design.shape)} axes and {len(design.budgets)} parties; every party "
            "has one axis, made of all its attributes"
        )
    budgets = list(design.budgets.values())
    return tuple(sorted(range(len(budgets)), key=lambda axis: (budgets[axis], axis)))


def segments(design: Design) -> list[tuple[int, Fraction]]:
    """(i, Δ_i) of every release that is opened; i is a place in ascending order."""
    budgets = [Fraction(list(design.budgets.values())[axis]) for axis in ascending(design)]
    before = [Fraction(0), *budgets[:-1]]
    return [(i, b - a) for i, (a, b) in enumerate(zip(before, budgets, strict=True)) if b > a]


def noise_of(design: Design, team: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """Who adds noise, and how many of them are honest."""
    everyone, honest = design.parties, design.honest
    alone = len(team) - min(design.collusion, len(team) - 1)
    if Fraction(len(team), alone) < Fraction(len(everyone), honest):
        return team, alone
    return everyone, honest


def table_release(
    design: Design,
    name: str,
    axes: tuple[int, ...],
    epsilon: Fraction,
    *,
    kept: Mapping[str, Fraction] | None = None,
) -> Release:
    """The table of some axes, in the order of the study, with Laplace noise of scale 2/ε."""
    ascending(design)  # refuses designs that are not of split columns
    axes = tuple(sorted(axes))
    team = tuple(design.parties[axis] for axis in axes)
    noise_from, honest = noise_of(design, team)
    return Release(
        name=name,
        axes=axes,
        shape=tuple(design.shape[axis] for axis in axes),
        weights=dict.fromkeys(team, 1),
        scale=2 / epsilon,
        honest=honest,
        noise_from=noise_from,
        kept=kept,
    )


def rows(design: Design) -> int:
    """n, which is public and the same for every party."""
    numbers = set((design.rows or {}).values())
    if len(numbers) != 1 or not (n := numbers.pop()) >= 1:
        raise EstimateError(
            f"the parties have {dict(design.rows or {})} rows; all must have the same number, at "
            "least 1"
        )
    return n
