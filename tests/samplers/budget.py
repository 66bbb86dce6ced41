"""One false-alarm budget for every test that draws at random.

The whole suite raises a false alarm with probability at most `TOTAL`, so a failure means a fault.
Each group declares how many p-values it looks at; every p-value gets the same share. A test that
looks at several statistics joins them into one p-value with `joined`, which only makes it larger.
A planted fault must be rejected at the very same share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

TOTAL = 1e-6

#: p-values per group. `test_budget.py` holds these against what the groups really do.
DECLARED = {
    "tiny": 49,
    "grr": 6,
    "lip": 6,
    "oue": 6,
    "large": 17,
    "bernoulli": 8,
    "below": 7,
    "numbers": 5,
    "coverage": 2,
    "wrappers": 10,
    "records": 2,
    "noise": 12,
    "javascript": 14,
    "threads": 3,
    "texts": 1,
}

SHARE = TOTAL / sum(DECLARED.values())

_spent: dict[str, set[str]] = defaultdict(set)


class OverBudgetError(AssertionError):
    """More p-values were looked at than declared."""


class RejectedError(AssertionError):
    """A sampler does not follow the law that it claims."""


def joined(p_values: Iterable[float]) -> float:
    """One p-value of several, whatever their dependence (Bonferroni)."""
    values = list(p_values)
    return min(1.0, len(values) * min(values))


def judge(p_value: float) -> None:
    """Raise when a p-value is below its share."""
    if not p_value >= SHARE:
        raise RejectedError(f"p = {p_value:.3g}, below the share of {SHARE:.3g}")


def spend(group: str, name: str, p_value: float) -> None:
    """Judge a real sampler, and count it against its group."""
    _spent[group].add(name)
    if len(_spent[group]) > DECLARED[group]:
        raise OverBudgetError(f"{group!r} declared {DECLARED[group]} p-values and uses more")
    judge(p_value)
