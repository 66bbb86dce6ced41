"""When more privacy may be claimed than epsilon, and who must be trusted for it.

Each account takes plain numbers and returns a `Promise` that says what it assumes, or refuses.
Sampling and dummies are in `sampling`, shuffled reports in `shuffle`, many rounds in
`composition`, Gaussian noise in `gaussian`; `compare` sets shuffling against a trusted server.
Counts of a secret sample are in `sampled_counts`, `two_stage` and `thresholded`, integer noise in
`integer_noise`, and published bounds that do not hold in `yang`.
"""

from __future__ import annotations

from .compare import Comparison, compare
from .composition import rounds
from .gaussian import delta_gaussian, sigma_analytic
from .integer_noise import (
    GaussianNoise,
    binomial_noise_delta,
    gaussian_rounds_delta,
    gaussian_share_variance,
    gaussian_shares_delta,
    noise_delta,
    smallest_coins,
)
from .sampled_counts import (
    largest_rate,
    sampled_counts,
    sampled_counts_delta,
    sampled_counts_epsilon,
    smallest_count,
    smallest_dummies,
)
from .sampling import dummies, fixed_size, poisson, value_dependent_loss, visible
from .shuffle import shuffle, shuffle_delta
from .thresholded import smallest_threshold, thresholded_delta
from .two_stage import TwoStage, gamma_for
from .yang import PublishedClaim, published_count, published_sampled_counts

__all__ = [
    "Comparison",
    "GaussianNoise",
    "PublishedClaim",
    "TwoStage",
    "binomial_noise_delta",
    "compare",
    "delta_gaussian",
    "dummies",
    "fixed_size",
    "gamma_for",
    "gaussian_rounds_delta",
    "gaussian_share_variance",
    "gaussian_shares_delta",
    "largest_rate",
    "noise_delta",
    "poisson",
    "published_count",
    "published_sampled_counts",
    "rounds",
    "sampled_counts",
    "sampled_counts_delta",
    "sampled_counts_epsilon",
    "shuffle",
    "shuffle_delta",
    "sigma_analytic",
    "smallest_coins",
    "smallest_count",
    "smallest_dummies",
    "smallest_threshold",
    "thresholded_delta",
    "value_dependent_loss",
    "visible",
]
