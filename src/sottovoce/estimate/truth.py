"""True fractions, where they are known, and the distance of an estimate to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ParameterError
from .intervals import Floats

if TYPE_CHECKING:
    from .estimate import Estimate


class Errors(NamedTuple):
    """How far an estimate is from the truth.

    `mse` is the mean over values of the squared error and `total_l2` its sum, `rmse` the root of
    `mse`, `tv` the total variation distance (half the sum of absolute errors, also called AVD),
    `max` the largest absolute error.
    """

    mse: float
    total_l2: float
    rmse: float
    tv: float
    max: float


def errors_of(gap: Floats) -> Errors:
    """The errors of values that differ from the truth by these amounts."""
    mse = float(np.mean(gap**2))
    return Errors(
        mse=mse,
        total_l2=float(np.sum(gap**2)),
        rmse=float(np.sqrt(mse)),
        tv=float(np.abs(gap).sum() / 2),
        max=float(np.abs(gap).max()),
    )


def true_fractions(estimate: Estimate, truth: ArrayLike | Mapping[Any, float]) -> Floats:
    """True fractions in the order of the labels; refused unless there is one for each value."""
    labels = estimate.labels
    if isinstance(truth, Mapping):
        if set(truth) != set(labels):
            raise ParameterError(
                "the truth must name every value once; it differs in "
                f"{sorted(map(str, set(truth) ^ set(labels)))[:6]}"
            )
        truth = [truth[label] for label in labels]
    try:
        true = np.asarray(truth, float)
    except (TypeError, ValueError):
        true = np.full(0, np.nan)
    whole = not (true > 1).any()
    if estimate.exclusive:
        above = float(true.sum()) - 1
        whole = above < 1e-6 and (above > -1e-6 or not estimate.complete)
    if true.shape != (len(labels),) or not whole or not (true >= 0).all():
        if not estimate.exclusive:
            raise ParameterError(
                f"the truth must be {len(labels)} fractions from 0 to 1; got {truth!r}"
            )
        raise ParameterError(
            f"the truth must be {len(labels)} fractions of at least 0 that sum to 1; got "
            f"{true.size} numbers that sum to {true.sum():g}"
        )
    return true
