"""What studies over rows and over columns check alike: names, tables and whether a run ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ParameterError, ShareError
from .receipts import Receipt
from .row_machines import CuratorState


def index_of(name: str, parties: Sequence[str]) -> int:
    """A party's place in the study."""
    if name not in parties:
        known = ", ".join(map(repr, parties))
        raise ParameterError(f"there is no party {name!r}; the study has {known}")
    return parties.index(name)


def check_frames(frames: Any, parties: Sequence[str]) -> None:
    """Refuse anything but one table for each party."""
    if not isinstance(frames, Mapping) or set(frames) != set(parties):
        tables = list(frames) if isinstance(frames, Mapping) else type(frames).__name__
        raise ParameterError(f"frames are {tables}; give one table for each of {list(parties)}")


def ended(state: CuratorState, refused: tuple[str, ...]) -> tuple[tuple[Any, ...], Receipt]:
    """The opened sums and the receipt of a run that ended well."""
    if state.sums is None or state.receipt is None:
        also = f". Refused: {'; '.join(refused[:3])}" if refused else ""
        raise ShareError(f"{state.failed}{also}")
    return state.sums, state.receipt
