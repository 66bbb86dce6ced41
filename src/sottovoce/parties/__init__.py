"""Marginals over data that several organisations hold, each with a budget of its own.

Horizontal   every party has rows of the same attributes
Vertical     every party has some attributes of the same people

Nobody sees a row. Parties open sums with integer noise that stays private even when the curator
works with some of them; a method turns these sums into one labelled table with intervals. Files::

    sums             masked vectors of which the curator learns the sum alone; blocks, hellos: their
                     public form; double_masking, unmasking: the same where parties may drop out
    row_study        what is public about marginals over split rows, and which sums are opened
    row_machines     the roles: a party with its rows, and the curator
    horizontal       Horizontal: a study over split rows, and a simulation with every role
    column_study     what is public about a marginal over split columns; column_promises: promises
    column_machines  the roles: a party with its columns, and the curator; dealing: the dealer
    vertical         Vertical: a study over split columns, and a simulation with every role
    alignment        rows in one order by a shared key; products, engines: shares of the table
    oblivious        noise that nobody draws; oblivious_rows: the roles with it
    counting         a party's own counts, secret samples and shares of noise
    methods, tables  from sums to labelled tables
    promises         what every party promises; budgets: exact; receipts: signed by the curator
    budget           a party's ledger (accounts, ledger_file); charging: before anything leaves
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
