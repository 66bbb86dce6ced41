"""What identifies a column of answers: keyed digests of the answers, not of a file's bytes.

The same answers are recognised in another file, gzipped, as Parquet, with other columns beside
them or under another name of their column. Everything here is keyed with 32 bytes that stay in the
ledger's folder: without them a digest reveals nothing about the answers, however few there are.

**Equal by chance.** Other people's answers may be equal as well. Under any distribution of
independent answers a sequence x of n answers with c_v answers v has probability at most Π
(c_v/n)^{c_v}, so that −Σ c_v log₂(c_v/n) bits are what a coincidence costs at least. Answers that
are sorted are not independent: then only the counts must be equal, which are log₂(n! / Π c_v!) bits
less. So the order adds at most what runs of equal answers can have chosen, a place and a value for
each run beyond one for every value; and the runs, each a value and a length, must have as many bits
as well. From `CERTAIN` bits on, equal answers are taken to be the same people's. Below, giving the
first person's report for the second would show that they answer alike, so that only the same file
counts as the same people.

**Rows added or changed.** The digest is taken at every power of two of rows as well, and at the
lengths of all earlier releases, so that two versions of a file are known by the people that they
begin with. Such a file is refused, whether it is sorted or not.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..domain.columns import as_column
from ..domain.options import Options
from ..domain.text import Text

if TYPE_CHECKING:
    from ..domain.values import Domain

CERTAIN = 40.0  # bits
_MISSING, _UNKNOWN = 0, 1
_MOST_TABLE = 1 << 16


@dataclass(frozen=True)
class Content:
    """What was read: digests in hexadecimal digits.

    Attributes
    ----------
    rows : int
        How many people.
    answers : str
        Of all their answers.
    choices : str
        Of their levels and rates, or of how they divide epsilon.
    columns : mapping of str to str
        Of each column of answers.
    prefixes : mapping of int to str
        Of the first people's answers, where a coincidence is out of the question unless they are
        sorted.
    certain : bool
        Whether all answers are too many to be equal by chance.
    """

    rows: int
    answers: str
    choices: str
    columns: Mapping[str, str]
    prefixes: Mapping[int, str]
    certain: bool


@dataclass
class Fingerprint:
    """Takes answers chunk by chunk; how they are cut into chunks does not matter.

    Parameters
    ----------
    key : bytes
        Of the ledger.
    names : sequence of str
        The columns of answers.
    stops : iterable of int
        Numbers of rows at which earlier releases ended.
    """

    key: bytes
    names: Sequence[str]
    stops: Iterable[int] = ()
    rows: int = 0
    _bits: float = 0.0
    _bits_of_runs: float = 0.0
    _bits_of_counts: float = 0.0  # and of what the order adds to them
    _counts: Counter[int] = field(default_factory=Counter)
    _runs: Counter[tuple[int, int]] = field(default_factory=Counter)  # by value and length
    _last: tuple[int, int] = (0, 0)  # value and length of the run that may go on
    _prefixes: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ends = {int(stop) for stop in self.stops}
        self._all = self._keyed_hash("answers")
        self._choices = self._keyed_hash("choices")
        self._each = {name: self._keyed_hash("column") for name in self.names}
        mixing = hashlib.shake_256(self.key).digest(8 * len(self.names))
        self._mixing = np.frombuffer(mixing, np.uint64) | np.uint64(1)

    def _keyed_hash(self, purpose: str) -> hmac.HMAC:
        return hmac.new(self.key, purpose.encode() + b"\0", hashlib.sha256)

    def tags(self, domain: Domain, column: Any) -> NDArray[np.uint64]:
        """Eight bytes for each cell, which its value alone decides; also for cells not allowed."""
        if isinstance(domain, Options):
            return _set_tags(domain, column)
        cells = as_column(column)
        if domain.edges is not None and len(domain.edges) == 2:  # a range
            return _number_tags(cells.numbers())
        values: Sequence[Any] = cells.distinct() if isinstance(domain, Text) else domain.values
        if domain.edges is not None:
            codes = domain.bin_codes(cells.numbers())
        else:
            codes, _ = cells.positions(values)
        if isinstance(values, range):
            return (codes + 2).astype(np.uint64)
        where: NDArray[Any]
        if len(values) <= _MOST_TABLE:
            used, where = np.arange(-2, len(values)), codes + 2
        else:
            used, where = np.unique(codes, return_inverse=True)
        return np.array([self._tag(values, code) for code in used.tolist()], np.uint64)[where]

    def _tag(self, values: Sequence[Any], code: int) -> int:
        if code < 0:
            return _MISSING if code == -1 else _UNKNOWN
        value = repr(values[code]).encode()
        digest = hashlib.blake2b(value, key=self.key, digest_size=8).digest()
        return int.from_bytes(digest, "little")

    def add(self, tags: Sequence[NDArray[np.uint64]], choices: Sequence[NDArray[Any]] = ()) -> None:
        """Some more people: the tags of each column, and what they chose."""
        matrix = tags[0][:, None] if len(tags) == 1 else np.column_stack(tags)
        for name, column in zip(self.names, tags, strict=True):
            self._each[name].update(np.ascontiguousarray(column).data)
        if choices:
            self._choices.update(np.ascontiguousarray(np.column_stack(choices)).data)
        start, n = 0, len(matrix)
        while start < n:
            end = min(n, self._next_stop() - self.rows + start)
            part = np.ascontiguousarray(matrix[start:end])
            self._all.update(part.data)
            self.rows += end - start
            self._count(part)
            if self.rows in self._ends or self.rows & (self.rows - 1) == 0:
                self._note()
            start = end

    def _next_stop(self) -> int:
        later = [stop for stop in self._ends if stop > self.rows]
        return min([1 << self.rows.bit_length(), *later])

    def _count(self, part: NDArray[np.uint64]) -> None:
        if self._certain:  # more people never make it less
            return
        mixed = (part * self._mixing).sum(axis=1, dtype=np.uint64)
        values, counts = np.unique(mixed, return_counts=True)
        self._counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        self._count_runs(mixed)
        self._bits, self._bits_of_runs = _bits_of(self._counts), _bits_of(self._runs)
        # Of sorted answers each value has one run.
        more_runs = self._runs.total() + 1 - len(self._counts)
        orders = _bits_of_orders(self._counts)
        order = min(orders, more_runs * math.log2(self._counts.total() * len(self._counts)))
        self._bits_of_counts = self._bits - orders + order

    def _count_runs(self, mixed: NDArray[np.uint64]) -> None:
        starts = np.flatnonzero(np.append(True, mixed[1:] != mixed[:-1]))
        lengths = np.diff(np.append(starts, mixed.size))
        runs = list(zip(mixed[starts].tolist(), lengths.tolist(), strict=True))
        value, length = self._last
        if value == runs[0][0]:
            runs[0] = value, runs[0][1] + length
        elif length:
            runs.insert(0, self._last)
        *ended, self._last = runs
        self._runs.update(ended)

    def _note(self) -> None:
        if self._bits >= CERTAIN:
            self._prefixes[self.rows] = self._all.hexdigest()

    def content(self) -> Content:
        """The fingerprint of everything added."""
        self._note()
        return Content(
            self.rows,
            self._all.hexdigest(),
            self._choices.hexdigest(),
            {name: digest.hexdigest() for name, digest in self._each.items()},
            dict(self._prefixes),
            self._certain,
        )

    @property
    def _certain(self) -> bool:
        return min(self._bits, self._bits_of_runs, self._bits_of_counts) >= CERTAIN


def _bits_of(counts: Counter[Any]) -> float:
    """−Σ c log₂(c/n)."""
    each = np.array(list(counts.values()), float)
    return float(-(each * np.log2(each / each.sum())).sum())


def _bits_of_orders(counts: Counter[Any]) -> float:
    """log₂(n! / Π c!): in how many orders answers with these counts can stand."""
    orders = math.lgamma(counts.total() + 1) - sum(math.lgamma(c + 1) for c in counts.values())
    return orders / math.log(2)


def _set_tags(domain: Options, column: Any) -> NDArray[np.uint64]:
    """Each set of options as one number; missing answers have a number of their own."""
    sets, absent = domain.words(column)
    return np.where(absent, np.uint64(1) << np.uint64(63), sets)


def _number_tags(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The bits of each number; all zeros and all missing numbers are alike."""
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return np.ascontiguousarray(plain, np.float64).view(np.uint64)
