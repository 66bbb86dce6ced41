"""Numbers between public bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_name
from ..errors import AnswerError, ParameterError
from ..kernels.compiling import expect
from .columns import Coded, Column, Rows, first_row, is_array, shown
from .construction import call, unusual
from .values import Attribute, Codes, Domain, Label, Missing


@dataclass(frozen=True, init=False, repr=False)
class Range(Attribute):
    """A question whose answer is a number between two public bounds.

    Parameters
    ----------
    name : str
        What is asked.
    low, high : float
        Public, finite bounds, declared beforehand and never inferred from the answers.
    clip : bool
        Whether numbers outside are moved to the nearest bound; otherwise they are refused.
    missing : {"refuse", "public"}
        What a missing answer is; see `Domain`. A number cannot be "no answer", so "value" is not
        among them: ask whether there is an answer as a separate question.

    Examples
    --------
    >>> Range("age", 0, 120).positions([0, 30, 120]).tolist()
    [0.0, 0.25, 1.0]
    """

    clip: bool

    _instead = "declare "

    def __init__(
        self,
        name: str,
        low: float,
        high: float,
        *,
        clip: bool = False,
        missing: Missing = "refuse",
    ) -> None:
        try:
            edges = (float(low), float(high))
        except OverflowError as error:
            raise ParameterError(
                "bounds must be finite; this whole number is too large for a float"
            ) from error
        except (TypeError, ValueError) as error:
            raise ParameterError(f"bounds are numbers; {low!r} and {high!r} were given") from error
        if not (edges[0] < edges[1] and math.isfinite(edges[1] - edges[0])):
            raise ParameterError(f"bounds {edges} were given; they must be finite and increasing")
        if not isinstance(clip, bool):
            raise ParameterError(f"clip is {clip!r}; it must be True or False")
        if missing not in ("refuse", "public"):
            raise ParameterError(
                f"missing={missing!r}; for numbers allowed are 'refuse' and 'public'. To keep who "
                "did not answer private, ask about it in a separate question"
            )
        label = f"[{edges[0]:.17g}, {edges[1]:.17g}]"
        about = {"name": checked_name(name, "a range"), "edges": edges, "values": (label,)}
        for key, value in {**about, "missing": missing, "clip": clip, "wording": None}.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        options = {"clip": unusual(self.clip, False), "missing": unusual(self.missing, "refuse")}
        return call("Range", repr(self.name), shown(self.low), shown(self.high), **options)

    @classmethod
    def of(cls, bounds: Domain | int | Sequence[Label] | Sequence[float]) -> Range:
        """A range from a Range or from (low, high)."""
        if isinstance(bounds, Range):
            return bounds
        if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
            other = "a set of values" if isinstance(bounds, Domain) else repr(bounds)
            raise ParameterError(
                "a mechanism for numbers needs bounds, as Range('age', 0, 120) or (0, 120); "
                f"{other} was given"
            )
        low, high = bounds
        return cls("number", low, high)  # type: ignore[arg-type]

    @property
    def low(self) -> float:
        """The lower bound."""
        return self._bounds[0]

    @property
    def high(self) -> float:
        """The upper bound."""
        return self._bounds[1]

    @property
    def _bounds(self) -> tuple[float, ...]:
        return self.edges or (0.0, 1.0)

    def encode(self, answers: Any) -> Codes:
        """Numbers have no codes; see `positions`."""
        raise AnswerError(f"{self.name!r} is a number between bounds and has no coded values")

    def positions(self, answers: Any) -> NDArray[np.float64]:
        """Where the answers lie between the bounds, from 0 to 1. The one place that checks them."""
        positions: NDArray[np.float64] = self.coded(answers).codes
        return positions

    def _encode(self, column: Column, rows: Rows | None) -> Coded:
        numbers = column.numbers()
        present = self.who_answered(np.isnan(numbers), rows)
        if self.clip:
            numbers = np.clip(numbers, self.low, self.high)
        outside = (numbers < self.low) | (numbers > self.high)
        if outside.any():
            raise AnswerError(
                f"{int(outside.sum())} of {numbers.size} numbers lie outside the range (the first, "
                f"{shown(numbers[outside][0])}, at row {first_row(outside, rows)}); allowed are "
                f"{shown(self.low)} to {shown(self.high)}; declare wider bounds, or clip=True to "
                "move numbers to the nearest bound"
            )
        if present is not None:
            numbers = numbers[present]
        return Coded(np.clip((numbers - self.low) / (self.high - self.low), 0.0, 1.0), present)

    def plain_numbers(self, answers: Any) -> tuple[NDArray[np.float64], tuple[float, float]]:
        """Numbers and the bounds between which they must lie, for readers that check them.

        A column of floats as it is, without a copy, unless some must be clipped or dropped; else
        checked positions, from 0 to 1.
        """
        expect(len(answers) if hasattr(answers, "__len__") else 0)
        plain = is_array(answers) and answers.dtype == np.float64
        if plain and answers.ndim == 1 and not self.clip and self.missing == "refuse":
            return np.ascontiguousarray(answers), (self.low, self.high)
        return self.positions(answers), (0.0, 1.0)

    def canonical(self) -> dict[str, Any]:
        """What goes into a digest."""
        return {
            "name": self.name,
            "range": [repr(self.low), repr(self.high)],
            "clip": self.clip,
            "missing": self.missing,
        }
