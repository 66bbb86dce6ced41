"""A menu of privacy levels: everyone chooses how loudly they speak.

Report      the level, and a report of that level's mechanism
Estimate    each level on its own, then `combine`: by default the random-effects hybrid
Guarantee   one promise per level; which level someone chose is public and not protected

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from ..contract.aggregate import Aggregate
from ..domain.values import Domain, Label
from ..errors import EstimateError, ParameterError
from ..estimate.combine import ALIASES, METHODS, Groups, combine, combine_groups, covariance_of
from ..estimate.estimate import Estimate, Floats
from ..mechanisms.linear import parts_may_be_useless, warn_if_useless
from ..mechanisms.mechanism import SEEDED, Mechanism, Method
from ..promise.guarantee import Guarantee
from .menus import LevelReports
from .vectorised import Tables, groups_of
from .wrapper import asks_for, promising, span_of


class Levels(LevelReports):
    """Mechanisms by level; each person's report is made by that of the level they chose.

    Parameters
    ----------
    menu : mapping of str to Mechanism
        Level names and their mechanisms, all over the same domain.
    study : bytes, optional
        Digest of the study that the reports belong to.

    Examples
    --------
    >>> import sottovoce as sv
    >>> menu = sv.Levels.of(sv.OUE, ["yes", "no"], {"strong": 0.5, "weak": 4})
    >>> reports = menu.randomise(["yes", "no", "yes"], level=["strong", "weak", "weak"])
    >>> menu.aggregate(reports).tables["people"].tolist()
    [1, 2]
    """

    @classmethod
    def of(
        cls,
        kind: type[Mechanism],
        domain: Domain | int | Sequence[Label],
        epsilons: Mapping[str, float],
        **extras: Any,
    ) -> Levels:
        """One kind of mechanism at several epsilons."""
        if not isinstance(epsilons, Mapping):
            raise ParameterError(
                f"levels are {epsilons!r}; give names and epsilons, such as "
                "{'strong': 0.5, 'weak': 4}"
            )
        return cls({name: kind(domain, epsilon=e, **extras) for name, e in epsilons.items()})

    @property
    def methods(self) -> Mapping[str, Method]:
        return self._methods

    @cached_property
    def _methods(self) -> Mapping[str, Method]:
        known = {name: Method(source, biased=biased) for name, (source, biased) in METHODS.items()}
        return {**known, **{alias: known[name] for alias, name in ALIASES.items()}}

    def estimate(
        self, aggregate: Aggregate, *, method: str | None = None, inner: str | None = None
    ) -> Estimate:
        """The analyst's side: the levels' estimates, combined.

        Parameters
        ----------
        method : str, optional
            One of `methods`, by default the hybrid.
        inner : str, optional
            For levels that sample people, how each is estimated; see `Sampled`.
        """
        self.accept(aggregate, Aggregate)
        name = self.chosen(method)
        guarantee = Guarantee.none(SEEDED) if aggregate.seeded else self.guarantee
        groups = None if inner else groups_of(self._bound, aggregate.tables)
        if groups is not None:
            found = self._combined(groups, name, guarantee, partial(self._covariance, aggregate))
        else:
            parts = self.estimates(aggregate, inner=inner)
            if not parts:
                raise EstimateError("there are no reports, so there is nothing to estimate")
            found = promising(combine(parts, method=ALIASES.get(name, name)), guarantee)
        warn_if_useless(found, span_of(self.domain))
        return found

    def _estimate_rows(self, tables: Tables, method: str | None) -> Estimate | None:
        groups = groups_of(self._bound, tables)
        if groups is None:
            return None
        return self._combined(groups, self.chosen(method), self.guarantee, None)

    def _combined(
        self,
        groups: Groups,
        method: str,
        guarantee: Guarantee,
        covariance: Callable[[Floats], Floats] | None,
    ) -> Estimate:
        return combine_groups(
            groups,
            method=ALIASES.get(method, method),
            covariance=covariance,
            labels=self.domain.labels,
            name=getattr(self.domain, "name", ""),
            shares=True,
            guarantee=guarantee,
        )

    def _covariance(self, aggregate: Aggregate, weights: Floats) -> Floats:
        return covariance_of(list(self.estimates(aggregate).values()), weights)

    def estimates(self, aggregate: Aggregate, *, inner: str | None = None) -> dict[str, Estimate]:
        """One estimate per level that somebody chose, unbiased unless `inner` is not."""
        self.accept(aggregate, Aggregate)
        if inner is not None and "rate" not in self.choices:
            raise ParameterError(f"inner is {inner!r}, but no level samples people")
        found = {}
        for name, mechanism in zip(self.menu, self._bound, strict=True):
            part = self.part(aggregate, name)
            if part.n == 0:
                continue
            try:
                with parts_may_be_useless():
                    own = "unbiased" if "unbiased" in mechanism.methods else None
                    way = inner if asks_for(mechanism, "rate") else own
                    found[name] = mechanism.estimate(part, method=way)
            except EstimateError as error:
                raise EstimateError(f"level {name!r}: {error}") from error
        return found
