"""How likely every pattern is, and the expectation step over them.

A cell's likelihood depends only on which of its bits a pattern has set, so that of a pattern of k
attributes is 2^k numbers whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...parallel import over_ranges
from .groups import Group
from .hidden import (
    GRID,
    GRID_ROUNDS,
    ROUNDS,
    atoms,
    mixing_weights,
    mixing_weights_again,
    phi_of,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Noise:
    """The estimated law of hidden budgets of a group, and how likely it makes every pattern.

    Attributes
    ----------
    atoms : ndarray, atoms × axes
        Possible values of (q_a).
    weights : ndarray
        Their estimated probabilities.
    sizes : tuple of int
    vectors : ndarray of int, vectors × axes
        The numbers of ones that occur.
    where : ndarray of int
        The vector of every pattern.
    """

    atoms: Floats
    weights: Floats
    sizes: tuple[int, ...]
    vectors: NDArray[np.int64]
    where: NDArray[np.intp]

    @classmethod
    def of(cls, group: Group, average: float, grid: bool) -> Noise:
        """The law under which a group's numbers of ones are most likely."""
        if grid and group.reported > 1:
            q = GRID[:, None]
        else:
            q = atoms(group.reported, len(group.axes), group.reported * average)
        vectors, where = np.unique(group.ones, axis=0, return_inverse=True)
        many = np.bincount(where.ravel(), weights=group.counts).astype(float)
        rounds = GRID_ROUNDS if grid else ROUNDS
        weights = mixing_weights(q, group.sizes, vectors, many, rounds)
        return cls(q, weights, group.sizes, vectors, where.ravel())

    def again(self, counts: Floats) -> Iterator[Noise]:
        """The law estimated anew from each column of counts of the patterns."""
        sums = [np.bincount(self.where, c, len(self.vectors)) for c in counts.T]
        many = np.stack(sums, axis=1).astype(float)
        if len(self.atoms) == 1:
            columns = np.ones((counts.shape[1], 1))
        else:
            columns = mixing_weights_again(
                self.atoms, self.sizes, self.vectors, many, self.weights
            ).T
        for weights in columns:
            yield replace(self, weights=weights)

    def only(self, which: NDArray[np.intp]) -> Noise:
        """That of some of the patterns."""
        return replace(self, where=self.where[which])

    def values(self) -> Floats:
        """φ(n − y) for every combination y of the candidate's bits; 0 where none can be."""
        phi = phi_of(self.atoms, self.weights, self.sizes)
        values = np.zeros((len(self.vectors), 1 << len(self.sizes)))
        for code, y in enumerate(product((0, 1), repeat=len(self.sizes))):
            left = self.vectors - np.array(y)
            can = ((left >= 0) & (left < np.array(self.sizes))).all(axis=1)
            values[can, code] = phi[tuple(left[can].T)]
        return np.asarray(values / values.max(axis=1, keepdims=True))[self.where]


@dataclass(eq=False)
class Block:
    """The patterns of one group, sorted with the last axis varying least.

    Attributes
    ----------
    axes, sizes : tuple of int
        Which axes of the table, and how many values they have.
    bits : ndarray of uint8, patterns × bits of all axes
    values : ndarray, patterns × 2^axes
        The likelihood where the bits of the candidate values are (y_1, y_2, …), as a binary number;
        the largest of a row is 1.
    counts : ndarray
        How often each pattern came.
    noise : Noise, optional
        Where budgets are hidden: what the values were computed from.
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    bits: NDArray[np.uint8]
    values: Floats
    counts: Floats
    noise: Noise | None = None

    @property
    def cells(self) -> int:
        """How many cells the axes have together."""
        return int(np.prod(self.sizes))

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the bits of each axis begin."""
        return np.cumsum([0, *self.sizes[:-1]])

    @cached_property
    def change(self) -> NDArray[np.int64]:
        """The last axis on which each pattern differs from the one before it; −1 for none."""
        found = np.full(len(self.bits), -1, np.int64)
        for a, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            own = self.bits[:, start : start + size]
            found[1:][(own[1:] != own[:-1]).any(axis=1)] = a
        return found

    def only(self, which: NDArray[np.intp], counts: Floats) -> Block:
        """Some of the patterns, with other counts for all of them given."""
        noise = None if self.noise is None else self.noise.only(which)
        return replace(
            self,
            bits=self.bits[which],
            values=self.values[which],
            counts=counts[which],
            noise=noise,
        )

    def again(self, counts: Floats) -> Iterator[Block]:
        """The block of each column of counts, with the law of hidden budgets estimated anew."""
        if self.noise is None:
            yield from (self.only(np.flatnonzero(c), c) for c in counts.T)
            return
        for c, noise in zip(counts.T, self.noise.again(counts), strict=True):
            which = np.flatnonzero(c)
            some = noise.only(which)
            yield Block(self.axes, self.sizes, self.bits[which], some.values(), c[which], some)

    def rows(self) -> Floats:
        """The likelihood of every pattern under every cell, each row divided by its maximum."""
        code = np.zeros((len(self.bits), 1), np.int64)
        for start, size in zip(self.starts, self.sizes, strict=True):
            own = self.bits[:, start : start + size]
            code = (code[:, :, None] * 2 + own[:, None, :]).reshape(len(own), -1)
        rows = np.take_along_axis(self.values, code, axis=1)
        return np.asarray(rows / rows.max(axis=1, keepdims=True))


