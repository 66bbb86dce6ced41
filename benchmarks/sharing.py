"""Secret sharing, integer noise and exact accounts: how fast they are on one core.

``python -m benchmarks.sharing`` prints the tables; the page of all benchmarks takes `section`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sottovoce.accounting import (
    TwoStage,
    binomial_noise_delta,
    sampled_counts_delta,
    sampled_counts_epsilon,
)
from sottovoce.noise import Binomial, DiscreteGaussian, DiscreteLaplace, Polya
from sottovoce.sharing import PrimeField, additive, seeds, shamir

from .machine import FULL, Effort, best, cores, number, table


@dataclass(frozen=True)
class Figure:
    """One measured operation over n items."""

    operation: str
    n: int
    item: str
    seconds: float

    @property
    def row(self) -> list[str]:
        """As the table has it."""
        each = number(self.seconds / self.n * 1e9)
        return [self.operation, f"{self.n:,}", number(self.seconds * 1e3), f"{each} ns/{self.item}"]


def measure(effort: Effort) -> list[Figure]:
    """Every operation on one core."""
    figures: list[Figure] = []

    def timed(operation: str, n: int, item: str, action: Callable[[], object]) -> None:
        figures.append(Figure(operation, n, item, best(action, min(effort.repeat, 3))))

    people, items = effort.people(100_000), 30
    small, large = PrimeField.for_total(people), PrimeField((1 << 61) - 1)
    ones = small.encode(np.eye(items, dtype=np.int64)[np.arange(people) % items])
    for name, field in (("32-bit", small), ("64-bit", large)):
        n = people * items
        timed(f"uniform elements, {name}", n, "element", lambda f=field, n=n: f.uniform(n))
        secret = field.uniform(n // 10)
        timed(f"additive sharing, 10 parties, {name}", n, "element",
              lambda f=field, s=secret: additive.share(f, s, 10))  # fmt: skip
        timed(f"Shamir sharing, 10 parties, threshold 4, {name}", n, "element",
              lambda f=field, s=secret: shamir.share(f, s, 10, threshold=4))  # fmt: skip
        shares = shamir.share(field, secret, 10, threshold=4)
        timed(f"Shamir reconstruction from 4 of 10, {name}", n // 10, "element",
              lambda f=field, s=shares: shamir.reconstruct(f, [1, 3, 5, 7], s[[0, 2, 4, 6]],
                                                           threshold=4))  # fmt: skip
    timed("seeded shares, 3 helpers, 30 items: senders", people, "person",
          lambda: seeds.share(small, ones, 3))  # fmt: skip
    shared = seeds.share(small, ones, 3)
    timed("seeded shares, 3 helpers, 30 items: one helper", people, "person",
          lambda: seeds.add_expanded(small, shared.seeds[0], items))  # fmt: skip

    cells = effort.people(100_000)
    for law in (DiscreteLaplace(10), DiscreteGaussian(10), Binomial(115), Polya(10, 4)):
        timed(f"{type(law).__name__} noise", cells, "number", lambda law=law: law.draw(cells))

    for count in (100, 10_000, 1_000_000):
        timed(f"delta of sampled counts, {count:,} holders", 1, "account",
              lambda c=count: sampled_counts_delta(0.1, c, 0.4))  # fmt: skip
    timed("epsilon of sampled counts, 1,000,000 holders", 1, "account",
          lambda: sampled_counts_epsilon(1e-9, 1_000_000, 0.4))  # fmt: skip
    timed("delta of 1,000,000 coins", 1, "account", lambda: binomial_noise_delta(0.01, 1_000_000))
    timed("delta of two-stage sampling with output, 1,000 holders", 1, "account",
          lambda: TwoStage(-math.expm1(-0.5), 30, 12).delta_with_output(0.5, 1_000))  # fmt: skip
    return figures


def section(figures: list[Figure]) -> str:
    """The part of the page."""
    rows = [figure.row for figure in figures]
    return "## Secret sharing, integer noise, exact accounts\n\n" + table(
        ["operation", "n", "ms", "each"], rows
    )


def main() -> None:
    """Measure and print."""
    with cores(1):
        print(section(measure(FULL)))


if __name__ == "__main__":
    main()
