"""Marginals over data that several organisations hold, each with a budget of its own.

Horizontal   every party has rows of the same attributes
Vertical     every party has some attributes of the same people

Nobody sees a row. Parties open sums with integer noise that stays private even when the curator
works with some of them; a method turns these sums into one labelled table with intervals.

sums             masked vectors of which the curator learns the sum alone; double_masking, unmasking:
                 the same where parties may drop out; blocks, hellos: their public form
row_study        what is public about marginals over split rows, and which sums are opened
row_machines     the roles: a party with its rows, and the curator
horizontal       Horizontal: a study over split rows, and a simulation with every role
counting         a party's own counts, secret samples and shares of noise
methods, tables  from sums to labelled tables
promises         what every party promises; budgets: exact budgets; receipts: what the curator signs
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .horizontal import Horizontal
    from .run import Run

_HOME = {"Horizontal": "horizontal", "Run": "run"}

__all__ = ["Horizontal", "Run"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
