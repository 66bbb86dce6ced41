"""Marginals over data that several organisations hold, each with a budget of its own.

Horizontal   every party has rows of the same attributes
Vertical     every party has some attributes of the same people

Nobody sees a row. Parties open sums with integer noise that stays private even when the curator
works with some of them; a method turns these sums into one labelled table with intervals. Files::

    horizontal, vertical   Horizontal and Vertical: what is particular to rows and to columns
    marginals, protocol    what both share: parameters and promises; roles, simulation, result
    machines               the roles: a party with its rows or columns, and the curator
    design, releases       public parameters of a marginal; the sums that are opened, their cost
    sums, blocks           masked vectors of which the curator learns the sum alone
    double_masking         the same where parties may drop out
    alignment              rows in one order by a shared key
    products, engines      shares of a table over columns, and the dealer
    counting, oblivious    a party's counts, samples and shares of noise; noise that nobody draws
    methods, tables        from sums to labelled tables with intervals
    receipts               what the curator signs
    budget, accounts, book a party's ledger of what its data sets have spent, its sums, its file
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .horizontal import Horizontal
    from .run import Run
    from .vertical import Vertical

_HOME = {"Horizontal": "horizontal", "Run": "run", "Vertical": "vertical"}

__all__ = ["Horizontal", "Run", "Vertical"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
