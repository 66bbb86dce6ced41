"""How often intervals of bins and quantiles of numbers cover the truth.

``python -m benchmarks.coverage_quantiles`` prints the lowest coverage of 95 % intervals over five
unequal bins and over the quantiles at .1, .5 and .9, for answers that are fixed and for answers
that are drawn from a population, and the mean width of the interval of the median.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from numpy.typing import NDArray

from sottovoce import Piecewise
from sottovoce.errors import UselessEstimateWarning

Floats = NDArray[np.float64]

EDGES = np.array([0, 0.05, 0.1, 0.25, 0.5, 1.0])
QUANTILES = (0.1, 0.5, 0.9)
SHAPES = ("smooth", "skewed", "zeros", "heaped", "two points", "one number", "on edges")
_POPULATION = 20_000


def answers(shape: str, n: int) -> Floats:
    """n answers between 0 and 1."""
    rng, part = np.random.default_rng(n), np.arange(n) / n
    shapes = {
        "smooth": rng.beta(2, 5, n),
        "skewed": np.minimum(rng.lognormal(-3, 1, n), 1),
        "zeros": np.where(part < 0.45, 0.0, rng.beta(2, 3, n)),
        "heaped": np.round(rng.beta(2, 3, n) * 20) / 20,
        "two points": np.where(part < 0.48, 0.1, 0.9),
        "one number": np.full(n, 0.3137),
        "on edges": np.where(part < 0.3, 0.25, np.where(part < 0.6, 0.0999, 0.5002)),
    }
    return np.asarray(shapes[shape])


def coverage(
    epsilon: float, n: int, shape: str, runs: int, *, drawn: bool
) -> tuple[float, float, float]:
    """Lowest coverage of a bin and of a quantile, and the mean width of the median's interval."""
    mechanism, rng = Piecewise((0, 1), epsilon=epsilon), np.random.default_rng(1)
    people = answers(shape, _POPULATION if drawn else n)
    true, ordered = np.histogram(people, EDGES)[0] / people.size, np.sort(people)
    places = [ordered[int(np.ceil(q * people.size)) - 1] for q in QUANTILES]
    bins, quantiles, width = np.zeros(true.size), np.zeros(len(QUANTILES)), 0.0
    for _ in range(runs):
        column = rng.choice(people, n) if drawn else people
        histogram = mechanism.estimate(
            mechanism.aggregate(mechanism.randomise(column)), bins=EDGES.tolist()
        )
        low, high = histogram.interval()
        bins += (low - 1e-9 <= true) & (true <= high + 1e-9)
        for k, (q, place) in enumerate(zip(QUANTILES, places, strict=True)):
            one = histogram.quantile(q)
            quantiles[k] += one.low - 1e-9 <= place <= one.high + 1e-9
        median = histogram.median()
        width += median.high - median.low
    return bins.min() / runs, quantiles.min() / runs, width / runs


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1, 2, 5, 10])
    parser.add_argument("--people", type=int, nargs="+", default=[100, 1000, 30_000])
    options = parser.parse_args()
    warnings.simplefilter("ignore", UselessEstimateWarning)
    print("answers  epsilon   people  shape         bins  quantiles  median's width")
    for drawn in (False, True):
        for epsilon in options.epsilon:
            for n in options.people:
                for shape in SHAPES:
                    bins, quantiles, width = coverage(epsilon, n, shape, options.runs, drawn=drawn)
                    print(
                        f"{'drawn' if drawn else 'fixed':7} {epsilon:8g} {n:8,}  {shape:10} "
                        f"{bins:7.2f} {quantiles:10.2f} {width:15.3f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
