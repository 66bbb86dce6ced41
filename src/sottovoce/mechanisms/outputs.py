"""Mechanisms whose report is one of a few outputs, each drawn from a random word or two."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.values import Codes, code_dtype
from ..errors import WireError
from ..estimate.intervals import Floats
from ..estimate.likelihood import Fit, em
from ..randomness import Draws, Probability, Source
from .channel import set_probability
from .linear import LinearMechanism
from .support import SetMechanism

#: The words that a kernel takes, the kernel, and its arguments between answers and reports.
Drawing = tuple[type[np.uint32] | type[np.uint64], Callable[..., Any], tuple[Any, ...]]

_STEPS = 60  # of a report, as `over_ranges` counts them: about three nanoseconds


class OutputMechanism(LinearMechanism):
    """A report is one number below `cells`, and these are what is counted."""

    #: What the reports' column is called; stored, so it never changes.
    column: ClassVar[str] = "value"

    @property
    @abstractmethod
    def drawing(self) -> Drawing:
        """How a report is drawn."""

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column(self.column, code_dtype(self.cells).str),)

    @property
    def marks_per_report(self) -> int | None:
        return 1

    def check(self, columns: Columns) -> None:
        outputs = columns[self.column]
        if outputs.size and int(outputs.max()) >= self.cells:
            raise WireError(
                f"a report names value {int(outputs.max())}; there are {self.cells} values, "
                "counted from 0"
            )

    def draw(self, answers: Any, source: Source) -> Columns:
        """One output for everyone."""
        n, blocks = self.domain.blocks(answers)
        out = np.empty(n, self.layout[0].dtype)
        drawing = self.drawing  # computed before there are threads

        def some(draws: Draws, people: slice) -> None:
            for where, codes in blocks(people):
                draw_outputs(draws, codes, drawing, out[where])

        source.over_ranges(some, n, work=_STEPS * n)
        return {self.column: out}

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        return kernels.count.histogram(reports.columns[self.column], self.cells)

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        return kernels.count.histogram_by(group, reports.columns[self.column], groups, self.cells)

    def every_report(self, way: Way | None = None) -> Reports:
        self.refuse_large(self.cells)
        outputs = np.arange(self.cells, dtype=self.layout[0].dtype)
        return Reports(self.id, self.digest, {self.column: outputs})


class SetResponse(OutputMechanism, SetMechanism):
    """The answer has a set of s of the K outputs, and the report lies in it with probability p.

    P(y|x) = a = p / s in the set and b = (1 − p) / (K − s) outside, p = s e^ε / (s e^ε + K − s)
    """

    column: ClassVar[str] = "y"

    @property
    @abstractmethod
    def set_size(self) -> int:
        """s, how many outputs are in the set of a value."""

    @abstractmethod
    def support(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Σ of the counts of the outputs in the set of each value: exact for integers."""

    @abstractmethod
    def holders(self, frequencies: Floats) -> Floats:
        """For every output, the fraction of answers in whose set it is."""

    @property
    def inside(self) -> Probability:
        """Probability that the report lies in the answer's set, as drawn."""
        return set_probability(self.epsilon, self.set_size, self.cells - self.set_size)

    @property
    def p(self) -> Fraction:
        return self.inside.fraction

    @cached_property
    def laws(self) -> tuple[Fraction, Fraction]:
        """a and b: probability of one output in the answer's set, and of one outside it."""
        return self.p / self.set_size, (1 - self.p) / (self.cells - self.set_size)

    def output_law(self, frequencies: Floats) -> Floats:
        """Σ_x f_x P(y|x) for every output."""
        a, b = self.laws
        return np.asarray(float(b) * frequencies.sum() + float(a - b) * self.holders(frequencies))

    def expected(self, weights: Floats) -> Floats:
        """Σ_y w_y P(y|x) for every value."""
        a, b = self.laws
        return np.asarray(float(b) * weights.sum() + float(a - b) * self.support(weights))

    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        return em(counts, self.output_law, self.expected, np.ones(self.domain.size))


def draw_outputs(draws: Draws, codes: Codes, drawing: Drawing, out: Codes) -> None:
    """An output for each code, into `out`."""
    word, kernel, parameters = drawing

    def step(words: Any, part: slice, extra: Any, used: int) -> Any:
        return kernel(words, codes[part], *parameters, out[part], extra, used)

    draws.each(codes.size, word, step)
