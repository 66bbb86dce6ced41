"""Sottovoce: statistics of a population without a trusted server.

>>> import sottovoce as sv
>>> m = sv.OUE(["car", "bike", "train", "foot"], epsilon=1.0)
>>> estimate = m.estimate(m.aggregate(m.randomise(["car", "bike", "car", "foot"] * 1000)))
>>> estimate.n
4000
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import accounting, plot
    from .aggregate import Aggregate
    from .ask import ask
    from .audit import audit
    from .choose import choose
    from .combine import combine
    from .domain import Attribute, Domain, Schema
    from .errors import SottovoceError
    from .estimate import Estimate
    from .guarantee import Guarantee, Promise
    from .mechanism import Channel, Mechanism
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
        SubsetSelection,
    )
    from .personal import Levels, Records, Sampled
    from .plan import plan
    from .ranges import Range
    from .report import Reports
    from .study import Study

_HOME = {
    "Aggregate": "aggregate",
    "Attribute": "domain",
    "Channel": "mechanism",
    "Domain": "domain",
    "Duchi": "mechanisms",
    "Estimate": "estimate",
    "GRR": "mechanisms",
    "Guarantee": "guarantee",
    "HadamardResponse": "mechanisms",
    "Hybrid": "mechanisms",
    "LIP": "mechanisms",
    "Levels": "personal",
    "Mechanism": "mechanism",
    "OLH": "mechanisms",
    "OUE": "mechanisms",
    "Piecewise": "mechanisms",
    "Promise": "guarantee",
    "Range": "ranges",
    "Records": "personal",
    "Reports": "report",
    "SUE": "mechanisms",
    "Sampled": "personal",
    "Schema": "domain",
    "SottovoceError": "errors",
    "Study": "study",
    "SubsetSelection": "mechanisms",
    "ask": "ask",
    "audit": "audit",
    "choose": "choose",
    "combine": "combine",
    "plan": "plan",
}

__all__ = [
    "GRR",
    "LIP",
    "OLH",
    "OUE",
    "SUE",
    "Aggregate",
    "Attribute",
    "Channel",
    "Domain",
    "Duchi",
    "Estimate",
    "Guarantee",
    "HadamardResponse",
    "Hybrid",
    "Levels",
    "Mechanism",
    "Piecewise",
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
    "plan",
    "plot",
]


def __getattr__(name: str) -> Any:
    if name in ("accounting", "plot"):
        return import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Importing a room binds its name here; where a function has that name, the function wins."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _HOME.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
