"""Marginals over data that several organisations hold, each with a budget of its own.

Horizontal   every party has rows of the same attributes
Vertical     every party has some attributes of the same people

Nobody sees a row. Parties open sums with integer noise that stays private even when the curator
works with some of them; a method turns these sums into one labelled table with intervals.
"""

from __future__ import annotations
