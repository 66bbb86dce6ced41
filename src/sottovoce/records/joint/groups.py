"""Records grouped by which requested attributes they report, equal ones counted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...contract.collection import Columns
from ...contract.sparse import Sparse, count_rows
from ...domain.columns import first_few
from ...errors import EstimateError, ParameterError
from ...estimate.cells import Repetitions, product_labels, spread_of
from ...estimate.intervals import Floats
from ...estimate.table import Table
from ..allocation import STEPS, UNREPORTED, flip
from ..packing import levels_of

if TYPE_CHECKING:
    from ..records import Records

MOST_CELLS = 10**6


@dataclass(frozen=True, eq=False)
class Content:
    """Records and an aggregate of their reports; equal where both have the same content.

    An aggregate is frozen data and caches nothing. So that a second question about the same reports
    is quick, a few results are kept by the functions that compute them (`functools.lru_cache`),
    with a digest of the reports as the key.
    """

    records: Records
    aggregate: Sparse

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that identify the reports and the design."""
        content = hashlib.sha256(self.records.digest)
        content.update(self.aggregate.rows.tobytes())
        content.update(self.aggregate.counts.tobytes())
        return content.digest()

    @property
    def seed(self) -> int:
        """Folds and repetitions repeat with the same reports; they need no secrecy."""
        return int.from_bytes(self.digest[:16], "little")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, eq=False)
class Group:
    """Records that report the same subset of the requested attributes."""

    axes: tuple[int, ...]  # positions of the reported attributes among the asked ones
    reported: int  # attributes that they report in all; with it goes the law of hidden budgets
    bits: tuple[NDArray[np.bool_], ...]  # for each of `axes`, patterns × values
    counts: NDArray[np.int64]  # how often each pattern came
    average: float  # epsilon_average of their level; a person's total is this times `reported`
    flips: Floats | None = None  # with public budgets: q of each pattern and axis

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(bits.shape[1] for bits in self.bits)

    def only(self, places: Sequence[int], axes: tuple[int, ...]) -> Group:
        """Some of its attributes, under these axes."""
        bits = tuple(self.bits[k] for k in places)
        flips = None if self.flips is None else np.ascontiguousarray(self.flips[:, list(places)])
        return replace(self, axes=axes, bits=bits, flips=flips)


def positions(records: Records, attributes: Sequence[str]) -> list[int]:
    """Positions of the requested attributes in the schema."""
    if isinstance(attributes, str) or not np.iterable(attributes) or not len(attributes):
        raise ParameterError(
            f"attributes are {attributes!r}; give a list of names, such as [{records.names[0]!r}]"
        )
    places = []
    for name in attributes:
        if name not in records.names:
            raise ParameterError(
                f"there is no attribute {name!r}; choose from {first_few(records.names)}"
            )
        places.append(records.names.index(name))
    if len(set(places)) != len(places):
        raise ParameterError(f"attributes {list(attributes)} name one twice")
    return places


def groups_of(records: Records, aggregate: Sparse, asked: Sequence[int]) -> list[Group]:
    """The groups for the requested attributes; records that report none of them are left out."""
    if aggregate.n == 0:
        raise EstimateError("there are no records, so there is nothing to estimate")
    columns = records.columns_of(aggregate.rows)
    sent = np.unpackbits(columns["reported"], axis=1, bitorder="little")[:, : len(records.schema)]
    many = sent.sum(axis=1, dtype=np.int64)
    here = sent[:, asked]
    levels = len(records.averages)
    keys = (here @ (1 << np.arange(len(asked))) * 1024 + many) * levels
    keys += levels_of(columns)
    groups = []
    for key in np.unique(keys[here.any(axis=1)]).tolist():
        rows = np.flatnonzero(keys == key)
        axes = tuple(np.flatnonzero(here[rows[0]]).tolist())
        some = {name: column[rows] for name, column in columns.items()}
        bits, counts, flips = _patterns(
            records, some, aggregate.counts[rows], [asked[k] for k in axes]
        )
        average = float(records.averages[key % levels])
        groups.append(Group(axes, int(many[rows[0]]), bits, counts, average, flips))
    for k, position in enumerate(asked):
        if not any(k in group.axes for group in groups):
            raise EstimateError(f"nobody reported {records.names[position]!r}")
    return groups


def _patterns(
    records: Records, columns: Columns, counts: NDArray[np.int64], where: Sequence[int]
) -> tuple[tuple[NDArray[np.bool_], ...], NDArray[np.int64], Floats | None]:
    """Equal patterns of some attributes merged, sorted by the last of them first."""
    bits = np.unpackbits(columns["bits"], axis=1, bitorder="little")
    kept = [bits[:, records.starts[a] : records.starts[a + 1]] for a in reversed(where)]
    del bits
    packed = np.packbits(np.concatenate(kept, axis=1), axis=1)
    if records.public:
        extra = np.ascontiguousarray(columns["steps"][:, list(where)].astype("<u2")).view(np.uint8)
        packed = np.concatenate([packed, extra], axis=1)
    unique, numbers = count_rows(packed, counts)
    edges = np.cumsum([0, *(records.sizes[a] for a in reversed(where))])
    width = int(edges[-1])
    flat = np.unpackbits(unique[:, : -(-width // 8)], axis=1)[:, :width].astype(bool)
    split = tuple(flat[:, a:b] for a, b in pairwise(edges))[::-1]
    flips = None
    if records.public:
        flips = flips_of(np.ascontiguousarray(unique[:, -(-width // 8) :]).view("<u2"))
    return split, numbers, flips


def flips_of(steps: NDArray[np.uint16]) -> Floats:
    """q of public budgets."""
    return flip(np.where(steps == UNREPORTED, 0, steps) / STEPS)


def complete_groups(records: Records, aggregate: Sparse, asked: Sequence[int]) -> list[Group]:
    """Those of records that report all these attributes."""
    groups = [g for g in groups_of(records, aggregate, asked) if len(g.axes) == len(asked)]
    if not groups:
        raise EstimateError(
            "no record reports all of these attributes together; use 'model-average'"
        )
    return groups


def table_of(
    records: Records,
    aggregate: Sparse,
    asked: Sequence[int],
    method: str,
    values: Floats,
    again: Repetitions,
    **about: Any,
) -> Table:
    """A table of some attributes, with errors from repetitions."""
    attributes = tuple(records.schema.attributes[a] for a in asked)
    return Table(
        values=values,
        spread=spread_of(values, again),
        n=aggregate.n,
        labels=product_labels(attributes),
        name=" × ".join(attribute.name for attribute in attributes),
        guarantee=records.guarantee,
        method=method,
        biased=method != "kronecker",
        error_from="bootstrap",
        attributes=attributes,
        again=again,
        **about,
    )
