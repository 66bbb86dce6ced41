"""A party's own side: counts of its rows, sampled in secret where a method asks, and its noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..domain.columns import Coded
from ..domain.tables import codes_of, columns_of
from ..domain.values import Attribute
from ..errors import AnswerError
from ..noise.chances import flips, rational
from ..randomness import Source
from .releases import Release, summed


@dataclass(frozen=True, eq=False)
class Rows:
    """A party's rows as positions in the public domains."""

    codes: NDArray[np.int64]  # the positions
    names: tuple[str, ...]  # the attributes, in the order of the columns
    sizes: tuple[int, ...]  # of their domains

    @classmethod
    def of(cls, table: Any, attributes: Sequence[Attribute], *, may_be_empty: bool = False) -> Rows:
        """Check a table against public attributes; the one place where a party's data are read.

        Where a party hides how many rows it has, a table without any is one like all others: to
        stay away would show that its last record is gone. AnswerError for a table without rows or
        columns, or with values outside the domains.
        """
        columns = columns_of(table, [attribute.name for attribute in attributes])
        rows = len(columns[0])
        if rows == 0 and not may_be_empty:
            raise AnswerError("the table has no rows; a party without data does not take part")
        sent = np.ones((rows, len(columns)), bool)
        codes = codes_of(attributes, [_plain(column) for column in columns], sent, 0)
        names = tuple(attribute.name for attribute in attributes)
        return cls(codes, names, tuple(attribute.size for attribute in attributes))

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The cell of every row in the marginal of some attributes, in row-major order."""
        places = [self.names.index(name) for name in names]
        shape = tuple(self.sizes[place] for place in places)
        columns = tuple(self.codes[:, place] for place in places)
        return np.asarray(np.ravel_multi_index(columns, shape), np.int64)


def counts(
    cells: NDArray[np.int64], shape: Sequence[int], release: Release, party: str, source: Source
) -> NDArray[np.int64]:
    """What a party adds to one sum before noise: w_k times its counts of the release's axes."""
    weight = release.weights.get(party, 0)
    if not weight:
        return np.zeros(release.cells, np.int64)
    kept = None if release.kept is None else release.kept.get(party)
    if kept is not None and kept < 1:
        # Who is in the sample stays with the party, and so does the size of the sample.
        cells = cells[flips([rational(kept)], np.zeros(cells.size, np.intp), source)]
    table = kernels.count.histogram(cells, int(np.prod(shape))).reshape(shape)
    return np.asarray(summed(table, release.axes) * weight, np.int64)


def noise_shares(release: Release, party: str, source: Source) -> NDArray[np.int64]:
    """A party's share of the noise in one sum; none where the release takes none from it."""
    if party not in release.noise_from:
        return np.zeros(release.cells, np.int64)
    return release.share_law.draw(release.cells, source)


def _plain(column: Any) -> Any:
    """A column as it can be encoded whole."""
    if isinstance(column, Coded):
        return column
    return column.to_numpy() if hasattr(column, "iloc") else column
