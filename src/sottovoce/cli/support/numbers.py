"""The types of all options that take one number: what is refused is named, with what is allowed.

Without a range the library judges the number, and says more about it than a range could. Ranges are
for numbers that no estimate or promise depends on, such as seconds and ports.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

_LONGEST_SHOWN = 40

if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType


class _OneNumber(_Type):
    """A finite number in a range, or any number where there is none."""

    kind: str
    parse: type[int | float]
    min: Any = None
    max: Any = None
    min_open = False

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that was given, or a refusal."""
        try:
            number = self.parse(value)
        except (ValueError, OverflowError):
            self._refuse(value, param, ctx)
        if not self._in_range(number):
            self._refuse(value, param, ctx)
        return number

    def _in_range(self, number: float) -> bool:
        if self.min is None and self.max is None:
            return True
        low = self.min is None or (number > self.min if self.min_open else number >= self.min)
        return math.isfinite(number) and low and (self.max is None or number <= self.max)

    def _refuse(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        shown = str(value)
        if len(shown) > _LONGEST_SHOWN:
            shown = f"{shown[:_LONGEST_SHOWN]}…"
        self.fail(f"{shown!r} was given; it must be {self._allowed}{_example(param)}.", param, ctx)

    @property
    def _allowed(self) -> str:
        if self.min is not None and self.max is not None and not self.min_open:
            return f"{self.kind} from {self.min:,} to {self.max:,}"
        low = "above" if self.min_open else "of at least"
        parts = [f"{low} {self.min:,}"] if self.min is not None else []
        parts += [f"at most {self.max:,}"] if self.max is not None else []
        return f"{self.kind} {' and '.join(parts)}".rstrip()


def _example(param: click.Parameter | None) -> str:
    """A number that is allowed: the default, where there is one."""
    default = None if param is None else param.default
    return f", such as {default:g}" if isinstance(default, int | float) else ""


class Real(_OneNumber, click.types.FloatParamType):
    """A number, with or without decimals."""

    kind, parse = "a number", float


class RealRange(_OneNumber, click.FloatRange):
    """A number in a range, which the help shows."""

    name, kind, parse = "float", "a number", float


class Int(_OneNumber, click.types.IntParamType):
    """A whole number."""

    kind, parse = "a whole number", int


class IntRange(_OneNumber, click.IntRange):
    """A whole number in a range, which the help shows."""

    name, kind, parse = "integer", "a whole number", int


_MONTH = 31 * 86_400

REAL, INT = Real(), Int()
PORT = IntRange(0, 65_535)
#: A wait that ends: one that is not a number would last for ever.
SECONDS = RealRange(0, _MONTH, min_open=True)
#: The same, where 0 means to try once.
PATIENCE = RealRange(0, _MONTH)
