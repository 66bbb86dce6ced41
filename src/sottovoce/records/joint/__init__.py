"""Joint distributions from records whose budgets are personal and hidden; one file per method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...contract.sparse import Sparse
from ...errors import ParameterError
from ...estimate.table import JointEstimate
from .groups import MOST_CELLS, positions

if TYPE_CHECKING:
    from ..records import Records

__all__ = ["METHODS", "OPTIONS", "JointEstimate", "checked", "joint"]

#: Every method: where it comes from.
METHODS = {
    "em-ll2": "EM over a log-linear model of all pairs, stopped by held-out likelihood",
    "em-full": "EM over the whole table",
    "kronecker": "moments of the bits inverted; records that report all that is asked",
    "product": "self-calibrated marginals multiplied",
    "lasso": "PLDP, section 4.4: LASSO on marginal counts; cannot see dependence",
    "entropy-split": "PLDP, Algorithm 2: two LASSO tables multiplied",
    "lopub-1": "LoPub's EM with q(epsilon_average); records that report all that is asked",
    "lopub-2": "LoPub's LASSO with q(epsilon_average)",
    "lopub-3": "LoPub's EM from and within the non-zero cells of its LASSO",
    "pgm": "a graphical model (mbi) fitted to the pair tables of em-full",
}

#: What can be said about how a method works.
OPTIONS = {
    "em-ll2": ("stop", "progress"),
    "em-full": ("stop", "progress"),
    "pgm": ("progress",),
    "kronecker": ("force",),
}


def checked(records: Records, attributes: Sequence[str], method: str, **options: Any) -> list[int]:
    """Positions of the asked attributes; refuses what `joint` cannot do, before any work."""
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError(
            f"there is no method {method!r}; available: {', '.join(map(repr, METHODS))}"
        )
    asked = positions(records, attributes)
    cells = math.prod(int(records.sizes[a]) for a in asked)
    if cells > MOST_CELLS:
        raise ParameterError(
            f"a table of {list(attributes)} has {cells:,} cells; at most {MOST_CELLS:,} are "
            "estimated; ask for fewer attributes, or give them wider bins"
        )
    allowed = OPTIONS.get(method, ())
    for option in options:
        if option not in allowed:
            takes = " and ".join(map(repr, allowed)) or "no options"
            raise ParameterError(f"{method!r} has no option {option!r}; it takes {takes}")
    progress = options.get("progress")
    if progress is not None and not callable(progress):
        raise ParameterError(f"progress is {progress!r}; it must be a function (step, steps)")
    return asked


def joint(
    records: Records,
    aggregate: Sparse,
    attributes: Sequence[str],
    *,
    method: str = "em-ll2",
    **options: Any,
) -> JointEstimate:
    """The joint distribution of some attributes.

    Parameters
    ----------
    attributes : sequence of str
        Names, in the order that the table's axes shall have.
    method : str
        One of `METHODS`.
    **options
        ``stop`` ("cv" or a number of steps) and ``progress`` for the EM methods, ``force`` for
        "kronecker".
    """
    asked = checked(records, attributes, method, **options)
    if method in ("em-ll2", "em-full"):
        from .fit import fitted

        return fitted(records, aggregate, asked, method=method, **options)
    from . import closed, published

    makers = {
        "product": closed.product,
        "kronecker": closed.kronecker,
        "lasso": published.lasso,
        "entropy-split": published.entropy_split,
        "lopub-1": published.lopub_em,
        "lopub-2": published.lopub_lasso,
        "lopub-3": published.lopub_hybrid,
    }
    if method == "pgm":
        from .pgm import pgm

        return pgm(records, aggregate, asked, **options)
    return makers[method](records, aggregate, asked, **options)
