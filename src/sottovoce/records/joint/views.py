"""The patterns of some axes only, counted from whole patterns.

Whatever is fitted to one attribute or to a pair is fitted to the same records, and to the same
folds of them, as what is fitted to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...contract.sparse import as_words
from .blocks import Block, block_of
from .groups import Group

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """The likelihood of some axes."""

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
