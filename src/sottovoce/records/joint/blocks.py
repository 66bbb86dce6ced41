"""How likely every pattern is, and the expectation step over them.

A cell's likelihood depends only on which of its bits a pattern has set, so that of a pattern of k
attributes is 2^k numbers whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...parallel import over_ranges
from .groups import Group
from .hidden import GRID, GRID_ROUNDS, ROUNDS, atoms, mixing_weights, phi_of

Floats = NDArray[np.float64]


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
    """

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    bits: NDArray[np.uint8]
    values: Floats
    counts: Floats

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
        return replace(self, bits=self.bits[which], values=self.values[which], counts=counts[which])

    def rows(self) -> Floats:
        """The likelihood of every pattern under every cell, each row divided by its maximum."""
        code = np.zeros((len(self.bits), 1), np.int64)
        for start, size in zip(self.starts, self.sizes, strict=True):
            own = self.bits[:, start : start + size]
            code = (code[:, :, None] * 2 + own[:, None, :]).reshape(len(own), -1)
        rows = np.take_along_axis(self.values, code, axis=1)
        return np.asarray(rows / rows.max(axis=1, keepdims=True))


def block_of(group: Group, *, grid: bool = False) -> Block:
    """The likelihood of a group's patterns.

    Parameters
    ----------
    grid : bool
        Whether the law of one attribute's q is sought on a grid rather than among divisions of
        the total, as for the start of an iteration.
    """
    if group.flips is not None:
        values = np.ones((len(group.counts), 1))
        for q, bits in zip(group.flips.T, group.bits, strict=True):
            # With the candidate's bit unset the pattern is q / (1 − q) times as likely.
            own = np.stack([q * ~bits.all(axis=1), (1 - q) * bits.any(axis=1)], axis=1)
            values = (values[:, :, None] * own[:, None, :]).reshape(len(values), -1)
    else:
        values = _hidden(group, grid)
    values /= values.max(axis=1, keepdims=True)
    every = np.concatenate(group.bits, axis=1).astype(np.uint8)
    return Block(group.axes, group.sizes, every, values, group.counts.astype(float))


def _hidden(group: Group, grid: bool) -> Floats:
    """φ(n − y) for every combination y of the candidate's bits; 0 where none can be."""
    if grid and group.reported > 1:
        q = GRID[:, None]
    else:
        q = atoms(group.reported, len(group.axes), group.reported * group.average)
    ones = group.ones
    different, where = np.unique(ones, axis=0, return_inverse=True)
    many = np.bincount(where.ravel(), weights=group.counts).astype(float)
    rounds = GRID_ROUNDS if grid else ROUNDS
    weights = mixing_weights(q, group.sizes, different, many, rounds)
    phi = phi_of(q, weights, group.sizes)
    found = np.zeros((len(different), 1 << len(group.axes)))
    for code, y in enumerate(product((0, 1), repeat=len(group.axes))):
        left = different - np.array(y)
        can = ((left >= 0) & (left < np.array(group.sizes))).all(axis=1)
        found[can, code] = phi[tuple(left[can].T)]
    return np.asarray(found[where.ravel()])


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
    if kernels.count.replaced("expected_cells"):
        # Whole, so that another engine can keep its copy of the patterns.
        whole = (block.bits, change, block.values, sizes, block.starts)
        kernels.count.expected_cells(*whole, p, counts, total, d)
        return total.T, d

    def action(part: slice) -> None:
        back = np.zeros(p.shape)
        some = (block.bits[part], change[part], block.values[part], sizes, block.starts)
        kernels.count.expected_cells(*some, p, counts[part], back, d[part])
        with lock:
            np.add(total, back, out=total)

    over_ranges(action, len(counts), work=8 * block.values.size * p.shape[1])
    return total.T, d
