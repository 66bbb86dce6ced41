"""The cells of tables over several attributes: their labels, and errors from repetitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from ..domain.values import Attribute, Label
from .display import NUMBERS
from .estimate import Estimate
from .intervals import Floats

#: Tables fitted again to simulated repetitions of the reports: (repetitions, cells).
Again = Callable[[], Floats]
Change = Callable[[Floats], Floats]

#: The least standard error of a table's cell, in root mean squares of its standard errors.
LEAST_ERROR = 0.5


@dataclass(frozen=True, eq=False)
class Repetitions:
    """Tables fitted again to repetitions of the reports; computed on first use and kept.

    `make` must pickle, so that estimates do: a partial of a module's function, or a dataclass.
    Standard errors are `wider` times the distances of the repetitions.
    """

    make: Again
    wider: float = 1.0

    @cached_property
    def tables(self) -> Floats:
        """One row of cells for each repetition."""
        return self.make()

    def __call__(self) -> Floats:
        return self.tables

    @property
    def root(self) -> Repetitions:
        """The same for all tables computed from one set of repetitions."""
        if isinstance(self.make, partial) and isinstance(self.make.args[0], Repetitions):
            return self.make.args[0].root
        return self

    def changed(self, change: Change) -> Repetitions:
        """The same repetitions, with a function applied to the tables."""
        return Repetitions(partial(_apply, self, change), self.wider)


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Estimate):
    """An estimate with a value for every cell of a table.

    Attributes
    ----------
    attributes : tuple of Attribute
        What the axes are.
    again : Repetitions, optional
        Repetitions for errors, computed once and shared by all tables computed from this one.
    """

    attributes: tuple[Attribute, ...] = ()
    again: Repetitions | None = field(default=None, repr=False)

    @property
    def _sources(self) -> tuple[Any, ...]:
        return super()._sources if self.again is None else (*self._origins, self.again.root)

    def _label_columns(self) -> dict[str, list[Label]]:
        cells = list(product(*(attribute.labels for attribute in self.attributes)))
        return {
            # A name that another column of the table has gets a word in front.
            attribute.name if attribute.name not in NUMBERS else f"attribute {attribute.name}": [
                cell[k] for cell in cells
            ]
            for k, attribute in enumerate(self.attributes)
        }

    def _cells(self) -> Mapping[Any, int]:
        """By tuples of labels; of a single attribute, by its labels."""
        labels = [attribute.labels for attribute in self.attributes]
        cells = product(*labels) if len(labels) > 1 else labels[0]
        return {cell: k for k, cell in enumerate(cells)}

    def _covariance_of(self, places: Any) -> Floats | None:
        """Mean products of the repetitions' distances; None without repetitions.

        They are few, so their correlations are no more than rough: each is moved a third of the way
        towards none.
        """
        if self.again is None:
            return None
        away = np.nan_to_num(self.again()[:, places] - self.values[places])
        matrix = self.again.wider**2 * (away.T @ away) / len(away)
        return np.asarray(matrix * (2 / 3) + np.diag(np.diag(matrix)) / 3)

    def _changed(self, change: Change) -> Repetitions | None:
        """The repetitions of a function of the table."""
        return None if self.again is None else self.again.changed(change)


def product_labels(attributes: Sequence[Attribute]) -> tuple[Label, ...]:
    """A label for every cell; a single attribute keeps its own labels."""
    if len(attributes) == 1:
        return tuple(attributes[0].labels)
    every = product(*(attribute.labels for attribute in attributes))
    return tuple(" | ".join(map(str, cell)) for cell in every)


def spread_of(values: Floats, again: Repetitions | None, least: float = LEAST_ERROR) -> Any:
    """Variances from repetitions, computed on demand; see `_mean_square`."""
    if again is None:
        return np.full(values.size, np.nan)
    return partial(_mean_square, values, again, least)


def _mean_square(values: Floats, again: Repetitions, least: float) -> Floats:
    """The mean squared distance of the repetitions; NaN where no repetition has a number.

    A cell that is zero in the estimate and in every repetition is not known exactly: reports are
    as noisy about rare answers as about others. So no standard error is below `least` times the
    root mean square of all.
    """
    away = again.wider**2 * np.ma.masked_invalid((again() - values) ** 2).mean(axis=0)
    return np.asarray(np.ma.maximum(away, least**2 * away.mean()).filled(np.nan))


def _apply(source: Again, change: Change) -> Floats:
    return change(source())
