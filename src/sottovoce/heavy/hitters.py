"""Frequent texts that nobody declared, by a prefix tree over a pure mechanism.

Report      a depth k of the K depths, drawn uniformly by the person's own device, and the first
            L_k symbols of the text, randomised by a pure mechanism with the whole ε
Aggregate   how often each report was sent: which candidates count is only known in the descent
Estimate    descend the tree: at each depth count the prefixes that continue the frequent ones of
            the depth before; f̂ = (c / N − q) / (p − q) from the N people of the last depth
Error       intervals for all candidates of the last depth at once: `sottovoce.heavy.search`
Guarantee   ε-LDP, tight: the depth does not depend on the text, and the prefix has the whole ε

Non-interactive: everyone reports once, whatever the others reported. Bassily, Nissim, Stemmer,
Thakurta 2017 (arXiv:1707.04982), TreeHist; Wang, Li, Jha 2018 (arXiv:1708.06674), PEM, for people
divided among the depths and steps of several symbols; Wang et al. 2017, for local hashing. Here the
rule for listing a text is a test at a stated error, in place of the k largest estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_count, checked_epsilon
from ..contract.aggregate import Aggregate
from ..contract.collection import Collection, Columns, check_study
from ..contract.reports import Column, Reports
from ..contract.sparse import Sparse, columns_of, rows_of
from ..contract.way import Way
from ..domain.text import Longer, Symbols, Text
from ..domain.values import Domain
from ..errors import EstimateError, ParameterError, WireError
from ..estimate.intervals import normal_quantile
from ..mechanisms.channel import Channel
from ..mechanisms.mechanism import TOO_SMALL, check_attributes
from ..promise import LDP, OWN_DEVICE, Guarantee, Promise
from ..randomness import Source
from .oracles import Oracle, oracle_of
from .prefixes import Numbering, checked_step, depths_of, grow
from .result import DEPTHS_DRAWN, FrequentTexts
from .search import Tree, text_values

PATTERNS = "patterns"
METHOD = "prefix tree"


@dataclass(frozen=True, init=False)
class HeavyHitters(Collection):
    """Which texts are frequent, where the possible texts are not known beforehand.

    Parameters
    ----------
    alphabet : str or sequence of str
        The public symbols of a text, each a single character.
    length : int
        The maximum number of symbols of a text; shorter ones are padded.
    epsilon : float
        Privacy parameter of the whole text, above 0 and at most 20.
    longer : {"refuse", "cut"}
        What happens to a longer text: an error, or only its first symbols count.
    other : str, optional
        A symbol that stands for every character outside the alphabet; without it those are
        refused.
    step : int, optional
        By how many symbols prefixes grow from one depth to the next. More means fewer depths, so
        more people at each, and more candidates to count; by default as many as give at most 2,048
        continuations of a prefix.
    mechanism : str
        The pure mechanism that reports a prefix: "olh", for any number of texts, or, if there
        are few, any other, such as "grr" or "oue".
    name : str
        What is asked.
    study : bytes, optional
        Digest of the study that the reports belong to.
    word_bits : int
        Of the hashes; 32 on the wire, smaller only in `tiny()`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> hh = sv.HeavyHitters("abcdefghijklmnopqrstuvwxyz", 8, epsilon=4.0)
    >>> hh.lengths
    (2, 4, 6, 8)
    >>> words = ["apple"] * 12_000 + ["banana"] * 8_000
    >>> hh.estimate(hh.aggregate(hh.randomise(words))).labels[:2]
    ('apple', 'banana')
    """

    alphabet: str
    length: int
    epsilon: float
    longer: Longer = "refuse"
    other: str | None = None
    step: int = 1
    mechanism: str = "olh"
    name: str = "text"
    study: bytes | None = field(default=None, repr=False)
    word_bits: int = field(default=32, repr=False)

    id = "heavy-hitters"

    def __init__(
        self,
        alphabet: str | Sequence[str],
        length: int,
        epsilon: float,
        *,
        longer: Longer = "refuse",
        other: str | None = None,
        step: int | None = None,
        mechanism: str = "olh",
        name: str = "text",
        study: bytes | None = None,
        word_bits: int = 32,
    ) -> None:
        text = Text(name, alphabet, length, longer=longer, other=other)
        check_study(study)
        if word_bits not in (3, 32):
            raise ParameterError(f"word_bits is {word_bits!r}; allowed are 32, and 3 in tiny()")
        values = {
            "alphabet": text.alphabet,
            "length": text.length,
            "epsilon": checked_epsilon(epsilon),
            "longer": longer,
            "other": other,
            "step": checked_step(step, text.base, text.length),
            "mechanism": mechanism,
            "name": name,
            "study": study,
            "word_bits": word_bits,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if self.oracle.p <= self.oracle.q:
            raise ParameterError(TOO_SMALL.format(epsilon=epsilon))

    # --- what it is -----------------------------------------------------------------------------

    @cached_property
    def domain(self) -> Text:
        """What may be answered."""
        return Text(self.name, self.alphabet, self.length, longer=self.longer, other=self.other)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many symbols a prefix has, at each depth of the tree."""
        return depths_of(self.length, self.step)

    @cached_property
    def oracle(self) -> Oracle:
        """The mechanism that reports a prefix."""
        size = self.domain.base**self.length
        return oracle_of(self.mechanism, size, self.epsilon, self.word_bits)

    @cached_property
    def tree(self) -> Tree:
        """The codes of prefixes, and the rules by which the tree is descended."""
        oracle, base = self.oracle, self.domain.base
        numberings = tuple(
            Numbering(base, length, oracle.most_codes, self.digest) for length in self.lengths
        )
        alphabet, laws = len(self.alphabet), (float(oracle.p), float(oracle.q))
        return Tree(alphabet, self.lengths, numberings, *laws, oracle.most_codes)

    @property
    def attributes(self) -> tuple[Domain, ...]:
        return (self.domain,)

    @property
    def words(self) -> str:
        return (
            f"frequent texts of up to {self.length} symbols by {self.mechanism}, epsilon = "
            f"{self.epsilon:g}"
        )

    def entries(self) -> dict[str, Any]:
        return {"mechanism": self.mechanism, "epsilon": self.epsilon, "step": self.step}

    def canonical(self) -> dict[str, Any]:
        short = {} if self.word_bits == 32 else {"word_bits": self.word_bits}
        text = self.domain.canonical()
        return {"collection": self.id, "text": text, **self.entries(), **short}

    def bind(self, study: bytes) -> Self:
        return replace(self, study=study)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee((Promise(LDP, self.epsilon, assuming=(OWN_DEVICE,)),))

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column("depth", "u1"), *self.oracle.layout)

    # --- what the roles do ----------------------------------------------------------------------

    def draw(self, answers: Any, source: Source) -> Columns:
        """Draw a depth for everyone, and report the prefix of that depth."""
        rows = self.domain.coded(answers).codes
        depth = source.below(len(self.lengths), len(rows)).astype(np.uint8)
        return {"depth": depth, **self.oracle.draw_codes(self._codes(rows, depth), source)}

    def _codes(self, rows: Symbols, depth: NDArray[np.uint8]) -> NDArray[np.uint64]:
        codes = np.empty(len(rows), np.uint64)
        for k, numbering in enumerate(self.tree.numberings):
            here = np.flatnonzero(depth == k)
            codes[here] = numbering.codes(rows[here, : self.lengths[k]])
        return codes

    def check(self, columns: Columns) -> None:
        depth = columns["depth"]
        if depth.size and int(depth.max()) >= len(self.lengths):
            raise WireError(f"a report is of depth {int(depth.max())}; there are {self.lengths}")
        self.oracle.check(columns)

    def count(self, reports: Reports) -> dict[str, Sparse]:
        """How often each report was sent: 22 bytes for each person."""
        self.check(reports.columns)
        return {PATTERNS: Sparse.of(rows_of(self.layout, reports.columns))}

    def check_aggregate(self, aggregate: Aggregate) -> None:
        table = aggregate.tables.get(PATTERNS)
        if set(aggregate.tables) != {PATTERNS} or not isinstance(table, Sparse):
            raise WireError(f"tables {sorted(aggregate.tables)}; {self.id!r} has {PATTERNS!r}")
        if aggregate.route is not None:
            raise WireError("counts of texts cannot come from a protocol")
        self.check(columns_of(self.layout, table.rows))
        if not table.n == aggregate.reports == aggregate.people:
            raise WireError(
                f"the patterns hold {table.n} reports, not {aggregate.reports} of "
                f"{aggregate.people} people"
            )

    def estimate(self, aggregate: Aggregate, *, confidence: float = 0.95) -> FrequentTexts:
        """The analyst's side: the frequent texts and their fractions.

        Parameters
        ----------
        aggregate : Aggregate
            Counts of reports.
        confidence : float
            With which the intervals of all texts examined hold together. A text is listed if its
            interval lies above 0, so that any text which nobody holds is listed with probability
            at most (1 − confidence) / 2.
        """
        self.accept(aggregate, Aggregate)
        normal_quantile(confidence)  # refuses an invalid one
        if aggregate.reports == 0:
            raise EstimateError("there are no reports, so there is nothing to estimate")
        table = aggregate.sparse(PATTERNS)
        ends = np.searchsorted(table.rows[:, 0], range(len(self.lengths)), side="right").tolist()
        parts = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

        def count(k: int, codes: NDArray[np.uint64]) -> NDArray[np.int64]:
            # The same report from several people is rare, but for mechanisms with few of them.
            rows = np.repeat(table.rows[parts[k]], table.counts[parts[k]], axis=0)
            return self.oracle.count(columns_of(self.layout, rows), codes)

        people = [int(table.counts[part].sum()) for part in parts]
        descent = self.tree.descend(people, count, confidence)
        values, variance = text_values(descent.interval, aggregate.reports)
        return FrequentTexts(
            values=values,
            spread=variance,
            n=aggregate.reports,
            labels=tuple(self.domain.decode_symbols(descent.rows)),
            name=self.name,
            method=METHOD,
            biased=True,
            complete=False,
            assuming=DEPTHS_DRAWN,
            guarantee=self.guarantee_behind(aggregate),
            _interval=descent.interval,
            depths=descent.depths,
            confidence=confidence,
        )

    def marginal(
        self, aggregate: Aggregate, attributes: Sequence[str] = (), *, method: str | None = None
    ) -> FrequentTexts:
        check_attributes(attributes, self.name)
        if method not in (None, METHOD):
            raise ParameterError(f"{self.id!r} has no method {method!r}; it has {METHOD!r}")
        return self.estimate(aggregate)

    def threshold(self, n: int, *, confidence: float = 0.95, miss: float = 0.05) -> float:
        """The fraction from which a text is listed with probability at least 1 − miss.

        For planning, before anyone reports: it assumes that each depth keeps at most one prefix
        which nobody holds, and none of a lower fraction. Infinite where a text that everyone
        holds would be missed more often.
        """
        people = checked_count(n, "n", 1)
        normal_quantile(confidence)
        if isinstance(miss, bool) or not isinstance(miss, (int, float)) or not 0 < miss < 1:
            raise ParameterError(
                f"miss is {miss!r}; it must lie strictly between 0 and 1, such as 0.05"
            )
        if self.tree.miss(1.0, people, confidence) > miss:
            return float("inf")
        low, high = 0.0, 1.0
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            enough = self.tree.miss(middle, people, confidence) <= miss
            low, high = (low, middle) if enough else (middle, high)
        return high

    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        depth, pair = reports.columns["depth"][:, None], self.domain.symbols([x, y])
        seen = []
        for length, codes in zip(self.lengths, self.tree.numberings, strict=True):
            a, b = codes.codes(pair[:, :length]).tolist()
            seen.append(self.oracle.outcomes(reports.columns, a, b).reshape(len(reports), -1))
        own = [depth == k for k in range(len(seen))]
        return np.concatenate([depth, np.select(own, seen)], axis=1)

    # --- what the laws need ---------------------------------------------------------------------

    def tiny(self) -> Self:
        """Texts of at most two symbols, all the same, at two depths."""
        first = self.alphabet[0]
        return replace(self, alphabet=first, other=None, length=2, step=1, study=None, word_bits=3)

    def every_report(self, way: Way | None = None) -> Reports:
        """All possible reports, in the order of the channel's columns."""
        one = self.oracle.every_report()
        many, depths = len(next(iter(one.values()))), len(self.lengths)
        columns = {name: np.concatenate([column] * depths) for name, column in one.items()}
        depth = np.repeat(np.arange(depths, dtype=np.uint8), many)
        return Reports(self.id, self.digest, {"depth": depth, **columns})

    def channel(self, way: Way | None = None) -> Channel:
        """The exact law of every text, where it is small enough to write down."""
        if self.domain.base**self.length > 16 or (self.mechanism == "olh" and self.word_bits > 3):
            raise ParameterError("the channel is too large to write down; use .tiny().channel()")
        rows = grow(np.zeros((1, 0), np.uint8), self.length, len(self.alphabet))
        exact = []
        for row in rows:
            law: list[Fraction] = []
            for length, codes in zip(self.lengths, self.tree.numberings, strict=True):
                one = self.oracle.law(int(codes.codes(row[None, :length])[0]))
                law += [cell / len(self.lengths) for cell in one]
            exact.append(tuple(law))
        outputs = [f"{k}" for k in range(len(exact[0]))]
        return Channel(self.domain.decode_symbols(rows), outputs, tuple(exact))
