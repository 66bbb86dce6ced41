"""Answers as positions of values: the one place where answers are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import AnswerError
from ..parallel import over_ranges
from .columns import Coded, Column, Rows, first_few, first_row, is_array, shown
from .near_miss import near_miss

if TYPE_CHECKING:
    from .values import Codes, Domain

_STEPS = 100  # of an answer, as `over_ranges` counts them: about five nanoseconds


def plain_integers(domain: Domain, answers: Any) -> NDArray[np.integer[Any]] | None:
    """The answers as they are, where they are an integer array and the values are 0..d-1."""
    if not (is_array(answers) and isinstance(domain.values, range)):
        return None
    if answers.ndim != 1 or answers.dtype.kind not in "iu":
        return None
    return np.ascontiguousarray(answers, answers.dtype.newbyteorder("="))


def narrow(domain: Domain, plain: NDArray[np.integer[Any]], out: Codes, rows: Rows) -> None:
    """Codes of plain integers, into `out`."""
    bad = kernels.draw.narrow(plain, len(domain.values), out)
    if bad >= 0:
        raise _outside(domain, plain[bad].item(), rows[bad])


def in_parts(
    encode: Callable[[Column, Rows | None], Coded], column: Column, rows: Rows | None
) -> Coded:
    """A column encoded in threads where it is long; messages are those for the whole of it."""
    if not column.divisible:
        return encode(column, rows)
    many = len(column)
    try:
        parts = over_ranges(
            lambda part: encode(column if part == slice(0, many) else column[part], None),
            many,
            work=_STEPS * many,
        )
    except AnswerError:
        return encode(column, rows)  # raises, with the rows and numbers of the whole column
    if len(parts) == 1:
        return parts[0]
    present = None
    if any(part.present is not None for part in parts):
        present = np.concatenate(
            [np.ones(len(p), bool) if p.present is None else p.present for p in parts]
        )
    return Coded(np.concatenate([part.codes for part in parts]), present)


def encode_column(domain: Domain, column: Column, rows: Rows | None) -> Coded:
    """Codes of a column of answers, and who did not answer."""
    if domain.edges is not None:
        numbers = column.numbers()
        codes = domain.bin_codes(numbers)
        outside = codes == -2
        if outside.any():
            low, high = domain.edges[0], domain.edges[-1]
            raise AnswerError(
                f"{int(outside.sum())} of {numbers.size} numbers lie outside the bins (the first, "
                f"{shown(numbers[outside][0])}, at row {first_row(outside, rows)}); the public "
                f"edges go from {shown(low)} to {shown(high)}; widen them, with -inf and inf if "
                "necessary"
            )
    else:
        codes, unknown = column.positions(domain.values)
        if unknown:
            wrong = codes == -2
            answer = column.at(int(wrong.argmax()))
            raise _outside(domain, answer, first_row(wrong, rows), different=len(unknown))
    absent, present = codes == -1, None
    if domain.missing != "value":
        present = domain.who_answered(absent, rows)
    elif absent.any():
        codes = np.where(absent, len(domain.values), codes)
    return Coded((codes if present is None else codes[present]).astype(domain.dtype), present)


def _outside(domain: Domain, answer: Any, row: int, *, different: int = 1) -> AnswerError:
    return AnswerError(
        f"the answer {answer!r} (row {row}) is not one of the {len(domain.values)} values "
        f"{first_few(domain.values)}{near_miss(answer, domain.values)}; correct the data, or "
        "declare the value in the domain"
        + (f"; {different} distinct unknown answers in total" if different > 1 else "")
    )
