"""How likely every pattern is, and the expectation step over them.

A cell's likelihood depends only on which of its bits a pattern has set, so that of a pattern of k
attributes is 2^k numbers whatever the size of the table. With hidden budgets they depend only on
how many bits are set, so that many patterns have the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ... import kernels
from ...contract.sparse import as_words
from ...parallel import over_ranges
from ..allocation import Floats
from .groups import Group
from .hidden import GRID, GRID_ROUNDS, ROUNDS, atoms, mixing_weights, phi_of

_TOGETHER = 8  # numbers that the compiled step reads at once
_OPERATIONS = 32  # for each bit, roughly: a millisecond is worth a second thread


@dataclass(eq=False)
class Block:
    """The patterns of one group, sorted with the last axis varying least."""

    axes: tuple[int, ...]  # of the table
    sizes: tuple[int, ...]  # how many values they have
    bits: NDArray[np.uint8]  # patterns × bits of all axes
    law: NDArray[np.int32]  # which of `laws` each pattern has
    #: The likelihood where the candidate's bits are y, divided by the largest: different × 2 × …,
    #: by the bit of the first axis, and then by those of the others, the last axis the highest;
    #: these repeated until they are at least eight, as the compiled step takes them.
    laws: Floats
    counts: Floats  # how often each pattern came

    @property
    def cells(self) -> int:
        """How many cells the axes have together."""
        return int(np.prod(self.sizes))

    @cached_property
    def backwards(self) -> NDArray[np.int64]:
        """The sizes, of the last axis first."""
        return np.array(self.sizes[::-1])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the bits of each axis begin."""
        return np.cumsum([0, *self.sizes[:-1]])

    @cached_property
    def change(self) -> NDArray[np.int64]:
        """The axis up to which each pattern differs from the one before, the last being 0."""
        change = np.full(len(self.bits), len(self.sizes), np.int64)
        for a, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            own = self.bits[:, start : start + size]
            change[1:][(own[1:] != own[:-1]).any(axis=1)] = len(self.sizes) - 1 - a
        return change

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """Each four bits of an axis as one number, the first bit lowest; the last axis first."""
        codes = []
        for start, size in zip(self.starts[::-1], self.sizes[::-1], strict=True):
            own = np.zeros((len(self.bits), -(-size // 4) * 4), np.uint8)
            own[:, :size] = self.bits[:, start : start + size]
            codes.append(own[:, ::4] | own[:, 1::4] << 1 | own[:, 2::4] << 2 | own[:, 3::4] << 3)
        return np.ascontiguousarray(np.concatenate(codes, axis=1))

    def only(self, which: NDArray[np.intp], counts: Floats) -> Block:
        """Some of the patterns, with other counts for all of them given."""
        return replace(self, bits=self.bits[which], law=self.law[which], counts=counts[which])

    def rows(self) -> Floats:
        """The likelihood of every pattern under every cell, each row divided by its maximum."""
        code = np.zeros((len(self.bits), 1), np.int64)
        for a, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            own = self.bits[:, start : start + size].astype(np.int64)
            # The first axis chooses the half; of the others the second is the lowest bit.
            own = own * self.laws.shape[2] if a == 0 else own << (a - 1)
            code = (code[:, :, None] + own[:, None, :]).reshape(len(own), -1)
        laws = self.laws.reshape(len(self.laws), -1)
        rows = np.take_along_axis(laws[self.law], code, axis=1)
        return np.asarray(rows / rows.max(axis=1, keepdims=True))


def block_of(group: Group, *, grid: bool = False) -> Block:
    """The likelihood of a group's patterns.

    With `grid` the law of one attribute's q is sought on a grid rather than among divisions of the
    total, as for the start of an iteration.
    """
    laws, law = _public(group) if group.flips is not None else _hidden(group, grid)
    laws = laws.reshape(len(laws), 2, -1)
    laws /= laws.max(axis=(1, 2), keepdims=True)
    laws = np.tile(laws, max(1, _TOGETHER // laws.shape[2]))
    every = np.concatenate(group.bits, axis=1).astype(np.uint8)
    return Block(group.axes, group.sizes, every, law, laws, group.counts.astype(float))


def _public(group: Group) -> tuple[Floats, NDArray[np.int32]]:
    """Every pattern has the law of its own budgets."""
    laws = np.ones((len(group.counts), 1))
    axes = list(zip(np.asarray(group.flips).T, group.bits, strict=True))
    for q, bits in [axes[0], *axes[:0:-1]]:
        # With the candidate's bit unset the pattern is q / (1 − q) times as likely.
        own = np.stack([q * ~bits.all(axis=1), (1 - q) * bits.any(axis=1)], axis=1)
        laws = (laws[:, :, None] * own[:, None, :]).reshape(len(laws), -1)
    return laws, np.arange(len(laws), dtype=np.int32)


def _hidden(group: Group, grid: bool) -> tuple[Floats, NDArray[np.int32]]:
    """φ(n − y) for every combination y of the candidate's bits; 0 where none can be."""
    if grid and group.reported > 1:
        q = GRID[:, None]
    else:
        q = atoms(group.reported, len(group.axes), group.reported * group.average)
    sizes = np.array(group.sizes)
    # One number for the numbers of ones on all axes: sorting these is quick.
    places, where = np.unique(_ones_code(group), return_inverse=True)
    different = np.stack(np.unravel_index(places, sizes + 1), axis=1)
    many = np.bincount(where, weights=group.counts).astype(float)
    rounds = GRID_ROUNDS if grid else ROUNDS
    weights = mixing_weights(q, group.sizes, different, many, rounds)
    phi = phi_of(q, weights, group.sizes)
    laws = np.zeros((len(different), 1 << len(group.axes)))
    for code, y in enumerate(product((0, 1), repeat=len(group.axes))):
        left = different - np.array([y[0], *y[:0:-1]])
        can = ((left >= 0) & (left < sizes)).all(axis=1)
        laws[can, code] = phi[tuple(left[can].T)]
    return laws, where.astype(np.int32)


def _ones_code(group: Group) -> NDArray[np.int64]:
    """How many bits are set on each axis, as one number that sorts like them."""
    code = np.zeros(len(group.counts), np.int64)
    for bits in group.bits:
        code = code * (bits.shape[1] + 1) + np.count_nonzero(bits, axis=1)
    return code


class Expectation:
    """r = Σ_S Lᵀ(c / Lp) / n of some records, to be taken at many distributions p.

    For several weightings of the records at once: `counts`, which each distribution is fitted to,
    and `held`, on which it is judged, are patterns × weightings for every block.

    Parameters
    ----------
    sizes : sequence of int
        How many values the attributes of the table have.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        sizes: Sequence[int],
        counts: Sequence[Floats],
        held: Sequence[Floats] | None = None,
    ) -> None:
        self._blocks, self._held = blocks, held
        every = range(len(sizes))
        self._outside = [tuple(a + 1 for a in every if a not in b.axes) for b in blocks]
        self._shapes = [[sizes[a] if a in b.axes else 1 for a in every] for b in blocks]
        self._own = [np.ascontiguousarray(c.T) for c in counts]
        n = np.sum([own.sum(axis=1) for own in self._own], axis=0)
        self._n, self._each_n = n, n.reshape(-1, *([1] * len(sizes)))
        self._n_held = np.sum([h.sum(axis=0) for h in held or ()], axis=0)

    def __call__(self, p: Floats) -> tuple[Floats, Floats, Floats | None]:
        """The step r and the mean log-likelihoods of counts and held; p is weightings × l_1 × …."""
        many, r = len(p), np.zeros_like(p)
        ll, judged = np.zeros(many), np.zeros(many)
        for k, (block, outside, own) in enumerate(
            zip(self._blocks, self._outside, self._own, strict=True)
        ):
            back, logs = _back(block, p.sum(axis=outside) if outside else p, own)
            r += back.reshape(many, *self._shapes[k])
            ll += np.einsum("fp,fp->f", own, logs)
            if self._held is not None:
                judged += np.einsum("pf,fp->f", self._held[k], logs)
        r /= self._each_n
        return r, ll / self._n, None if self._held is None else judged / self._n_held


def _back(block: Block, p: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Lᵀ(c / Lp) and log Lp, fits × cells and fits × patterns."""
    many, order = len(p), (0, *range(len(block.sizes), 0, -1))
    cells = np.ascontiguousarray(p.transpose(order)).reshape(many, -1)
    logs = np.empty(counts.shape)
    about = block.codes, block.change, block.law, block.laws, block.backwards, cells, counts

    def action(part: slice) -> Floats:
        back = np.zeros(cells.shape)
        kernels.count.expected_cells(*about, back, logs, part.start, part.stop)
        own = logs[:, part]
        np.log(own, out=own)
        return back

    whole = kernels.count.replaced("expected_cells")  # another engine divides its work itself
    work = 0 if whole else _OPERATIONS * block.bits.size * many
    total = reduce(np.add, over_ranges(action, counts.shape[1], work=work))
    back = total.reshape(many, *block.sizes[::-1]).transpose(order)
    return np.ascontiguousarray(back), logs


# --- the patterns of some axes only, counted from whole patterns ----------------------------------


@dataclass(frozen=True, eq=False)
class View:
    """The likelihood of some axes.

    Whatever is fitted to one attribute or to a pair is fitted to the same records, and to the same
    folds of them, as what is fitted to all.
    """

    blocks: list[Block]  # their axes are counted from 0 within the view
    #: For each block, pairs (group, place of each of the group's patterns in the block).
    places: list[list[tuple[int, NDArray[np.intp]]]]

    @property
    def records(self) -> int:
        """How many records report any of the axes."""
        return int(sum(block.counts.sum() for block in self.blocks))

    def counts(self, columns: Sequence[Floats]) -> list[Floats]:
        """Counts of whole patterns, patterns × columns for each group, as those of the view."""
        every = []
        for block, places in zip(self.blocks, self.places, strict=True):
            own = np.zeros((len(block.counts), columns[0].shape[1]))
            for group, place in places:
                for k, column in enumerate(columns[group].T):
                    own[:, k] += np.bincount(place, weights=column, minlength=len(own))
            every.append(own)
        return every


def view(groups: Sequence[Group], axes: tuple[int, ...]) -> View:
    """The likelihood of some axes from groups of whole patterns; see `block_of`."""
    alike: dict[tuple[tuple[int, ...], int, float], list[int]] = {}
    for k, group in enumerate(groups):
        own = tuple(a for a in axes if a in group.axes)
        if own:
            alike.setdefault((own, group.reported, group.average), []).append(k)
    blocks, places = [], []
    for (own, reported, average), members in sorted(alike.items()):
        some = [groups[k].only([groups[k].axes.index(a) for a in own], own) for k in members]
        first, place = _different(np.concatenate([_packed(group) for group in some]))
        counts = np.concatenate([group.counts for group in some])
        flips = None
        if some[0].flips is not None:
            flips = np.concatenate([g.flips for g in some if g.flips is not None])[first]
        merged = Group(
            tuple(axes.index(a) for a in own),
            reported,
            tuple(np.concatenate([g.bits[a] for g in some])[first] for a in range(len(own))),
            np.bincount(place, weights=counts).astype(np.int64),
            average,
            flips,
        )
        blocks.append(block_of(merged, grid=len(axes) == 1))
        parts = np.split(place, np.cumsum([len(group.counts) for group in some])[:-1])
        places.append(list(zip(members, parts, strict=True)))
    return View(blocks, places)


def _packed(group: Group) -> NDArray[np.uint8]:
    """A row of bytes for each pattern, the last axis first, so that it varies least."""
    rows = np.packbits(np.concatenate(group.bits[::-1], axis=1), axis=1)
    if group.flips is None:
        return rows
    return np.concatenate([rows, group.flips.view(np.uint8)], axis=1)


def _different(rows: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each different row first is, and which of them every row is."""
    words = as_words(rows)
    keys = words[:, 0] if words.shape[1] == 1 else words
    axis = None if words.shape[1] == 1 else 0
    _, first, place = np.unique(keys, axis=axis, return_index=True, return_inverse=True)
    return first, place.ravel()
