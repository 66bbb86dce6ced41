"""Choose all that apply: one of a person's options, drawn at random, by any pure mechanism.

Channel     of at most k options, pad the person's set to k with "nothing else"; draw one of the k
            at random; report it by a pure mechanism with p, q over the options and "nothing else"
Estimate    f̂_v = k (c_v / n − q) / (p − q), the fraction of people who chose v
Variance    the report supports v with probability p' = q + (p − q) / k for those who chose v, and
            q for others, so that it is that of a pure mechanism with p' and q (fixed data)
Covariance  an upper bound, for people drawn from a population: who chose two options together
            is not known
Guarantee   ε-LDP for the whole set: a mixture of laws that are ε-indistinguishable

Qin, Yang, Yu, Khalil, Xiao, Ren 2016, "Heavy hitter estimation over set-valued data with local
differential privacy"; Wang, Li, Jha 2018, "Locally differentially private frequent itemset
mining", for padding and sampling.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import checked_epsilon
from ..contract.collection import Collection, Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.columns import Coded
from ..domain.options import Options
from ..domain.values import Domain
from ..errors import ParameterError
from ..estimate.intervals import Floats
from ..randomness import Source
from .categorical import PureMechanism
from .channel import Channel
from .mechanism import Method
from .registry import pure_by_id

NOTHING_ELSE = "nothing else"
_MOST_LOOKED_AT = 4  # options of each set, in an audit: among rare outcomes, chance would choose


@dataclass(frozen=True, init=False)
class ChooseAll(PureMechanism):
    """A question of which several options may be chosen, under one epsilon for the whole answer.

    Parameters
    ----------
    domain : Options
        The options, and how many of them may be chosen.
    epsilon : float
        Privacy parameter of the whole set.
    by : str
        The pure mechanism that reports the drawn option, such as oue, olh or grr.
    study : bytes, optional
        Digest of the study that the reports belong to.

    Examples
    --------
    >>> import sottovoce as sv
    >>> question = sv.Options("tools", ["R", "Python", "SAS"], most=2)
    >>> m = sv.ChooseAll(question, epsilon=2.0)
    >>> agg = m.aggregate(m.randomise([["R"], ["R", "Python"], []] * 1000))
    >>> m.estimate(agg).labels
    ('R', 'Python', 'SAS')
    """

    domain: Options
    by: str = "oue"

    id = "choose-all"
    restricted = Collection.restricted  # options are few

    def __init__(
        self, domain: Domain, *, epsilon: float, by: str = "oue", study: bytes | None = None
    ) -> None:
        if not isinstance(domain, Options):
            raise ParameterError(
                f"{domain!r} was given; give Options(name, options, most=…), which says how many "
                "may be chosen"
            )
        values = {"domain": domain, "epsilon": checked_epsilon(epsilon), "by": by, "study": study}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.validate()

    def validate(self) -> None:
        self._kind()
        super().validate()

    def _kind(self) -> type[PureMechanism]:
        return pure_by_id(self.by, "a drawn option")

    @cached_property
    def inner(self) -> PureMechanism:
        """Reports the drawn option, or that nothing else was chosen."""
        values = Domain([*self.domain.values, _unused_value(self.domain)])
        return self._kind()(values, epsilon=self.epsilon, study=self.digest)

    # --- what it is -----------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "by": self.by}

    @property
    def words(self) -> str:
        return f"up to {self.domain.most} options by {self.by}, epsilon = {self.epsilon:g}"

    def entries(self) -> dict[str, Any]:
        return {"mechanism": self.by, "epsilon": self.epsilon}

    @property
    def p(self) -> Fraction:
        return self.q + (self.inner.p - self.inner.q) / self.domain.most

    @property
    def q(self) -> Fraction:
        return self.inner.q

    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        return self.inner.pair

    @property
    def methods(self) -> Mapping[str, Method]:
        return {"unbiased": Method("Wang et al. 2018, section 4", biased=False)}

    @property
    def layout(self) -> tuple[Column, ...]:
        return self.inner.layout

    @property
    def counting_key(self) -> Hashable:
        return self.id, self.inner.counting_key

    # --- what the roles do ----------------------------------------------------------------------

    def draw(self, answers: Any, source: Source) -> Columns:
        """Draw one of everyone's options, padded to the most; then report it."""
        sets: NDArray[np.uint64] = self.domain.coded(answers).codes
        place = source.below(self.domain.most, len(sets))
        items = np.full(len(sets), len(self.domain.values), self.inner.domain.dtype)
        before = np.zeros(len(sets), np.uint8)
        for v in range(len(self.domain.values)):
            chosen = ((sets >> np.uint64(v)) & np.uint64(1)).astype(bool)
            items[chosen & (before == place)] = v
            before += chosen
        return self.inner.draw(Coded(items), source)

    def check(self, columns: Columns) -> None:
        self.inner.check(columns)

    @property
    def counted_by(self) -> frozenset[str]:
        return self.inner.counted_by

    def support(self, reports: Reports) -> NDArray[np.int64]:
        return self.inner.support(replace(reports, collection=self.inner.id))[:-1]

    def supports(self, columns: Columns, codes: NDArray[np.int64]) -> NDArray[Any]:
        return self.inner.supports(columns, codes)

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        own = replace(reports, collection=self.inner.id)
        return self.inner.tally_by(own, group, groups)[:, :-1]

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        """An upper bound: for people drawn from a population with these fractions.

        Estimates of few reports lie far outside what fractions can be, and are moved there first.
        """
        f, (s, t) = np.clip(np.asarray(frequencies, float), 0.0, 1.0), map(float, self.pair)
        f *= min(1.0, self.domain.most / max(float(f.sum()), 1e-300))
        q, gap, _, _ = self.rounded
        supported = q + gap * f
        either = (f[:, None] + f[None, :]) / self.domain.most
        both = either * s + (1 - either) * t
        np.fill_diagonal(both, supported)
        matrix: Floats = (both - np.outer(supported, supported)) / gap**2 / n
        return matrix

    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all options, where everyone chooses as many as allowed."""
        _, _, base, slope = self.rounded
        return float(len(self.domain.values) * base + self.domain.most * slope) / n

    def decode_steps(self, n: int) -> float:
        return self.inner.decode_steps(n)

    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        """What a report supports of the options that one set lacks, and of "nothing else"."""
        first, second = self.domain.words([x, y])[0].tolist()
        codes = [
            v
            for only in (first & ~second, second & ~first)
            for v in [v for v in range(len(self.domain.values)) if only >> v & 1][:_MOST_LOOKED_AT]
        ]
        if first == second or first.bit_count() != second.bit_count():
            codes.append(len(self.domain.values))
        return self.supports(reports.columns, np.array(codes, np.int64))

    # --- what the laws need ---------------------------------------------------------------------

    def tiny(self) -> Self:
        few = Options(self.domain.name or "options", ["a", "b"], most=min(2, self.domain.most))
        return replace(self, domain=few, study=None)

    def every_report(self, way: Way | None = None) -> Reports:
        reports = self.inner.every_report()
        return replace(reports, collection=self.id, digest=self.digest)

    def channel(self, way: Way | None = None) -> Channel:
        """The exact law of every set of options that may be chosen."""
        options, most = self.domain.values, self.domain.most
        inner = self.inner.channel()
        sets = [s for many in range(most + 1) for s in combinations(range(len(options)), many)]
        rows = []
        for chosen in sets:
            padded = [*chosen, *[len(options)] * (most - len(chosen))]
            columns = zip(*(inner.exact[v] for v in padded), strict=True)
            rows.append(tuple(sum(column, Fraction(0)) / most for column in columns))
        names = [" + ".join(str(options[v]) for v in chosen) or "nothing" for chosen in sets]
        return Channel(names, inner.outputs, tuple(rows))


def _unused_value(domain: Options) -> str:
    """A value for "nothing else" that is not among the options."""
    name = NOTHING_ELSE
    while name in domain.values:
        name += " "
    return name
