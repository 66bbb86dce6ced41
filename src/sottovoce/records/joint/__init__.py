"""Joint distributions from records whose budgets are personal and hidden; one file per method."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...contract.sparse import Sparse
from ...errors import ParameterError
from ...estimate.table import Table
from .groups import MOST_CELLS, positions

if TYPE_CHECKING:
    from ..records import Records

__all__ = ["DEFAULT", "METHODS", "OPTIONS", "checked", "joint"]

DEFAULT = "model-average"

#: Every method: where it comes from.
METHODS = {
    "model-average": "product, forest, pairwise model and em-ll2, by held-out likelihood",
    "em-ll2": "EM over a log-linear model of all pairs, stopped by held-out likelihood",
    "em-full": "EM over the whole table",
    "kronecker": "inverted moments of the bits; only records that report all these attributes",
    "product": "self-calibrated marginals multiplied",
    "lasso": "PLDP, section 4.4: LASSO on marginal counts; cannot see dependence",
    "entropy-split": "PLDP, Algorithm 2: two LASSO tables multiplied",
    "lopub-1": "LoPub's EM with q(epsilon_average); only records that report all these attributes",
    "lopub-2": "LoPub's LASSO with q(epsilon_average)",
    "lopub-3": "LoPub's EM from and within the non-zero cells of its LASSO",
    "pgm": "a graphical model (mbi) fitted to the pair tables of em-full",
}

#: The options of each method.
OPTIONS = {
    "model-average": ("margins", "progress"),
    "em-ll2": ("stop", "margins", "progress"),
    "em-full": ("stop", "margins", "progress"),
    "product": ("margins",),
    "pgm": ("margins", "progress"),
    "kronecker": ("force",),
}
#: Methods that use epsilon_average itself.
ONE_LEVEL = ("lasso", "entropy-split", "lopub-1", "lopub-2", "lopub-3")
#: Where the distributions of single attributes come from: the table itself, or `marginal`.
MARGINS = ("pooled", "stratified")


def checked(records: Records, attributes: Sequence[str], method: str, **options: Any) -> list[int]:
    """Positions of the requested attributes; refuses what `joint` cannot do, before any work."""
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError(
            f"there is no method {method!r}; available: {', '.join(map(repr, METHODS))}"
        )
    if records.levels and method in ONE_LEVEL:
        raise ParameterError(
            f"{method!r} takes one epsilon_average for all, but these records have levels; use "
            f"{DEFAULT!r}"
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
            takes = ", ".join(map(repr, allowed)) or "no options"
            raise ParameterError(f"{method!r} has no option {option!r}; it takes {takes}")
    margins = options.get("margins", MARGINS[0])
    if not isinstance(margins, str) or margins not in MARGINS:
        raise ParameterError(f"margins is {margins!r}; it must be 'pooled' or 'stratified'")
    progress = options.get("progress")
    if progress is not None and not callable(progress):
        raise ParameterError(f"progress is {progress!r}; it must be a function (step, steps)")
    return asked


def joint(
    records: Records,
    aggregate: Sparse,
    attributes: Sequence[str],
    *,
    method: str = DEFAULT,
    **options: Any,
) -> Table:
    """The joint distribution of some attributes.

    Parameters
    ----------
    attributes : sequence of str
        Names, in the order of the table's axes.
    method : str
        One of `METHODS`.
    **options
        ``stop`` ("cv" or a number of steps) for em-ll2 and em-full, ``progress`` for what iterates,
        ``force`` for "kronecker". ``margins``: "pooled" takes all reports together and assumes
        that people who report fewer attributes answer like the others; "stratified" gives every
        attribute the distribution that `marginal` estimates by strata.

    Warns
    -----
    UnlikeWarning
        If the reports contradict that people who report fewer attributes answer like the others.
    """
    asked = checked(records, attributes, method, **options)
    stratified = options.pop("margins", MARGINS[0]) == "stratified"
    table = _table(records, aggregate, asked, method, options)
    from .alike import calibrated, warn_of_unlike

    if stratified:
        return calibrated(records, aggregate, table)
    warn_of_unlike(records, aggregate, asked)
    return table


def _table(
    records: Records, aggregate: Sparse, asked: list[int], method: str, options: dict[str, Any]
) -> Table:
    if method in ("model-average", "em-ll2", "em-full"):
        from .fit import fitted

        return fitted(records, aggregate, asked, method=method, **options)
    from . import closed, published

    makers: dict[str, Callable[..., Table]] = {
        "product": closed.product,
        "kronecker": closed.kronecker,
        "lasso": published.lasso,
        "entropy-split": published.entropy_split,
        "lopub-1": published.lopub,
        "lopub-2": partial(published.lasso, method="lopub-2"),
        "lopub-3": partial(published.lopub, method="lopub-3"),
    }
    if method == "pgm":
        from .pgm import pgm

        return pgm(records, aggregate, asked, **options)
    return makers[method](records, aggregate, asked, **options)