def block_of(group: Group, average: float, *, grid: bool = False) -> Block:
    """The likelihood of a group's patterns.

    Parameters
    ----------
    average : float
        epsilon_average; the group's total is this times the attributes it reports.
    grid : bool
        Whether the law of one attribute's q is sought on a grid rather than among divisions of
        the total, as for the start of an iteration.
    """
    every = np.concatenate(group.bits, axis=1).astype(np.uint8)
    counts = group.counts.astype(float)
    if group.flips is None:
        noise = Noise.of(group, average, grid)
        return Block(group.axes, group.sizes, every, noise.values(), counts, noise)
    values = np.ones((len(group.counts), 1))
    for q, bits in zip(group.flips.T, group.bits, strict=True):
        # With the candidate's bit unset the pattern is q / (1 − q) times as likely.
        own = np.stack([q * ~bits.all(axis=1), (1 - q) * bits.any(axis=1)], axis=1)
        values = (values[:, :, None] * own[:, None, :]).reshape(len(values), -1)
    values /= values.max(axis=1, keepdims=True)
    return Block(group.axes, group.sizes, every, values, counts)


def expectation(
    blocks: Sequence[Block], p: Floats, counts: Sequence[Floats], held: Sequence[Floats] | None
) -> tuple[Floats, Floats, Floats | None]:
    """r = Σ_S Lᵀ(c / Lp) / n for several weightings of the records at once.

    Parameters
    ----------
    p : ndarray of shape (weightings, l_1, …)
        A distribution for each weighting.
    counts, held : sequences of ndarray of shape (patterns, weightings)
        One per block: what each distribution is fitted to, and what it is judged on.

    Returns
    -------
    r, mean log-likelihood of `counts`, and that of `held`
    """
    many, dims = p.shape[0], p.ndim - 1
    r = np.zeros_like(p)
    ll, judged = np.zeros(many), np.zeros(many)
    n, n_held = np.zeros(many), np.zeros(many)
    for k, block in enumerate(blocks):
        outside = tuple(a + 1 for a in range(dims) if a not in block.axes)
        flat = p.sum(axis=outside).reshape(many, -1)
        shape = [p.shape[a + 1] if a in block.axes else 1 for a in range(dims)]
        back, d = _back(block, flat, counts[k])
        r += back.reshape(many, *shape)
        logs = np.log(d)
        ll += np.einsum("pf,pf->f", counts[k], logs)
        n += counts[k].sum(axis=0)
        if held is not None:
            judged += np.einsum("pf,pf->f", held[k], logs)
            n_held += held[k].sum(axis=0)
    r /= n.reshape(-1, *([1] * dims))
    return r, ll / n, (judged / n_held if held is not None else None)


def _back(block: Block, flat: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Lᵀ(c / Lp) and Lp."""
    p = np.ascontiguousarray(flat.T)
    d = np.empty(counts.shape)
    total = np.zeros(p.shape)
    sizes, change, lock = np.array(block.sizes), block.change, Lock()

    def action(part: slice) -> None:
        back = np.zeros(p.shape)
        some = (block.bits[part], change[part], block.values[part], sizes, block.starts)
        kernels.count.expected_cells(*some, p, counts[part], back, d[part])
        with lock:
            np.add(total, back, out=total)

    over_ranges(action, len(counts), work=8 * block.values.size * p.shape[1])
    return total.T, d
