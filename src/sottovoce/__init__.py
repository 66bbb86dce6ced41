"""Sottovoce: statistics of a population without a trusted server.

>>> import sottovoce as sv
>>> m = sv.OUE(["car", "bike", "train", "foot"], epsilon=1.0)
>>> estimate = m.estimate(m.aggregate(m.randomise(["car", "bike", "car", "foot"] * 1000)))
>>> estimate.n
4000
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import accounting, parties, plot, scale, secure
    from .auditing.audit import audit
    from .collect.ask import ask
    from .contract.aggregate import Aggregate
    from .contract.reports import Reports
    from .domain.options import Options
    from .domain.ranges import Range
    from .domain.schema import Schema
    from .domain.values import Attribute, Domain
    from .errors import SottovoceError
    from .estimate.combine import combine
    from .estimate.estimate import Estimate
    from .estimate.population import stratified
    from .heavy import HeavyHitters
    from .mechanisms import (
        GRR,
        LIP,
        OLH,
        OUE,
        SUE,
        Duchi,
        HadamardResponse,
        Hybrid,
        Piecewise,
        ProjectiveGeometryResponse,
        SubsetSelection,
    )
    from .mechanisms.channel import Channel
    from .mechanisms.choose_all import ChooseAll
    from .mechanisms.mechanism import Mechanism
    from .participation import Levels, Sampled
    from .planning.choose import choose
    from .planning.plan import plan
    from .promise import Guarantee, Promise
    from .records import Records
    from .study import Study

_NAMES_IN = {
    "auditing.audit": "audit",
    "collect.ask": "ask",
    "contract.aggregate": "Aggregate",
    "contract.reports": "Reports",
    "domain.options": "Options",
    "domain.ranges": "Range",
    "domain.schema": "Schema",
    "domain.values": "Attribute Domain",
    "errors": "SottovoceError",
    "estimate.combine": "combine",
    "estimate.estimate": "Estimate",
    "estimate.population": "stratified",
    "heavy": "HeavyHitters",
    "mechanisms": "GRR LIP OLH OUE SUE Duchi HadamardResponse Hybrid Piecewise "
    "ProjectiveGeometryResponse SubsetSelection",
    "mechanisms.channel": "Channel",
    "mechanisms.choose_all": "ChooseAll",
    "mechanisms.mechanism": "Mechanism",
    "participation": "Levels Sampled",
    "planning.choose": "choose",
    "planning.plan": "plan",
    "promise": "Guarantee Promise",
    "records": "Records",
    "study": "Study",
}
_HOME = {name: home for home, names in _NAMES_IN.items() for name in names.split()}

__all__ = [
    "GRR",
    "LIP",
    "OLH",
    "OUE",
    "SUE",
    "Aggregate",
    "Attribute",
    "Channel",
    "ChooseAll",
    "Domain",
    "Duchi",
    "Estimate",
    "Guarantee",
    "HadamardResponse",
    "HeavyHitters",
    "Hybrid",
    "Levels",
    "Mechanism",
    "Options",
    "Piecewise",
    "ProjectiveGeometryResponse",
    "Promise",
    "Range",
    "Records",
    "Reports",
    "Sampled",
    "Schema",
    "SottovoceError",
    "Study",
    "SubsetSelection",
    "__version__",
    "accounting",
    "ask",
    "audit",
    "choose",
    "combine",
    "parties",
    "plan",
    "plot",
    "scale",
    "secure",
    "stratified",
]


def __getattr__(name: str) -> Any:
    if name in ("accounting", "parties", "plot", "scale", "secure"):
        return import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
