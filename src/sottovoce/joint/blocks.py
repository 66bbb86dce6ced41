"""Likelihood rows of every pattern, and the expectation step over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..parallel import over_ranges
from .groups import Group
from .hidden import GRID, GRID_ROUNDS, ROUNDS, atoms, mixing_weights, phi_of

Floats = NDArray[np.float64]
_SMALL = 1 << 20  # cells up to which rows are kept in double precision
_KEPT = 400 << 20  # bytes of rows that are kept; what is more is made again at every step
_CHUNK = 1 << 19  # likelihoods added up in the rows' own precision


@dataclass(eq=False)
class Block:
    """The rows of one group: for each pattern, how likely it is under each cell of its axes."""

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    places: NDArray[np.int32]
    values: Floats
    counts: Floats
    dtype: Any = np.float64
    kept: NDArray[Any] | None = None

    @property
    def cells(self) -> int:
        return int(np.prod(self.sizes))

    @property
    def size(self) -> int:
        return len(self.counts) * self.cells

    def rows(self, part: slice) -> NDArray[Any]:
        """Likelihoods of some patterns, each row divided by its maximum."""
        if self.kept is not None:
            return self.kept[part]
        return self._made(part)

    def _made(self, part: slice) -> NDArray[Any]:
        raise NotImplementedError

    def parts(self, within: slice) -> Iterator[slice]:
        """Patterns a few at a time, so that rows which are not kept take little room."""
        step = max(1, _CHUNK // self.cells)
        for start in range(within.start, within.stop, step):
            yield slice(start, min(start + step, within.stop))

    def only(self, which: NDArray[np.intp], counts: Floats) -> Block:
        """Some of the patterns, with other counts for all of them given."""
        places = self.places[which] if self.places.size else self.places
        values = self.values[which] if self.values.ndim == 2 else self.values
        return replace(self, places=places, values=values, counts=counts[which], kept=None)

    def keep(self) -> None:
        """Hold all rows in memory."""
        self.kept = self._made(slice(0, len(self.counts)))


@dataclass(eq=False)
class HiddenBlock(Block):
    """Rows from φ: `places[a]` is n_a − y_a[v] for each pattern and value, times φ's stride."""

    def _made(self, part: slice) -> NDArray[Any]:
        place: Any = 0
        start = 0
        for size in self.sizes:
            own = self.places[part, start : start + size]
            place = (
                own if start == 0 else (place[:, :, None] + own[:, None, :]).reshape(len(own), -1)
            )
            start += size
        rows = self.values.astype(self.dtype)[place]
        rows /= rows.max(axis=1, keepdims=True)
        return np.asarray(rows)


@dataclass(eq=False)
class PublicBlock(Block):
    """Rows from known budgets: Π_a (1 − q_a where the bit is set, else q_a)."""

    def _made(self, part: slice) -> NDArray[Any]:
        rows: Any = None
        start = 0
        for size in self.sizes:
            own = self.values[part, start : start + size].astype(self.dtype)
            rows = (
                own if rows is None else (rows[:, :, None] * own[:, None, :]).reshape(len(own), -1)
            )
            start += size
        rows /= rows.max(axis=1, keepdims=True)
        return np.asarray(rows)


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
    counts = group.counts.astype(float)
    if group.flips is not None:
        likely = [
            np.where(bits, 1 - q[:, None], q[:, None])
            for bits, q in zip(group.bits, group.flips.T, strict=True)
        ]
        empty = np.zeros((0, 0), np.int32)
        return PublicBlock(group.axes, group.sizes, empty, np.concatenate(likely, axis=1), counts)
    q = GRID[:, None] if grid else atoms(group.reported, len(group.axes), group.reported * average)
    if grid and group.reported == 1:
        q = atoms(1, 1, average)
    ones = group.ones
    different, where = np.unique(ones, axis=0, return_inverse=True)
    many = np.bincount(where.ravel(), weights=counts).astype(float)
    rounds = GRID_ROUNDS if grid else ROUNDS
    weights = mixing_weights(q, group.sizes, different, many, rounds)
    phi = phi_of(q, weights, group.sizes)
    strides = np.cumprod([1, *group.sizes[::-1]])[:-1][::-1]
    places = [
        (ones[:, a : a + 1] - bits) * stride
        for a, (bits, stride) in enumerate(zip(group.bits, strides, strict=True))
    ]
    table = np.concatenate(places, axis=1).astype(np.int32)
    return HiddenBlock(group.axes, group.sizes, table, phi.ravel(), counts)


def prepared(blocks: Sequence[Block]) -> list[Block]:
    """Choose the precision of all rows, and hold as many in memory as there is room for."""
    total = sum(block.size for block in blocks)
    room = _KEPT
    for block in sorted(blocks, key=lambda b: b.size):
        block.dtype = np.float64 if total <= _SMALL else np.float32
        cost = block.size * np.dtype(block.dtype).itemsize
        if cost <= room:
            block.keep()
            room -= cost
    return list(blocks)


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
    densities = [np.empty((len(block.counts), many)) for block in blocks]
    for block, weights, d in zip(blocks, counts, densities, strict=True):
        outside = tuple(a + 1 for a in range(dims) if a not in block.axes)
        flat = p.sum(axis=outside).reshape(many, -1)
        shape = [p.shape[a + 1] if a in block.axes else 1 for a in range(dims)]
        r += _back(block, flat, weights, d).reshape(many, *shape)
    for k, d in enumerate(densities):
        logs = np.log(d)
        ll += np.einsum("pf,pf->f", counts[k], logs)
        n += counts[k].sum(axis=0)
        if held is not None:
            judged += np.einsum("pf,pf->f", held[k], logs)
            n_held += held[k].sum(axis=0)
    r /= n.reshape(-1, *([1] * dims))
    return r, ll / n, (judged / n_held if held is not None else None)


def _back(block: Block, flat: Floats, weights: Floats, d: Floats) -> Floats:
    """Lᵀ(c / Lp), adding up in double precision what each part has in the rows' own."""
    own = np.ascontiguousarray(flat, block.dtype)
    total = np.zeros(flat.shape)
    lock = Lock()

    def action(part: slice) -> None:
        for some in block.parts(part):
            back = np.zeros(own.shape, own.dtype)
            kernels.expected_cells(block.rows(some), own, weights[some], back, d[some])
            with lock:
                np.add(total, back, out=total)

    over_ranges(action, len(weights), work=2 * block.size * len(flat))
    return total
