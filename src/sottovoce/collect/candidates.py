"""Files that say which values to count."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ParameterError
from ..files import read_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract.collection import Collection


def read_candidates(path: Path, collection: Collection) -> NDArray[np.int64]:
    """Positions of the values in a file, one on each line."""
    from ..domain.candidates import values_in_text

    try:
        lines = read_file(path).decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ParameterError(
            f"{str(path)!r} is not text in UTF-8, one value on each line"
        ) from error
    lines = [line.removesuffix("\r") for line in lines]
    blank = [k for k, line in enumerate(lines, 1) if not line.strip()]
    if blank:
        raise ParameterError(
            f"line {blank[0]} of {str(path)!r} is blank; give one value on each line"
        )
    try:
        return collection.positions(values_in_text(collection.attributes[0], lines))
    except ParameterError as error:
        raise ParameterError(f"{str(path)!r}: {error}") from error
